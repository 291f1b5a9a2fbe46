"""Rows of text cells, as CSV has them → the columns of a load: each cell is the JSON value of its declared type."""

import pyarrow as pa

from omnigraph.base.units import shorten
from omnigraph.catalog.model import EdgeType, EntityType, PropertyType
from omnigraph.catalog.scalars import traits_of
from omnigraph.records.columns import RecordRows
from omnigraph.records.envelope import Record
from omnigraph.records.offences import Code, Offence, OffenceCollector, Rejected
from omnigraph.records.scalar_forms import form_of
from omnigraph.records.strict_json import Json, Number, decode_line
from omnigraph.records.typed import ENDPOINTS

_ROWS_AT_ONCE = 4096


class CellRows:
    """Turns batches of text columns into columns of their declared types; an absent cell is null."""

    def __init__(self, entity: EntityType, *, file_index: int, findings: OffenceCollector) -> None:
        self.entity = entity
        self._file_index = file_index
        self._findings = findings

    def table(self, rows: pa.Table, *, first_row: int) -> pa.Table:
        """Convert rows to the columns of `content_schema`, omission flags and `__line`; report what is wrong."""
        parts = []
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            records = RecordRows(self.entity, file_index=self._file_index, findings=self._findings)
            for place, cells in enumerate(rows.slice(start, _ROWS_AT_ONCE).to_pylist(), start=first_row + start):
                try:
                    records.add(place, self._record(cells))
                except Rejected as exc:
                    self._findings.add(
                        Offence(
                            code=exc.code,
                            message=str(exc),
                            file_index=self._file_index,
                            line=place,
                            table_key=self.entity.table_key,
                        )
                    )
            parts.append(records.table())
        return pa.concat_tables(parts).combine_chunks()

    def _record(self, cells: dict[str, str | None]) -> Record:
        ends: list[str | None] = [None, None]
        if isinstance(self.entity, EdgeType):
            ends = [_endpoint(cells, names) for names in ENDPOINTS]
        data = {name: self._value(name, cell) for name, cell in cells.items()}
        return Record(self.entity, data, *ends)

    def _value(self, name: str, cell: str | None) -> Json:
        declared = self.entity.property_by_name.get(name)
        if cell is None or declared is None:  # an id is text, and so is the value of a name that nobody declared
            return cell
        return _json_value(cell, declared.type)


def _endpoint(cells: dict[str, str | None], names: tuple[str, str]) -> str:
    word, other = names
    given = [name for name in names if name in cells]
    if not given:
        raise Rejected(Code.BAD_ENVELOPE, f"the field {word} is missing")
    if len(given) > 1:
        raise Rejected(Code.BAD_ENVELOPE, f"the columns {word} and {other} mean the same; leave one out")
    cell = cells.pop(given[0])
    if cell is None:
        raise Rejected(Code.BAD_ENVELOPE, f"the field {word} must be a string, got null")
    return cell


def _json_value(cell: str, declared: PropertyType) -> Json:
    """Read a cell as JSON; what is no JSON stays text, and the checks of the declared type say what they expected."""
    if traits_of(declared.scalar).is_text_in_json and not declared.is_list:
        is_number = form_of(declared.scalar).is_number_in_cells and cell.removeprefix("-").isdecimal()
        # Eight digits are a date without dashes, like the string that a record would hold.
        return Number(cell) if is_number and len(cell) != 8 else cell
    try:
        return decode_line(cell.encode())
    except Rejected:
        return shorten(cell)
