"""What cleanup would remove if it ran now, by the very preview that `cleanup` prints."""

from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.cleanup.policy import KEEP_VERSIONS_DEFAULT, CleanupPolicy
from omnigraph.maintenance.cleanup.run import CleanupRow, preview_cleanup
from omnigraph.maintenance.health.damage import DamagedPart, DamageLog
from omnigraph.maintenance.unreadable import problem_of

DEFAULT_POLICY = CleanupPolicy(keep_versions=KEEP_VERSIONS_DEFAULT)
"""What `cleanup` does when nobody says otherwise, so that the bytes named here are those that it would remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something that cleanup would remove from beside the tables that users see."""

    name: str
    """The key of a dropped table, or the directory of an internal table or of intermediate files."""
    branch: str | None
    is_dropped: bool
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimable:
    """All of it: old versions of live tables, and everything else."""

    by_table: Mapping[tuple[str, str | None], int]
    """By table key and owning branch; None is `main`."""
    leftovers: tuple[Leftover, ...]


NOTHING_TO_RECLAIM = Reclaimable(by_table={}, leftovers=())


def observe_space(context: GraphContext, damages: DamageLog, retention: CleanupPolicy) -> Reclaimable:
    """Preview a cleanup; what cannot be previewed is damage, and the rest still counts."""
    nothing: tuple[CleanupRow, ...] = ()
    rows = damages.attempt(
        lambda: preview_cleanup(context, retention), otherwise=nothing, part=DamagedPart.CLEANUP, where="."
    )
    by_table: dict[tuple[str, str | None], int] = {}
    leftovers: list[Leftover] = []
    for row in rows:
        if row.error is not None:
            damages.note(
                part=DamagedPart.CLEANUP,
                where=row.table_key,
                problem=problem_of(row.error),
                table_key=row.table_key,
                branch=row.branch,
            )
        if row.dropped or not _is_data_table(row.table_key):
            leftovers.append(
                Leftover(name=row.table_key, branch=row.branch, is_dropped=row.dropped, bytes=row.removed.bytes)
            )
        else:
            # Two lifetimes of one type can both be read, by main and by a branch that is older than the drop.
            key = (row.table_key, row.branch)
            by_table[key] = by_table.get(key, 0) + row.removed.bytes
    return Reclaimable(by_table=by_table, leftovers=tuple(found for found in leftovers if found.bytes))


def _is_data_table(name: str) -> bool:
    return name.startswith(("node:", "edge:"))
