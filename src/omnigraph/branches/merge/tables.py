"""One table of a merge: from the changes of both sides to the delta that the target receives."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.base.units import shorten
from omnigraph.branches.merge.conflicts import CONFLICTS, KIND_BY_OUTCOME, MergeConflict
from omnigraph.branches.merge.edges import on_stand_ins, relationship_changes
from omnigraph.branches.merge.resolution import Outcome, agreed, ids_with, resolve, rows_with
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.catalog.model import EdgeType, EntityType
from omnigraph.changes.compare import CHANGES_SCHEMA, TableState, changed_entities
from omnigraph.writes.delta import TableDelta, delta_rows, empty_reference, reference_columns, rows_among


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMerge:
    """What a merge decided about one table."""

    entity: EntityType
    route: Route
    resolution: pa.Table
    """`(id, outcome)` of every entity that changes on the target or cannot be decided."""

    @property
    def is_empty(self) -> bool:
        """Whether the target's table already says everything that the source's says."""
        return bool(self.resolution.num_rows == 0)

    @property
    def conflicts_total(self) -> int:
        """How many entities cannot be decided."""
        return len(ids_with(self.resolution, *KIND_BY_OUTCOME))

    def conflicts(self, *, at_most: int) -> Iterator[MergeConflict]:
        """Word the first conflicts by id."""
        undecided = rows_with(self.resolution, *KIND_BY_OUTCOME)
        return word_conflicts(self.entity, undecided.sort_by("id").slice(0, at_most).to_pylist())

    def delta(self, sides: MergeSides) -> TableDelta:
        """Return what the target's table receives.

        A conflict between a change and a deletion counts here as the change, whichever side made it: the checks of the
        merged graph then report the conflict alone and not every edge of a node that may yet stay. No delta with
        conflicts is ever staged.
        """
        source = sides.source_state(self.entity)
        taken = ids_with(self.resolution, Outcome.TAKE, Outcome.DELETE_VS_UPDATE)
        images = source.images(taken)
        removed = ids_with(self.resolution, Outcome.DELETE)
        shape = empty_reference(self.entity).schema
        stored = sides.target.table(self.entity.table_key).lookup(
            "id", pa.concat_arrays([images["id"].combine_chunks(), removed]), reference_columns(self.entity)
        )
        stored = stored.select(shape.names).cast(shape)
        return TableDelta(
            entity=self.entity,
            upserts=delta_rows(self.entity, images),
            matched=rows_among(stored, taken),
            removed=rows_among(stored, removed),
        )


def word_conflicts(entity: EntityType, undecided: Iterable[Mapping[str, Any]]) -> Iterator[MergeConflict]:
    """Word what could not be decided, given as `(id, outcome)`."""
    for row in undecided:
        kind = KIND_BY_OUTCOME[Outcome(row["outcome"])]
        yield MergeConflict(
            kind=kind,
            table_key=entity.table_key,
            entity_id=row["id"],
            message=f"{entity.name} {shorten(row['id'])!r} {CONFLICTS[kind].words}",
        )


def merge_table(sides: MergeSides, entity: EntityType, chosen: Route) -> TableMerge:
    """Resolve one table against every base."""
    resolutions = [_resolved(sides, base, entity, chosen) for base in sides.base_states(entity)]
    return TableMerge(entity=entity, route=chosen, resolution=agreed(sides.target.context.engine, resolutions))


def _resolved(sides: MergeSides, base: TableState, entity: EntityType, chosen: Route) -> pa.Table:
    context = sides.target.context
    source, target = sides.source_state(entity), sides.target_state(entity)
    source_changes = changed_entities(context, base, source)
    is_three_way = chosen is Route.THREE_WAY
    target_changes = changed_entities(context, base, target) if is_three_way else CHANGES_SCHEMA.empty_table()
    if not isinstance(entity, EdgeType):
        return resolve(context.engine, source, target, source_changes=source_changes, target_changes=target_changes)
    changes = relationship_changes(
        context.engine,
        base=base,
        source=source,
        target=target,
        source_changes=source_changes,
        target_changes=target_changes,
    )
    resolution = resolve(context.engine, source, target, source_changes=changes.source, target_changes=changes.target)
    return on_stand_ins(resolution, changes.stand_ins)
