"""Running a load: find the input, parse it against the accepted schema, hand it to the write protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from omnigraph.base.events import Events
from omnigraph.base.units import spell_bytes
from omnigraph.branches.create import create_branch
from omnigraph.branches.delete import delete_branch
from omnigraph.branches.names import check_branch_name
from omnigraph.catalog.model import TableKey
from omnigraph.errors import BranchNotFound, InvalidTarget
from omnigraph.manifest.commits import Commit, check_actor
from omnigraph.pipeline.load.inputs import LoadInput
from omnigraph.pipeline.load.writer import IncomingTable, LoadMode, LoadWriter
from omnigraph.records.report import rejected
from omnigraph.writes.authority import capture_branch
from omnigraph.writes.context import GraphContext
from omnigraph.writes.protocol import run_write

LOCAL_BYTES_MAX = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLoaded:
    """How many entities of the input a table received, unchanged ones included."""

    table_key: TableKey
    rows_loaded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
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


def run_load(
    context: GraphContext,
    find: Callable[[], LoadInput],
    *,
    mode: LoadMode,
    branch: str,
    from_branch: str | None,
    actor_id: str | None,
    max_errors: int,
    events: Events,
) -> LoadResult:
    """Load records or tables as one commit, or raise and change nothing; `find` looks for the input.

    With `from_branch`, a branch that does not exist is forked from it first, and does not remain if the load fails.
    """
    if mode not in get_args(LoadMode):
        raise InvalidTarget(f"{mode!r} is not a load mode; use one of {', '.join(get_args(LoadMode))}.")
    check_actor(actor_id)
    is_created = _fork_if_missing(context, branch, from_branch)
    try:
        writer, commit, reason = _load(
            context, find, mode=mode, branch=branch, actor_id=actor_id, max_errors=max_errors, events=events
        )
    except BaseException:
        if is_created:
            delete_branch(context, branch, events)
        raise
    return LoadResult(
        uri=context.store.uri,
        branch=branch,
        base_branch=from_branch,
        branch_created=is_created,
        mode=mode,
        tables=tuple(TableLoaded(table_key=key, rows_loaded=rows) for key, rows in sorted(writer.rows_loaded.items())),
        actor_id=actor_id,
        engine=context.engine.name,
        engine_reason=reason,
        commit=commit,
    )


def _fork_if_missing(context: GraphContext, branch: str, from_branch: str | None) -> bool:
    check_branch_name(branch)
    try:
        context.manifest.resolve(branch)
    except BranchNotFound as missing:
        if from_branch is None:
            raise BranchNotFound(
                f"Branch '{branch}' was not found in {context.store.uri}. Create it with --from BASE "
                "(from_branch in Python), or load into a branch that exists.",
                branch=branch,
            ) from missing
        create_branch(context, branch, source=context.addresses.resolve(from_branch))
        return True
    return False


def _load(
    context: GraphContext,
    find: Callable[[], LoadInput],
    *,
    mode: LoadMode,
    branch: str,
    actor_id: str | None,
    max_errors: int,
    events: Events,
) -> tuple[LoadWriter, Commit | None, str]:
    capture = capture_branch(context, branch)
    found = find()
    parsed = found.parse(capture.catalog, max_errors=max_errors, events=events)
    if parsed.findings.total:
        raise rejected(parsed.findings, files=parsed.files)
    writer = LoadWriter(
        incoming={
            key: IncomingTable.of(capture.catalog.type_by_table_key[key], rows) for key, rows in parsed.tables.items()
        },
        files=parsed.files,
        ir_hash=capture.snapshot.schema.ir_hash,
        seen_head=capture.snapshot.commit_id,
        mode=mode,
        branch=branch,
        actor_id=actor_id,
        max_errors=max_errors,
    )
    commit = run_write(context, writer, events) if writer.incoming else None
    return writer, commit, _engine_reason(found.size_bytes)


def _engine_reason(size: int | None) -> str:
    if size is None:
        return "input of unknown size"
    if size < LOCAL_BYTES_MAX:
        return f"{spell_bytes(size)}, below {spell_bytes(LOCAL_BYTES_MAX)}"
    return f"{spell_bytes(size)}, and no other engine is installed"
