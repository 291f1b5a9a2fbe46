"""`omnigraph cleanup`."""

from datetime import timedelta

import click

from omnigraph import documents, errors
from omnigraph.cli import cleanup_view
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import duration_option, json_option, wait_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent, resolve_storage


@command(
    "cleanup",
    examples=(
        "omnigraph cleanup art.omni",
        "omnigraph cleanup art.omni --keep 20 --older-than 7d --confirm",
    ),
)
@click.option(
    "--keep", type=click.IntRange(min=1), metavar="N", help="Keep the newest N published versions of every table."
)
@duration_option("--older-than", help_text="Keep versions younger than this, such as 36h or 7d.")
@click.option("--confirm", is_flag=True, help="Really remove.")
@wait_option
@json_option
def cleanup(
    invocation: Invocation, *, keep: int | None, older_than: timedelta | None, confirm: bool, wait: timedelta
) -> None:
    """Remove old versions of tables.

    Without --confirm the command only says what would go, to the byte. What a branch, a merge, a reader or an
    interrupted write may still need stays whatever the flags say. Without --keep and --older-than the newest 10
    published versions of each table stay, and with them the newest 10 graph versions of each branch; with both, only
    versions outside both go. Ages are measured with the store's clock. What can be read afterwards is said.
    """
    target = resolve_storage(invocation)
    choice = resolve_engine(invocation)
    echo_target(invocation, target, destroys=confirm)
    if confirm:
        require_consent(invocation, target)
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, read_only=not confirm, recover=False)
        from omnigraph.maintenance.cleanup.policy import KEEP_VERSIONS_DEFAULT, CleanupPolicy

        if keep is None and older_than is None:
            keep = KEEP_VERSIONS_DEFAULT
        report = graph.cleanup(
            CleanupPolicy(keep_versions=keep, older_than=older_than),
            confirm=confirm,
            wait_seconds=wait.total_seconds(),
            engine=choice,
            events=events,
        )
    if report.executed:
        invocation.notices.done("the removal of what nobody needs")
    invocation.output.show(
        report,
        document=lambda done: documents.cleanup_document(done, uri=target.uri),
        text=cleanup_view.cleanup_text,
    )
    if report.failed:
        names = ", ".join(row.name for row in report.failed)
        raise errors.CleanupPartial(
            f"{names} could not be cleaned, or not as a whole; the rest was. Their rows say why; run `omnigraph "
            "cleanup` again when that is settled."
            if report.executed
            else f"{names} could not be looked at, so this preview is not complete. Nothing was removed.",
            tables=[row.table_key for row in report.failed],
        )
