"""Many changes of one entity as one: what it was before the first of them and what it is after the last."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.console.sources.protocol import BranchComparison

if TYPE_CHECKING:
    from omnigraph.changes.entities import EntityChange


def net_changes(changes: "Iterable[EntityChange]", *, limit: int) -> BranchComparison:
    """Fold changes, oldest first; an entity that is as it was is left out."""
    from omnigraph.changes.compare import Op
    from omnigraph.changes.entities import EntityChange

    folded: dict[tuple[str, str], EntityChange] = {}
    for change in changes:
        key = (change.type.type_id, change.id)
        first = folded.get(key, change)
        before, after = first.before, change.after
        if before is None and after is None:
            folded.pop(key, None)
            continue
        op = Op.INSERT if before is None else Op.DELETE if after is None else Op.UPDATE
        folded[key] = EntityChange(type=change.type, id=change.id, op=op, before=before, after=after)
    found = [each for each in folded.values() if each.before != each.after]
    ops = [each.op for each in found]
    return BranchComparison(
        changes=tuple(found[:limit]),
        inserted=ops.count(Op.INSERT),
        updated=ops.count(Op.UPDATE),
        deleted=ops.count(Op.DELETE),
        is_whole=len(found) <= limit,
    )
