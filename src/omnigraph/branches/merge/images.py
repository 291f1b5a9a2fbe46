"""The values behind a conflict: the entity as the base, the source and the target have it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from omnigraph.branches.merge.conflicts import ConflictImages, MergeConflict
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.catalog.model import TableKey
from omnigraph.changes.compare import TableState
from omnigraph.records.rendering import render_lines

ImageById = Mapping[str, Mapping[str, Any]]


def with_images(sides: MergeSides, conflicts: Sequence[MergeConflict]) -> list[MergeConflict]:
    """Give every conflict the images of its entity, read with one lookup per table and side."""
    images = {
        table_key: _images_by_side(
            sides, table_key, [found.entity_id for found in conflicts if found.table_key == table_key]
        )
        for table_key in {conflict.table_key for conflict in conflicts}
    }
    return [replace(conflict, images=_images_of(conflict, images[conflict.table_key])) for conflict in conflicts]


def _images_by_side(sides: MergeSides, table_key: TableKey, ids: list[str | None]) -> tuple[ImageById, ...]:
    entity = sides.target.catalog.type_by_table_key[table_key]
    wanted = pa.array(ids, pa.string())
    # An entity that several bases have differently is shown as the last of them has it.
    base = _rendered(sides.base_states(entity), wanted)
    return base, _rendered([sides.source_state(entity)], wanted), _rendered([sides.target_state(entity)], wanted)


def _rendered(states: Iterable[TableState], ids: pa.Array) -> ImageById:
    found = {}
    for state in states:
        for line in render_lines(state.images(ids), state.entity).splitlines():
            record = json.loads(line)
            found[record["data"]["id"]] = record
    return found


def _images_of(conflict: MergeConflict, by_side: tuple[ImageById, ...]) -> ConflictImages:
    base, source, target = ((images.get(conflict.entity_id) if conflict.entity_id else None) for images in by_side)
    return ConflictImages(base=base, source=source, target=target)
