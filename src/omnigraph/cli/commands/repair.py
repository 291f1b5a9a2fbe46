"""`omnigraph repair`."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli import repair_view
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, message_option, wait_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent, resolve_storage

if TYPE_CHECKING:
    from omnigraph.maintenance.repair.run import RepairReport


@command(
    "repair",
    examples=(
        "omnigraph repair art.omni",
        "omnigraph repair art.omni --confirm",
        "omnigraph repair art.omni --table node:Artist --force --confirm",
    ),
)
@click.option("--confirm", is_flag=True, help="Publish what provably changed no row.")
@click.option("--force", is_flag=True, help="With --confirm: publish also what cannot be verified.")
@click.option("--discard", is_flag=True, help="With --confirm: bring the tables back to what the graph pins.")
@click.option(
    "--diff", is_flag=True, help="Show the rows that publishing adds, removes and changes, and the rules that breaks."
)
@click.option("--limit", type=click.IntRange(min=0), default=20, metavar="N", help="Samples per table; default 20.")
@click.option("--branch", metavar="BRANCH", help="Look at one branch only; default: all of them.")
@click.option("--table", "tables", metavar="KEY", multiple=True, help="Look at one table only; repeatable.")
@message_option
@wait_option
@json_option
def repair(
    invocation: Invocation,
    *,
    confirm: bool,
    force: bool,
    discard: bool,
    diff: bool,
    limit: int,
    branch: str | None,
    tables: tuple[str, ...],
    message: str | None,
    wait: timedelta,
) -> None:
    """Heal tables whose newest version is not the one that the graph pins.

    Something wrote to such a table behind the graph's back. Without --confirm the command only shows what it was. No
    row is rewritten: publishing makes the graph use the version that is there, discarding brings the pinned one back.
    """
    if force and not confirm:
        raise errors.Usage("`repair --force` needs --confirm: it publishes what cannot be verified.", flag="--confirm")
    if discard and not confirm:
        raise errors.Usage("`repair --discard` needs --confirm: it takes back what is there.", flag="--confirm")
    if force and discard:
        raise errors.Usage("`repair` takes --force or --discard, not both.", flag="--discard")
    target = resolve_storage(invocation)
    if discard:
        require_consent(invocation, target)
    echo_target(invocation, target, destroys=discard)
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, read_only=not confirm, recover=False)
        report = graph.repair(
            confirm=confirm,
            force=force,
            discard=discard,
            branch=branch,
            tables=tables,
            review_limit=limit if diff else None,
            sample_limit=limit,
            message=message,
            wait_seconds=wait.total_seconds(),
            events=events,
        )
    invocation.output.show(
        report,
        document=lambda found: documents.repair_document(found, uri=target.uri),
        text=repair_view.repair_text,
    )
    if report.refused:
        raise _refused(report)


def _refused(report: "RepairReport") -> errors.RepairRefused:
    keys = [row.table_key for row in report.refused]
    if unreadable := [row.table_key for row in report.refused if row.is_unreadable]:
        advice = f"{', '.join(unreadable)} cannot be read; see above for what to restore."
    elif lost := [row.table_key for row in report.refused if row.classification == "behind"]:
        advice = f"Restore {', '.join(lost)} from a backup."
    elif unfit := [row.table_key for row in report.refused if row.is_unfit]:
        advice = f"The graph could not be used with {', '.join(unfit)} as it is; see above for the way out."
    else:
        advice = "Review them, then publish what is there with --force --confirm."
    return errors.RepairRefused(
        f"repair refused {counted(len(keys), 'table')}: {', '.join(keys)}. {advice}", tables=keys
    )
