"""Rewriting fragments: made anywhere against a pinned version, committed on the driver at HEAD.

A rewrite that is committed with its read version moved forward switches off Lance's own conflict check: committed
after a delete, it brings the deleted row back. `commit_rewrites` and `stage_rewrites` are therefore the only ways to
commit one, and both compare every original fragment with HEAD first.

Indexes that hold row addresses (BTREE) either follow a rewrite inside its commit, entry by entry, or lose what it
replaced: then they are folded afterwards, which takes half the time, or replaced by one that was built on the rewritten
files before (`foreseen.py`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cache
from threading import Lock
from typing import Any, Literal, NamedTuple

from omnigraph.base import clock, ids, stopping
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.errors import OmniError
from omnigraph.storage.access import ANY_OPERATION, TableAccess
from omnigraph.storage.checksums import read_back
from omnigraph.storage.data_paths import data_path
from omnigraph.storage.file_references import FileKind, FileReference
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error
from omnigraph.storage.layout import has_blobs
from omnigraph.storage.row_comparison import changed_columns
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.transactions import CommitInterleaved, StagedCommit
from omnigraph.storage.worker_files import worker_store

LANCE_SUPPORTS_BLOB_COMPACTION = True
"""Whether the pinned Lance keeps blobs byte for byte through a compaction; proven by tests/guards/test_blobs.py."""

_VERIFY_BATCH_ROWS = 1_024
_ASKING = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask:
    """One group of fragments that becomes one new fragment; a plain value that any worker can carry out."""

    key: str
    """Names the group to whoever asked; comes back with the outcome."""
    access: TableAccess
    fragment_ids: tuple[int, ...]
    live_rows: int
    batch_rows: int
    copy_pages: bool = True
    """Whether to copy what is written instead of encoding it anew, where nothing is deleted."""
    follow_addresses: bool = False
    """Whether indexes with row addresses get the new ones in the commit; they lose what was rewritten otherwise."""
    verify: bool = False
    not_after_us: int | None = None
    """A worker that gets to this task later leaves it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOutcome:
    """What became of one task: a result that can be committed, or why there is none."""

    key: str
    result: str | None = None
    """Lance's own description of the new files, as JSON; None when the task was not carried out."""
    fragments_added: int = 0
    bytes_written: int = 0
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Of the new files, see `checksums.py`."""
    seconds: float = 0.0
    error: str | None = None


def run_rewrite(task: RewriteTask) -> RewriteOutcome:
    """Write the new files of one group and check them against what was read; commits nothing."""
    if stopping.is_over(task.not_after_us):
        return RewriteOutcome(key=task.key)
    started = clock.monotonic_seconds()
    try:
        dataset = task.access.open()
        result = _as_lance_says(task, dataset).execute(dataset).json()
        made = json.loads(result)
        problem = _problem(task, dataset, made)
        sums = _sums(task.access, dataset, result)
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        return RewriteOutcome(key=task.key, error=f"rewriting failed: {str(error).split(', /', 1)[0]}")
    return RewriteOutcome(
        key=task.key,
        result=result,
        fragments_added=len(made["new_fragments"]),
        bytes_written=sum(file["file_size_bytes"] or 0 for new in made["new_fragments"] for file in new["files"]),
        checksums=sums,
        seconds=clock.monotonic_seconds() - started,
        error=problem,
    )


def _as_lance_says(task: RewriteTask, dataset: Any) -> Any:
    return lance_task(
        dataset,
        task.fragment_ids,
        live_rows=task.live_rows,
        batch_rows=task.batch_rows,
        copy_pages=task.copy_pages,
        follow_addresses=task.follow_addresses,
    )


def lance_task(
    dataset: Any,
    fragment_ids: Sequence[int],
    *,
    live_rows: int,
    batch_rows: int,
    copy_pages: bool = False,
    follow_addresses: bool = False,
) -> Any:
    """Make a task of Lance's own for the fragments of our choice; its planner would choose others."""
    from lance.optimize import CompactionTask

    options = {
        **_planner_options("try_binary_copy" if copy_pages else "reencode"),
        "target_rows_per_fragment": max(live_rows, 1),
        "batch_size": batch_rows,
        "has_eager_remappable_index": follow_addresses,
    }
    fragments = [dataset.get_fragment(number).metadata.to_json() for number in fragment_ids]
    document = {"task": {"fragments": fragments}, "read_version": dataset.version, "options": options}
    return CompactionTask.from_json(json.dumps(document))  # type: ignore[attr-defined]  # not in its stub


