"""Running a load: find the input, choose where it runs, hand it to the write protocol."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, get_args

from omnigraph.base import ids
from omnigraph.base.endings import attempt
from omnigraph.base.events import EngineChosen, Events
from omnigraph.base.values import dataclass
from omnigraph.branches.create import create_branch
from omnigraph.branches.delete import delete_branch
from omnigraph.branches.names import check_branch_name
from omnigraph.catalog.model import TableKey
from omnigraph.engine.choice import Work
from omnigraph.engine.interface import Engine
from omnigraph.engine.opening import close_at_end, open_engine
from omnigraph.errors import BranchNotFound, InvalidTarget
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.graphs.capture import Capture, capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId, CommitResult, check_actor, check_message
from omnigraph.manifest.missing import no_such_branch
from omnigraph.pipeline.load.inputs import AnyInput, HeldInput, LoadInput, TableInput, find_any_input
from omnigraph.pipeline.load.request import LoadRequest
from omnigraph.pipeline.load.tables import ColumnMap
from omnigraph.pipeline.load.writer import IncomingTable, LoadMode, LoadWriter
from omnigraph.records.report import rejected
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import shared_with_workers
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.protocol import run_write

if TYPE_CHECKING:
    from omnigraph.pipeline.load.bulk.writer import BulkLoadWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLoaded:
    """How many entities of the input a table received, unchanged ones included."""

    table_key: TableKey
    rows_loaded: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LoadResult(CommitResult):
    """What a load did; `commit` is None when it changed nothing."""

    uri: str
    branch: str
    base_branch: str | None
    """What `from_branch` said, whether or not the branch had to be created from it."""
    branch_created: bool
    mode: LoadMode
    tables: tuple[TableLoaded, ...]
    actor_id: str | None
    engine: str
    engine_reason: str
    commit: Commit | None

    @property
    def total_rows(self) -> int:
        """How many entities the input held, after repeated ids were folded."""
        return sum(table.rows_loaded for table in self.tables)


@says_what_is_published
def run_load(context: GraphContext, request: LoadRequest, *, events: Events) -> LoadResult:
    """Load records or tables as one commit, or raise and change nothing.

    With `from_branch`, a branch that does not exist is forked from it first, and does not remain if the load fails.
    """
    branch = request.branch
    if request.mode not in get_args(LoadMode):
        raise InvalidTarget(f"{request.mode!r} is not a load mode; use one of {', '.join(get_args(LoadMode))}.")
    check_actor(request.actor)
    check_message(request.message)
    created_at = _fork_if_missing(context, branch, request.from_branch, request.actor)
    try:
        loaded = _load(context, request, events)
    except BaseException:
        if created_at is not None:
            # Somebody may have written to it by now, or the load itself before it failed: then it stays.
            attempt(
                lambda: delete_branch(context, branch, events, expected_head=created_at),
                events,
                otherwise=f"branch {branch}, which this load created, stays",
            )
        raise
    return LoadResult(
        uri=context.store.uri,
        branch=branch,
        base_branch=request.from_branch,
        branch_created=created_at is not None,
        mode=request.mode,
        tables=tuple(TableLoaded(table_key=key, rows_loaded=rows) for key, rows in sorted(loaded.rows_loaded.items())),
        actor_id=request.actor,
        engine=loaded.engine,
        engine_reason=loaded.reason,
        commit=loaded.commit,
    )


def _fork_if_missing(context: GraphContext, branch: str, from_branch: str | None, actor: str | None) -> CommitId | None:
    """Create the branch if it does not exist and the actor may; return the head that it was created with."""
    check_branch_name(branch)
    try:
        context.manifest.resolve(branch)
    except BranchNotFound as missing:
        if from_branch is None:
            raise no_such_branch(
                branch,
                context.manifest.branch_names(),
                uri=context.store.uri,
                advice="Create it with --from BASE (from_branch in Python), or load into a branch that exists.",
            ) from missing
        context.authorizer.authorize(PolicyAction.BRANCH_CREATE, actor=actor, branch=from_branch, target_branch=branch)
        created = create_branch(context, branch, source=context.addresses.resolve(from_branch))
        return context.manifest.load(created).head.graph_commit_id
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What the two ways to load have in common for the result."""

    rows_loaded: Mapping[TableKey, int]
    commit: Commit | None
    engine: str
    reason: str


def _load(context: GraphContext, request: LoadRequest, events: Events) -> _Loaded:
    capture = capture_branch(context, request.branch)
    found = _find(request)
    engine: Engine
    if isinstance(found, HeldInput):
        engine, reason = found.engine, "the frame's session"
        events(EngineChosen(engine=engine.name, reason=reason))
    else:
        engine, reason = open_engine(
            request.engine,
            Work.LOAD,
            found.size_bytes,
            local=context.engine,
            worker_environment=context.store.settings.environment,
            events=events,
        )
    writer: LoadWriter | BulkLoadWriter
    with ExitStack() as ending:
        if engine is context.engine and not isinstance(found, HeldInput) and found.fits_in_memory():
            writer = _small_writer(capture, found, request, events)
        else:
            # Twenty modules that a small load does without.
            from omnigraph.pipeline.load.bulk.beginning import bulk_writer

            scratch = Scratch(context.store, ids.new_ulid())
            ending.enter_context(shared_with_workers(context.store, scratch.operation_id))
            ending.callback(scratch.clear_at_end, events)
            ending.callback(close_at_end, engine, events)
            writer = bulk_writer(capture, found, engine, scratch, request, events)
        commit = run_write(context, writer, events, message=request.message) if writer.has_records else None
    return _Loaded(rows_loaded=writer.rows_loaded, commit=commit, engine=engine.name, reason=reason)


def _find(request: LoadRequest) -> AnyInput | HeldInput:
    if isinstance(request.data, (TableInput, HeldInput)):
        return request.data
    columns = ColumnMap(property_by_column=request.map)
    return find_any_input(request.data, type_name=request.type, columns=columns)


def _small_writer(capture: Capture, found: LoadInput, request: LoadRequest, events: Events) -> LoadWriter:
    """Parse the input here and now; raise with every bad record counted and the first few shown."""
    parsed = found.parse(capture.input_catalog, max_errors=request.max_errors, events=events)
    if parsed.findings.total:
        raise rejected(parsed.findings, files=parsed.files)
    types = capture.catalog.type_by_table_key
    return LoadWriter(
        incoming={key: IncomingTable.of(types[key], rows) for key, rows in parsed.tables.items()},
        files=parsed.files,
        ir_hash=capture.snapshot.schema.ir_hash,
        seen_head=capture.snapshot.commit_id,
        mode=request.mode,
        branch=request.branch,
        actor_id=request.actor,
        max_errors=request.max_errors,
    )
