"""`omnigraph verify`."""

from dataclasses import replace

import click

from omnigraph import documents, errors
from omnigraph.cli import verify_view
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage

EXIT_CLEAN, EXIT_DAMAGED = 0, 2


@command("verify", examples=("omnigraph verify art.omni", "omnigraph verify art.omni --deep --all-branches --json"))
@click.option("--deep", is_flag=True, help="Also read every byte, check all rules and compare indexes with scans.")
@click.option("--branch", metavar="BRANCH", help="The branch to verify; default main.")
@click.option("--all-branches", is_flag=True, help="Verify main and every other branch.")
@json_option
def verify(invocation: Invocation, *, deep: bool, branch: str | None, all_branches: bool) -> None:
    """Prove that a graph is whole, or say what is lost.

    For every graph version that cleanup has left, every file must be there with its size, every table must be the one
    that the graph means, and row counts, history, keys and edges must agree. Changes nothing and takes no lock. Ends
    with 0 when all is well and 2 when something is damaged; 64 and 70 mean that it could not look.
    """
    if branch is not None and all_branches:
        raise errors.Usage("--branch and --all-branches exclude each other; give one.", flag="--all-branches")
    target = resolve_storage(invocation)
    choice = resolve_engine(invocation)
    echo_target(invocation, target)
    import omnigraph

    graph = omnigraph.open(target.uri, read_only=True)
    with follow_progress(invocation) as events:
        report = graph.verify(deep=deep, branch=branch, all_branches=all_branches, engine=choice, events=events)
    # The address in the result is the one that was given, so that scripts can compare the two.
    shown = replace(report, uri=target.uri)
    invocation.output.show(shown, document=documents.verify_document, text=verify_view.verify_text)
    raise click.exceptions.Exit(EXIT_CLEAN if report.is_clean else EXIT_DAMAGED)