def _sums(access: TableAccess, dataset: Any, result: str) -> dict[str, str]:
    """Read the new files of a data table back once; internal tables are pinned by nothing that could hold the sums."""
    if access.address.location.startswith("_"):
        return {}
    objects = worker_store(access.graph_uri, ANY_OPERATION).objects
    return read_back(objects, rewritten_files(access.address, result), has_blobs=has_blobs(dataset.schema))


def _problem(task: RewriteTask, dataset: Any, made: Mapping[str, Any]) -> str | None:
    """Compare what was written with what was read; None when they agree."""
    written = sum(new["physical_rows"] for new in made["new_fragments"])
    if written != task.live_rows:
        return f"the rewrite wrote {counted(written, 'row')} where {task.live_rows} were live"
    if task.verify:
        changed = changed_columns(dataset, task.access, made, batch_rows=_VERIFY_BATCH_ROWS)
        if changed:
            return f"the rewrite changed the content of {', '.join(changed)}"
    return None


def new_files(result: str) -> tuple[str, ...]:
    """Name the data files that a result made, relative to the table's own `data/` directory."""
    return tuple(file["path"] for new in json.loads(result)["new_fragments"] for file in new["files"])


def rewritten_files(address: TableAddress, result: str) -> tuple[FileReference, ...]:
    """Return the data files that a result made, for whoever commits it to look for."""
    return tuple(
        FileReference(f"{address.path}/data/{file['path']}", FileKind.DATA, file["file_size_bytes"])
        for new in json.loads(result)["new_fragments"]
        for file in new["files"]
    )


def without_row_versions(result: str) -> str:
    """Leave out in which version each row was created and updated, for tables where nobody ever asks.

    Lance keeps these in the table's own manifest, some 70 bytes per row that came with a commit of its own, and every
    commit writes them again: a log would make each commit dearer than the one before.
    """
    made = json.loads(result)
    forgotten = {"created_at_version_meta": None, "last_updated_at_version_meta": None}
    return json.dumps(made | {"new_fragments": [new | forgotten for new in made["new_fragments"]]})


def unchanged(results: Sequence[str], head: Table) -> tuple[bool, ...]:
    """Tell of each result whether all its original fragments are in HEAD with the same data and deletion files."""
    originals = [_originals_to_compare(json.loads(result), head) for result in results]
    present = _states(head, {number for states in originals for number in states})
    return tuple(all(present.get(number) == state for number, state in states.items()) for states in originals)


def _originals_to_compare(made: Mapping[str, Any], head: Table) -> dict[int, "_State"]:
    if made["read_version"] == head.version:
        return {}  # A version never changes, so there is nothing to compare.
    return {old["id"]: _recorded_state(old) for old in made["original_fragments"]}


def same_files(older: Table, newer: Table, fragment_ids: frozenset[int]) -> bool:
    """Whether fragments consist of the same data files in two states; what is deleted in them may differ."""
    if older.version == newer.version and older.address == newer.address:
        return True
    files = [
        {number: state.files for number, state in _states(table, fragment_ids).items()} for table in (older, newer)
    ]
    return files[0] == files[1]


def commit_rewrites(head: Table, results: Sequence[str], *, unchanged_at: int | None = None) -> None:
    """Commit finished rewrites on HEAD, or raise `CommitInterleaved` and leave HEAD's content as it is.

    `head` has a handle of its own, which moves on to the new version. `unchanged_at` is a version that the originals
    were compared with already: comparing hundreds of fragments twice would be felt by writers.
    """
    from lance.optimize import Compaction, RewriteResult

    path = head.address.path
    _require_unchanged(head, results, unchanged_at)
    spelled = [json.dumps(json.loads(result) | {"read_version": head.version}) for result in results]
    moved = [RewriteResult.from_json(text) for text in spelled]  # type: ignore[attr-defined]  # not in its stub
    try:
        Compaction.commit(head.dataset, moved)
    except lance_failures() as error:
        if classify(error) in {LanceFailure.CONFLICT, LanceFailure.INCOMPATIBLE}:
            raise CommitInterleaved(f"{path} moved past version {head.version}") from error
        raise storage_error(error, doing=f"committing rewrites of {path}", uri=path) from error


