"""Rows of one type → NDJSON lines, a column at a time: the envelope that load reads, with every value bit for bit.

Each column becomes an Arrow array of JSON texts, and joining these element by element gives the lines. Only blobs and
strings that need escapes become Python objects on the way.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EdgeType, EntityType, PropertyType
from omnigraph.records.json_texts import TEXT, join, strings
from omnigraph.records.scalar_forms import form_of


def render_lines(table: pa.Table, entity: EntityType) -> bytes:
    """Render the rows in order as LF-terminated lines.

    Columns are found by name, others than those of the type are ignored, and blobs come as plain binary. The text is
    about as large as the rows, so many rows are best handed over in batches.
    """
    if not len(table):
        return b""
    pieces: list[str | pa.Array]
    if isinstance(entity, EdgeType):
        source, target = strings(_column(table, "src")), strings(_column(table, "dst"))
        pieces = [f'{{"edge":"{entity.name}","from":', source, ',"to":', target]
    else:
        pieces = [f'{{"type":"{entity.name}"']
    pieces += [',"data":{"id":', strings(_column(table, "id"))]
    for declared in entity.properties:
        pieces += [f',"{declared.name}":', pc.fill_null(_values(_column(table, declared.name), declared.type), "null")]
    text: bytes = join(*pieces, "}}\n").buffers()[2].to_pybytes()
    return text


def _column(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks()


def _values(column: pa.Array, declared: PropertyType) -> pa.Array:
    """Spell a column as JSON texts; null stays null."""
    render = form_of(declared.scalar).render
    if not declared.is_sequence:
        return render(column)
    # `flatten` leaves out what lies under null lists, so the offsets are counted anew.
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    items = render(column.flatten()).cast(pa.utf8())
    texts = join("[", pc.binary_join(pa.ListArray.from_arrays(offsets, items), ","), "]")
    return pc.if_else(pc.is_valid(column), texts, pa.scalar(None, TEXT))
