"""From the statements of a query to those of one write.

Inserts see nothing of each other but ids, and all checks wait for the final state; so inserts that follow one another
become one statement per type, whatever their number, and none of them reads more than once.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

import pyarrow as pa

from omnigraph.catalog.model import EntityType, NodeType
from omnigraph.query import typed
from omnigraph.query.mutate.rows import Image, changed_rows, inserted_rows
from omnigraph.query.mutate.selecting import selection_of
from omnigraph.query.mutate.values import RunValues, assigned
from omnigraph.writes import mutation


def lower(statements: Iterable[typed.Statement], values: RunValues) -> list[mutation.Statement]:
    """Return what the statements do with the values of this run; reads nothing, and mints all ids."""
    lowered: list[mutation.Statement] = []
    for is_insert, run in groupby(statements, key=lambda statement: isinstance(statement, typed.Insert)):
        if is_insert:
            lowered += _inserts((one for one in run if isinstance(one, typed.Insert)), values)
        else:
            lowered += [_change(one, values) for one in run if not isinstance(one, typed.Insert)]
    return lowered


def _inserts(statements: Iterable[typed.Insert], values: RunValues) -> Iterator[mutation.Upsert]:
    images: dict[str, list[Image]] = {}
    entities: dict[str, EntityType] = {}
    for statement in statements:
        entity = entities.setdefault(statement.entity.table_key, statement.entity)
        images.setdefault(entity.table_key, []).append(_image(entity, statement.assignments, values))
    for table_key, found in images.items():
        entity = entities[table_key]
        rows = inserted_rows(entity, found)
        if not isinstance(entity, NodeType) or entity.key is None:
            yield mutation.Upsert(entity=entity, rows=rows, is_minted=True)
            continue
        for each in _without_repeats(rows):
            yield mutation.Upsert(entity=entity, rows=each, keeps_vectors=True)


def _change(statement: typed.Update | typed.Delete, values: RunValues) -> mutation.Statement:
    entity = statement.entity
    selection = selection_of(entity, statement.predicate, values)
    if isinstance(statement, typed.Delete):
        return mutation.DeleteRows(entity=entity, selection=selection)
    image = _image(entity, statement.assignments, values)
    return mutation.UpdateRows(
        entity=entity, selection=selection, change=partial(changed_rows, entity=entity, image=image)
    )


def _image(entity: EntityType, assignments: Iterable[typed.Assignment], values: RunValues) -> Image:
    return {assignment.property: assigned(entity, assignment, values) for assignment in assignments}


def _without_repeats(rows: pa.Table) -> Iterator[pa.Table]:
    """Cut rows so that no part holds an id twice and later parts replace earlier ones."""
    seen: dict[str, int] = {}
    parts: list[list[int]] = []
    for place, entity_id in enumerate(rows["id"].to_pylist()):
        part = seen[entity_id] = seen.get(entity_id, -1) + 1
        if part == len(parts):
            parts.append([])
        parts[part].append(place)
    for places in parts:
        yield rows.take(pa.array(places, pa.int64()))
