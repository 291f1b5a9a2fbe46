"""What follows a publish, the same for every publisher: say it, log it, complete it, forget the sidecar, tidy up.

The commit is visible by now. Nothing here can undo it, so nothing here may make it look undone: a step that fails is a
warning, and whoever writes next, or `omnigraph recover`, takes it again.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from omnigraph.base import clock, faults
from omnigraph.base.endings import attempt, tell
from omnigraph.base.events import Event, Events, Published, ignore_events
from omnigraph.base.logs import logger_of
from omnigraph.errors import Effect, OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.writes.completion import complete_schema_change
from omnigraph.writes.pending import sidecars_of
from omnigraph.writes.sidecar import Sidecar
from omnigraph.writes.tidying import tidy_internal_tables

Options = ParamSpec("Options")
ResultT = TypeVar("ResultT")

_logger = logger_of(__name__)


def finish_published(context: GraphContext, commit: Commit, events: Events, *, sidecar: Sidecar | None = None) -> None:
    """Take the steps that follow a publish; `sidecar` is that of the operation, if it armed one."""
    faults.reach("write.after_publish")
    published = f"commit {commit.graph_commit_id} is published"
    _logger.info(
        "published commit %s as graph version %d of branch %s%s",
        commit.graph_commit_id,
        commit.graph_version,
        commit.graph_branch,
        "" if sidecar is None else f", {(clock.now_us() - sidecar.started_at_us) / 1e6:.3f} s after it was armed",
    )
    tell(
        events,
        Published(
            what=f"commit {commit.graph_commit_id} (graph version {commit.graph_version} of branch "
            f"{commit.graph_branch})",
            commit_id=commit.graph_commit_id,
        ),
    )
    attempt(lambda: _log(context, commit), events, otherwise=f"{published} but not logged yet; the next write logs it")
    faults.reach("write.after_log")
    if sidecar is not None:
        _complete(context, sidecar, events, published=published)
    attempt(
        lambda: tidy_internal_tables(context, commit),
        events,
        otherwise=f"{published}, but the graph's own tables could not be tidied up; a later write does it, or "
        f"`omnigraph optimize {context.store.uri}`",
    )


def _complete(context: GraphContext, sidecar: Sidecar, events: Events, *, published: str) -> None:
    # Until everything is completed the sidecar stays, and with it the knowledge of what is left to do.
    if attempt(
        lambda: complete_schema_change(context, sidecar),
        events,
        otherwise=f"{published} but not completed yet; the next write completes it, or `omnigraph recover "
        f"{context.store.uri}`",
    ):
        attempt(
            lambda: _forget(context, sidecar),
            events,
            otherwise=f"{published}, but {sidecar.path} could not be deleted; the next write deletes it",
        )


def _log(context: GraphContext, commit: Commit) -> None:
    faults.reach("write.log_fails")
    context.log.add(commit)


def _forget(context: GraphContext, sidecar: Sidecar) -> None:
    faults.reach("write.delete_fails")
    sidecars_of(context).forget(sidecar.operation_id)


def says_what_is_published(verb: Callable[Options, ResultT]) -> Callable[Options, ResultT]:
    """Let an error that leaves a verb say what the verb has published by then; `events` is passed by name."""

    @wraps(verb)
    def run(*args: Options.args, **options: Options.kwargs) -> ResultT:
        listener = cast("Events", options.get("events", ignore_events))
        published: list[Published] = []

        def listen(event: Event) -> None:
            if isinstance(event, Published):
                published.append(event)
            listener(event)

        options["events"] = listen
        try:
            return verb(*args, **options)
        except OmniError as error:
            if published:
                _amend(error, published)
            raise

    return run


def _amend(error: OmniError, published: list[Published]) -> None:
    named = ", ".join(event.what for event in published)
    error.effect = Effect.PUBLISHED
    error.message = f"{error.message} What was published before that stands: {named}."
    error.args = (error.message,)
    error.details["published"] = [event.commit_id for event in published if event.commit_id is not None]
