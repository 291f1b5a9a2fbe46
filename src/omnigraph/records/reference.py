"""The reference path: lines of any kind, decoded one by one; it alone decides what is wrong with a line."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import Catalog, EntityType
from omnigraph.records.columns import RecordRows
from omnigraph.records.envelope import open_envelope
from omnigraph.records.offences import Offence, OffenceCollector, Rejected
from omnigraph.records.strict_json import decode_line

_LINES_AT_ONCE = 4096
"""Python objects exist for so many lines at a time; more cost memory and slow the garbage collector down."""


def read_each(
    lines: pa.Array, *, first_line: int, at: pa.Array, file_index: int, catalog: Catalog, findings: OffenceCollector
) -> Iterator[tuple[EntityType, pa.Table]]:
    """Read the lines at the given indexes, ascending, and yield tables of the columns of `RecordRows.table`."""
    for offset in range(0, len(at), _LINES_AT_ONCE):
        indexes = at.slice(offset, _LINES_AT_ONCE)
        numbers = pc.add(indexes, pa.scalar(first_line, pa.uint64())).to_pylist()
        texts = zip(numbers, lines.take(indexes).to_pylist(), strict=True)
        for rows in _gather(texts, file_index=file_index, catalog=catalog, findings=findings):
            yield rows.entity, rows.table()


def _gather(
    lines: Iterable[tuple[int, bytes]], *, file_index: int, catalog: Catalog, findings: OffenceCollector
) -> Iterable[RecordRows]:
    rows_by_type: dict[int, RecordRows] = {}
    for number, text in lines:
        if not text.strip():
            continue
        try:
            record = open_envelope(decode_line(text), catalog)
        except Rejected as exc:
            findings.add(Offence(code=exc.code, message=str(exc), file_index=file_index, line=number))
            continue
        rows = rows_by_type.get(record.entity.type_id)
        if rows is None:
            rows = rows_by_type[record.entity.type_id] = RecordRows(
                record.entity, file_index=file_index, findings=findings
            )
        rows.add(number, record)
    return rows_by_type.values()
