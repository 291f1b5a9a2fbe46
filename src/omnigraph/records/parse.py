"""A chunk of lines → checked Arrow tables, one per type: every record check, no set check.

The fast path reads what it can, the reference path what is left over; both give the same rows for the same lines.
"""

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.identity import derive_ids
from omnigraph.catalog.model import Catalog, EntityType, NodeType, TableKey
from omnigraph.records.offences import FINDINGS_KEPT, Offence, OffenceCollector, Offences
from omnigraph.records.ordinary import OrdinaryLines, read_ordinary
from omnigraph.records.reference import read_each
from omnigraph.records.rules import Violation, find_id_mismatches, find_violations
from omnigraph.records.tables import FILE, LINE, POSITION, load_schema, positions

_SMALL_TEXT = 1 << 16
"""Bytes that are split before numpy would be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedChunk:
    """The records of one chunk, or what is wrong with them: a chunk with findings has no tables."""

    tables: Mapping[TableKey, pa.Table]
    """With the columns of `load_schema`, in line order."""
    findings: Offences
    line_count: int


def parse_chunk(
    chunk: bytes, *, first_line: int, file_index: int, catalog: Catalog, max_errors: int = FINDINGS_KEPT
) -> ParsedChunk:
    """Parse whole lines of one file, the first of which is line `first_line`; pure, and safe to repeat."""
    lines = _split_lines(chunk)
    findings = OffenceCollector(limit=max_errors)
    ordinary = _read_ordinary(lines, first_line, catalog)
    others = read_each(
        lines, first_line=first_line, at=ordinary.left_over, file_index=file_index, catalog=catalog, findings=findings
    )
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    for entity, table in (*ordinary.tables, *others):
        parts[entity.table_key].append(table)
    tables: dict[TableKey, pa.Table] = {}
    for table_key in sorted(parts):
        entity = catalog.type_by_table_key[table_key]
        table = check_rows(_in_line_order(parts[table_key]), entity, file_index, findings)
        # A rejected value leaves a null where the schema may allow none; such a table is not finished.
        if not findings:
            tables[table_key] = with_place(table, entity, file_index)
    return ParsedChunk(tables={} if findings else tables, findings=findings.result(), line_count=len(lines))


def _split_lines(text: bytes) -> pa.Array:
    """Return the lines of a chunk as `large_binary`, line ends included; large ones share the memory of `text`."""
    if len(text) < _SMALL_TEXT:
        *ended, rest = text.split(b"\n")
        return pa.array([*(line + b"\n" for line in ended), *([rest] if rest else [])], pa.large_binary())
    import numpy as np

    # Arrow's own search for bytes takes five times as long, a tenth of all parsing.
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    last = [] if text.endswith(b"\n") or not text else [len(text)]
    offsets = np.concatenate((np.zeros(1, np.int64), ends, np.array(last, np.int64)))
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _read_ordinary(lines: pa.Array, first_line: int, catalog: Catalog) -> OrdinaryLines:
    try:
        lines.cast(pa.large_utf8())
    except pa.ArrowInvalid:
        # Some byte is wrong. The reference path will find its line, and speed does not matter any more.
        return OrdinaryLines(tables=(), left_over=pa.array(range(len(lines)), pa.uint64()))
    return read_ordinary(lines, first_line=first_line, catalog=catalog)


def _in_line_order(parts: list[pa.Table]) -> pa.Table:
    table = pa.concat_tables(parts).combine_chunks()
    lines = table[LINE]
    is_ordered = pc.all(pc.less(lines[:-1], lines[1:]), min_count=0).as_py()
    return table if is_ordered else table.sort_by(LINE).combine_chunks()


def check_rows(table: pa.Table, entity: EntityType, file_index: int, findings: OffenceCollector) -> pa.Table:
    """Report the rules that rows break, and give keyed nodes the ids of their keys."""
    for violation in find_violations(table, entity):
        _report(violation, table, entity, file_index, findings)
    if not isinstance(entity, NodeType) or entity.key is None:
        return table
    derived = derive_ids(table, entity)
    for violation in find_id_mismatches(table, derived, entity):
        _report(violation, table, entity, file_index, findings)
    return table.set_column(table.schema.get_field_index("id"), table.schema.field("id"), derived)


def with_place(table: pa.Table, entity: EntityType, file_index: int) -> pa.Table:
    """Bring checked rows into the shape of `load_schema`, with the place of each in the whole input."""
    schema = load_schema(entity)
    table = table.append_column(POSITION, positions(table[LINE], file_index))
    table = table.append_column(FILE, pa.repeat(pa.scalar(file_index, pa.int32()), len(table)))
    return table.select(schema.names).cast(schema)


def _report(
    violation: Violation, table: pa.Table, entity: EntityType, file_index: int, findings: OffenceCollector
) -> None:
    for row in violation.rows[: findings.limit].to_pylist():
        findings.add(
            Offence(
                code=violation.code,
                message=violation.describe(row),
                file_index=file_index,
                line=table[LINE][row].as_py(),
                table_key=entity.table_key,
                property=violation.property,
            )
        )
    findings.count(violation.code, max(len(violation.rows) - findings.limit, 0))
