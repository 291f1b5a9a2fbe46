"""`omnigraph snapshot`."""

from typing import TYPE_CHECKING, cast

import click

from omnigraph import documents
from omnigraph.cli import texts
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option
from omnigraph.cli.served import open_to_read

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot


@command("snapshot", examples=("omnigraph snapshot art.omni", "omnigraph snapshot --store art.omni --json"))
@branch_option
@click.option(
    "--snapshot", "moment", metavar="ADDRESS", help="An older state: a commit id, branch@N, branch@TIME or branch~N."
)
@json_option
def snapshot(invocation: Invocation, *, branch: str, moment: str | None) -> None:
    """Show the tables of a branch: rows, versions and where they are."""
    graph = open_to_read(invocation, snapshot=moment)
    # One that a server describes has all the members that are shown.
    shown = cast("Snapshot", graph.snapshot(branch if moment is None else moment))
    invocation.output.show(shown, document=documents.snapshot_document, text=texts.snapshot_text)