def stage_rewrites(
    head: Table, results: Sequence[str], *, properties: Mapping[str, str], unchanged_at: int | None = None
) -> StagedCommit:
    """Plan the commit of finished rewrites whose new fragments have numbers already; compares like `commit_rewrites`.

    Lance keeps numbers that it is given. Every one has to be new to the table (`foreseen.py`).
    """
    from lance import LanceOperation
    from lance.fragment import FragmentMetadata

    _require_unchanged(head, results, unchanged_at)
    groups = [
        LanceOperation.RewriteGroup(
            *(
                [FragmentMetadata.from_json(json.dumps(fragment)) for fragment in made[side]]
                for side in ("original_fragments", "new_fragments")
            )
        )
        for made in map(json.loads, results)
    ]
    operation = LanceOperation.Rewrite(groups=groups, rewritten_indices=[])
    return StagedCommit(
        uuid=ids.new_uuid(),
        read_version=head.version,
        operation="Rewrite",
        properties=properties,
        build=lambda _: operation,
    )


def _require_unchanged(head: Table, results: Sequence[str], unchanged_at: int | None) -> None:
    if unchanged_at != head.version and not all(unchanged(results, head)):
        raise CommitInterleaved(f"fragments of {head.address.path} changed after they were rewritten")


class _State(NamedTuple):
    """What a fragment consists of: its files are never written twice under one name, so equal names are equal rows."""

    files: tuple[tuple[Any, ...], ...]
    deletions: tuple[Any, ...] | None
    overlays: int


def _states(table: Table, fragment_ids: Collection[int]) -> dict[int, _State]:
    """Return the states of those fragments that the table has."""
    present = table.dataset.get_fragments() if fragment_ids else ()
    return {
        fragment.fragment_id: _present_state(fragment.metadata)
        for fragment in present
        if fragment.fragment_id in fragment_ids
    }


def _present_state(fragment: Any) -> _State:
    # Spelled out by attribute: turning the metadata of thousands of fragments into JSON would be felt under the gates.
    deletions = fragment.deletion_file
    return _State(
        files=tuple((data_path(file), tuple(file.fields), file.base_id) for file in fragment.files),
        deletions=None if deletions is None else (deletions.read_version, deletions.id, deletions.base_id),
        overlays=len(fragment.overlays or ()),
    )


def _recorded_state(fragment: Mapping[str, Any]) -> _State:
    deletions = fragment.get("deletion_file")
    return _State(
        files=tuple((file["path"], tuple(file["fields"]), file.get("base_id")) for file in fragment["files"]),
        deletions=None if deletions is None else (deletions["read_version"], deletions["id"], deletions.get("base_id")),
        overlays=len(fragment.get("overlays") or ()),
    )


def _planner_options(mode: Literal["reencode", "try_binary_copy"]) -> Mapping[str, Any]:
    """Return the options of a task in the planner's own spelling."""
    with _ASKING:
        return _ask_planner(mode)


@cache
def _ask_planner(mode: Literal["reencode", "try_binary_copy"]) -> Mapping[str, Any]:
    """Ask the planner how it spells its options, with a table of two fragments in memory."""
    import lance
    import pyarrow as pa
    from lance.optimize import Compaction

    scratch = lance.write_dataset(pa.table({"x": [1, 2]}), f"memory://omnigraph-{mode}", max_rows_per_file=1)
    plan = Compaction.plan(scratch, {"compaction_mode": mode})
    options: Mapping[str, Any] = json.loads(plan.tasks[0].json())["options"]  # type: ignore[attr-defined]  # not in its stub
    return options
