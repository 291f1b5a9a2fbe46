"""`omnigraph snapshot`."""

from omnigraph.cli import documents, texts
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import branch_option, json_option


@command("snapshot", examples=("omnigraph snapshot art.omni", "omnigraph snapshot --store art.omni --json"))
@branch_option
@json_option
def snapshot(invocation: Invocation, *, branch: str) -> None:
    """Show the tables of a branch: rows, versions and where they are."""
    graph = open_to_read(invocation)
    invocation.output.show(graph.snapshot(branch), document=documents.snapshot_document, text=texts.snapshot_text)
