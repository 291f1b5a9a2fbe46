"""Which of several records with one id counts: the one in which a chosen property is the greatest.

A stream may bring several versions of an entity in one batch, in no order. Among equals, and where no record has a
value, the last one counts. Types without the property are as strict as ever.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.arrow import arrow_form
from omnigraph.catalog.model import Catalog, EntityType
from omnigraph.catalog.type_names import find_entity
from omnigraph.errors import Usage
from omnigraph.records.tables import POSITION


def check_newest_by(name: str, catalog: Catalog, type_name: str | None, *, mode: str) -> None:
    """Refuse a property by which nothing can be ordered, or a load that does not look for what is newer."""
    if mode != "merge":
        raise Usage(
            f'The newest record of an id is taken in a merge; loadMode is {mode}. Say "merge", or leave newestBy out.',
            flag="newestBy",
        )
    entities = catalog.entity_types() if type_name is None else [find_entity(catalog, type_name)]
    if not any(newest_type(entity, name) is not None for entity in entities):
        missing = f"No type has a property {name}" if type_name is None else f"{type_name} has no property {name}"
        raise Usage(
            f"{missing} of numbers, texts or times, by which one record could be newer than another.",
            flag="newestBy",
        )


def newest_type(entity: EntityType, newest_by: str | None) -> pa.DataType | None:
    """Return the type in which a property is compared, None if the entity has none that can be."""
    declared = entity.property_by_name.get(newest_by) if newest_by is not None else None
    if declared is None or declared.type.is_list:
        return None
    return arrow_form(declared.type.scalar).ordered


def newest_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values that can be cast to what they are compared as: moments as numbers."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def newest_rows(rows: pa.Table, newest_by: str) -> pa.Table:
    """Return the record of every id that counts."""
    values = newest_values(rows[newest_by])
    keys = pa.table(
        {"id": rows["id"], "known": pc.is_valid(values), "newest": values, POSITION: rows[POSITION]},
    )
    order = [(name, "ascending") for name in ("known", "newest", POSITION)]
    last = keys.sort_by(order).group_by("id", use_threads=False).aggregate([(POSITION, "last")])[f"{POSITION}_last"]
    return rows.filter(pc.is_in(rows[POSITION], value_set=last.combine_chunks()))
