"""Rows of an Arrow table with types of its own → the columns of a load, like the records that hold the same values.

The counterpart of `columns.py`. An absent column counts as omitted in every row, a null cell as an explicit null.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import shorten
from omnigraph.catalog.arrow import default_scalar
from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType, Scalar
from omnigraph.catalog.names import is_reserved
from omnigraph.records.conversion import Misfit, convert_column
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.records.tables import LINE, content_schema, embedded_properties, omitted_column

ENDPOINTS = (("from", "src"), ("to", "dst"))
"""How a column of endpoints may be called: as in a record, or as in the stored table."""


class TypedRows:
    """Turns batches of one table file into columns, with a finding for every cell that does not fit."""

    def __init__(
        self, entity: EntityType, *, file_index: int, findings: OffenceCollector, is_start: bool = True
    ) -> None:
        self.entity = entity
        self._file_index = file_index
        self._findings = findings
        self._is_start = is_start

    def table(self, rows: pa.Table, *, first_row: int) -> pa.Table:
        """Convert rows to the columns of `content_schema`, omission flags and `__line`; report what is wrong."""
        rows = rows.combine_chunks()
        lines = pa.arange(first_row, first_row + rows.num_rows).cast(pa.uint64())
        schema = content_schema(self.entity)
        if self._is_start:  # a column is undeclared once, not once in every batch
            self.report_undeclared(rows.column_names, lines[:1])
        columns = [self._ids(rows, lines)]
        if isinstance(self.entity, EdgeType):
            columns += [self._endpoints(rows, names, lines) for names in ENDPOINTS]
        for declared in self.entity.properties:
            columns.append(self._column(rows, declared, schema.field(declared.name).type, lines))
        table = pa.Table.from_arrays(columns, schema=schema)
        for name in embedded_properties(self.entity):
            is_omitted = pa.scalar(name not in rows.column_names, pa.bool_())
            table = table.append_column(omitted_column(name), pa.repeat(is_omitted, rows.num_rows))
        return table.append_column(LINE, lines)

    def report_undeclared(self, names: Sequence[str], lines: pa.Array) -> None:
        """Report the columns that the type does not have."""
        declared = {"id", *self.entity.property_by_name}
        if isinstance(self.entity, EdgeType):
            declared |= {name for names in ENDPOINTS for name in names}
        for name in names:
            if name in declared:
                continue
            spelled = f"{self.entity.name}.{shorten(name)}"
            if is_reserved(name, kind=self.entity.kind):
                self._report(Code.RESERVED_FIELD, lines, _always(f"{spelled} is a reserved name"), name)
            else:
                self._report(Code.UNKNOWN_PROPERTY, lines, _always(f"unknown property {spelled} (a column)"), name)

    def _ids(self, rows: pa.Table, lines: pa.Array) -> pa.Array:
        if "id" not in rows.column_names:
            return pa.nulls(rows.num_rows, pa.utf8())
        return self._texts(rows, "id", lines, Code.INVALID_ID, f"{self.entity.name} id")

    def _endpoints(self, rows: pa.Table, names: tuple[str, str], lines: pa.Array) -> pa.Array:
        word, other = names
        given = [name for name in names if name in rows.column_names]
        if len(given) == 1:
            return self._texts(rows, given[0], lines, Code.BAD_ENVELOPE, f"the field {word}")
        if given:
            problem, wrong = f"the columns {word} and {other} mean the same; leave one out", lines[:1]
        else:
            problem, wrong = f"the field {word} is missing", lines
        self._report(Code.BAD_ENVELOPE, wrong, _always(problem), word)
        return pa.nulls(rows.num_rows, pa.utf8())

    def _texts(self, rows: pa.Table, name: str, lines: pa.Array, code: Code, what: str) -> pa.Array:
        """Take a column of ids: text in every row."""
        column = _column(rows, name)
        self._report(code, lines.filter(pc.is_null(column)), lambda _: f"{what} must be a string, got null", name)
        converted = convert_column(column, PropertyType(scalar=Scalar.STRING), pa.utf8())
        for misfit in converted.misfits:
            if misfit.code is Code.INVALID_UTF8:
                self._report(misfit.code, lines.take(misfit.rows), _always(f"{what} is not UTF-8"), name)
                continue
            self._report(code, lines.take(misfit.rows), lambda _: f"{what} must be a string, got {column.type}", name)
        return converted.column

    def _column(self, rows: pa.Table, declared: Property, stored: pa.DataType, lines: pa.Array) -> pa.Array:
        named = f"{self.entity.name}.{declared.name}"
        if declared.name not in rows.column_names:
            default = default_scalar(declared)
            if default is not None:
                return pa.repeat(default, rows.num_rows)
            if not declared.stored_nullable:
                self._report(Code.MISSING_REQUIRED, lines, lambda _: f"{named} is required but missing", declared.name)
            return pa.nulls(rows.num_rows, stored)
        column = _column(rows, declared.name)
        if not declared.stored_nullable:
            nulls = lines.filter(pc.is_null(column))
            self._report(Code.MISSING_REQUIRED, nulls, lambda _: f"{named} is required but null", declared.name)
        converted = convert_column(column, declared.type, stored)
        for misfit in converted.misfits:
            self._report(misfit.code, lines.take(misfit.rows), _worded(named, misfit), declared.name)
        return converted.column

    def _report(self, code: Code, lines: pa.Array, describe: Callable[[int], str], property_name: str) -> None:
        """Report an offence at each of the lines; `describe` words it for the n-th of them."""
        for place, line in enumerate(lines[: self._findings.limit].to_pylist()):
            self._findings.add(
                Offence(
                    code=code,
                    message=describe(place),
                    file_index=self._file_index,
                    line=line,
                    table_key=self.entity.table_key,
                    property=shorten(property_name),
                )
            )
        self._findings.count(code, max(len(lines) - self._findings.limit, 0))


def _column(rows: pa.Table, name: str) -> pa.Array:
    column = rows[name]
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _always(message: str) -> Callable[[int], str]:
    return lambda _: message


def _worded(named: str, misfit: Misfit) -> Callable[[int], str]:
    return lambda place: f"{named} {misfit.describe(misfit.rows[place].as_py())}"
