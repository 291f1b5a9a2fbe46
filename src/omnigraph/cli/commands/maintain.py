"""`omnigraph maintain`."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.base import clock
from omnigraph.base.units import counted, spell_seconds
from omnigraph.cli import maintain_view
from omnigraph.cli.cluster_scope import ClusterTarget, resolve_graphs
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import writing_to_stdout
from omnigraph.cli.params import duration_option, json_option, size_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.rhythm import repeat, stop_signals
from omnigraph.cli.scope import StorageTarget, echo_target, require_consent

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.cluster.maintaining import Upkeep
    from omnigraph.maintenance.maintain.report import MaintainReport
    from omnigraph.maintenance.maintain.request import MaintainRequest


@command(
    "maintain",
    examples=(
        "omnigraph maintain art.omni --dry-run",
        "omnigraph maintain art.omni",
        "omnigraph maintain art.omni --keep 20 --older-than 7d",
        "omnigraph maintain art.omni --journal",
    ),
)
@click.option("--once", is_flag=True, help="Run once and end, which is the default.")
@duration_option("--every", help_text="Run again at the beginning of every such interval, until a signal comes.")
@click.option("--dry-run", is_flag=True, help="Show what would be done and why; changes nothing.")
@click.option("--settings", metavar="FILE", help="A YAML file with the section `maintenance`.")
@click.option(
    "--keep", type=click.IntRange(min=1), metavar="N", help="Clean up, and keep the newest N published versions."
)
@duration_option("--older-than", help_text="Clean up, and keep versions younger than this, such as 7d.")
@click.option("--max-seconds", type=float, metavar="N", help="Start no new work after this many seconds of a run.")
@size_option("--max-bytes", help_text="Rewrite at most this much in a run; the rest is left to the next one.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="N", help="Graphs to work on at a time.")
@click.option("--full", is_flag=True, help="Look closely at graphs, too, in which nothing has happened.")
@click.option("--journal", is_flag=True, help="Show what earlier runs did; changes nothing.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Runs that --journal shows.")
@json_option
def maintain(
    invocation: Invocation,
    *,
    once: bool,
    every: timedelta | None,
    dry_run: bool,
    settings: str | None,
    keep: int | None,
    older_than: timedelta | None,
    max_seconds: float | None,
    max_bytes: int | None,
    workers: int,
    full: bool,
    journal: bool,
    limit: int,
) -> None:
    """Do by itself what is due on a graph, or on the graphs of a cluster.

    Looks at every graph as `health` does and runs what settles the findings: recovery, optimize, and cleanup where the
    settings or --keep and --older-than say what stays. Drift and damage are left alone and reported with the command
    for a person. Ends with 0 when nothing was due or all was done, 1 when something failed, 10 when something needs a
    person. A signal lets what is under way finish.
    """
    if every is not None and (once or dry_run or journal):
        raise errors.Usage("--every excludes --once, --dry-run and --journal; give one.", flag="--every")
    if every is not None and not every:
        raise errors.Usage("--every must be longer than nothing, such as 1h.", flag="--every")
    target, choice = resolve_graphs(invocation), resolve_engine(invocation)
    cleans = (keep is not None or older_than is not None) and not (dry_run or journal)

    def find() -> "Upkeep":
        upkeep = _upkeep(invocation, target, settings)
        if keep is None and older_than is None:
            return upkeep
        from omnigraph.maintenance.cleanup.policy import CleanupPolicy

        return upkeep.keeping(CleanupPolicy(keep_versions=keep, older_than=older_than))

    if journal:
        entries = find().journal.read(limit)
        invocation.output.show(entries, document=documents.maintain_journal_document, text=maintain_view.journal_text)
        return
    if isinstance(target, StorageTarget):
        echo_target(invocation, target, destroys=cleans)
    if cleans:
        _require_consent(invocation, target, find)
    from omnigraph.maintenance.maintain.request import MaintainRequest

    request = MaintainRequest(
        dry_run=dry_run, full=full, max_seconds=max_seconds, max_bytes=max_bytes, workers=workers, engine=choice
    )
    _Rounds(invocation, find, request, every).run()


class _Rounds:
    """The rounds of one process, and how the last of them ended."""

    def __init__(
        self,
        invocation: Invocation,
        find: "Callable[[], Upkeep]",
        request: "MaintainRequest",
        every: timedelta | None,
    ) -> None:
        self._invocation = invocation
        self._find = find
        self._request = request
        self._every = every
        self._failure: errors.OmniError | None = None
        self._is_cut_short = False

    def run(self) -> None:
        with stop_signals() as asked:
            repeat(
                self._round if self._every is None else self._round_of_many,
                every_seconds=None if self._every is None else self._every.total_seconds(),
                announce=self._announce,
            )
        if self._failure is not None:
            raise self._failure
        if self._every is None and asked.received is not None and self._is_cut_short:
            raise click.exceptions.Exit(asked.exit_code)

    def _round(self) -> None:
        from omnigraph.maintenance.maintain.rounds import run_maintain

        notices = self._invocation.notices
        with follow_progress(self._invocation, first_phase="finding the graphs") as events:
            upkeep = self._find()
            many = counted(len(upkeep.graphs), "graph")
            notices.echo(f"omnigraph {self._invocation.command.typed} → {upkeep.root}: {many}")
            report = run_maintain(upkeep.graphs, self._request, upkeep.journal, about=upkeep.about, events=events)
        self._failure = report.failure
        self._is_cut_short = report.is_stopped and any(graph.status.value == "left" for graph in report.graphs)
        self._show(report)

    def _round_of_many(self) -> None:
        """Run once and go on whatever happens: the next round may find the store, or the settings, in order."""
        try:
            self._round()
        except errors.OmniError as failure:
            self._failure = failure
        if self._failure is not None:
            self._invocation.notices.error(self._failure.message)

    def _show(self, report: "MaintainReport") -> None:
        if self._every is not None and self._invocation.wants_json:
            # One line for each run: whoever follows cannot wait for the end of a document.
            with writing_to_stdout():
                click.echo(json.dumps(documents.maintain_document(report), ensure_ascii=False))
            return
        self._invocation.output.show(report, document=documents.maintain_document, text=maintain_view.maintain_text)

    def _announce(self, pause: float) -> None:
        at = clock.iso_from_us(clock.now_us() + round(pause * 1_000_000))
        self._invocation.notices.echo(f"next run in {spell_seconds(pause)}, at {at}")


def _upkeep(invocation: Invocation, target: ClusterTarget | StorageTarget, settings: str | None) -> "Upkeep":
    from omnigraph.cluster.maintaining import upkeep_of_cluster, upkeep_of_graph

    if isinstance(target, StorageTarget):
        return upkeep_of_graph(target.uri, settings=settings)
    events = invocation.notices.event
    return upkeep_of_cluster(target.cluster, target.graph_ids, settings=settings, events=events)


def _require_consent(
    invocation: Invocation, target: ClusterTarget | StorageTarget, find: "Callable[[], Upkeep]"
) -> None:
    """Ask before flags remove anything from a store elsewhere; a policy that the settings declare was given there."""
    if isinstance(target, ClusterTarget):
        root = find().root
        target = StorageTarget(uri=root, name=root.rstrip("/").rpartition("/")[2], is_looked_up=True)
    require_consent(invocation, target)
