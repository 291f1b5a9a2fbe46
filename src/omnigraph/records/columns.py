"""Decoded records of one type → columns, with a finding for every property that does not fit.

A column whose values all have the expected JSON kind is converted at once; one that resists is read value by value.
A rejected value leaves a null behind, so that its row still takes part in the checks of the other columns.
"""

from types import NoneType

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import shorten
from omnigraph.catalog.arrow import carrier_type, default_scalar
from omnigraph.catalog.model import EdgeType, EntityType, Property, PropertyType
from omnigraph.catalog.names import is_reserved
from omnigraph.records.envelope import Record
from omnigraph.records.offences import Code, Offence, OffenceCollector, Rejected
from omnigraph.records.scalar_forms import form_of, read_value
from omnigraph.records.strict_json import Json, spell
from omnigraph.records.tables import LINE, content_schema, embedded_properties, omitted_column
from omnigraph.records.value_readers import Stored


class RecordRows:
    """Gathers the records of one type from one file and turns them into columns."""

    def __init__(self, entity: EntityType, *, file_index: int, findings: OffenceCollector) -> None:
        self.entity = entity
        self._file_index = file_index
        self._findings = findings
        self._lines: list[int] = []
        self._records: list[Record] = []

    def add(self, line: int, record: Record) -> None:
        """Take one more record; lines come in ascending order."""
        self._lines.append(line)
        self._records.append(record)

    def table(self) -> pa.Table:
        """Convert the records to the columns of `content_schema`, omission flags and `__line`; report what is wrong."""
        self._report_undeclared_names()
        schema = content_schema(self.entity)
        columns = [self._ids()]
        if isinstance(self.entity, EdgeType):
            columns.append(pa.array([record.source for record in self._records], pa.utf8()))
            columns.append(pa.array([record.target for record in self._records], pa.utf8()))
        columns += [self._column(declared, schema.field(declared.name).type) for declared in self.entity.properties]
        table = pa.Table.from_arrays(columns, schema=schema)
        for name in embedded_properties(self.entity):
            table = table.append_column(omitted_column(name), self._omitted(name))
        return table.append_column(LINE, pa.array(self._lines, pa.uint64()))

    def _report_undeclared_names(self) -> None:
        declared = {"id", *self.entity.property_by_name}
        for line, record in zip(self._lines, self._records, strict=True):
            if record.data.keys() <= declared:
                continue
            for name in record.data.keys() - declared:
                if is_reserved(name, kind=self.entity.kind):
                    self._report(Code.RESERVED_FIELD, f"{self._named(name)} is a reserved name", line, name)
                else:
                    self._report(Code.UNKNOWN_PROPERTY, f"unknown property {self._named(name)}", line, name)

    def _ids(self) -> pa.Array:
        ids: list[str | None] = []
        for line, record in zip(self._lines, self._records, strict=True):
            value = record.data.get("id")
            if type(value) is str:  # a number token is a subclass of str
                ids.append(value)
                continue
            if "id" in record.data:
                self._report(Code.INVALID_ID, f"{self.entity.name} id must be a string, got {spell(value)}", line, "id")
            ids.append(None)
        return pa.array(ids, pa.utf8())

    def _column(self, declared: Property, stored: pa.DataType) -> pa.Array:
        values = [record.data.get(declared.name) for record in self._records]
        default = default_scalar(declared)
        if not declared.stored_nullable and None in values:
            self._report_missing(declared)
        column = _convert_at_once(values, declared.type, stored)
        if column is None:
            column = self._convert_each(values, declared, stored)
        return column if default is None else pc.if_else(self._omitted(declared.name), default, column)

    def _convert_each(self, values: list[Json], declared: Property, stored: pa.DataType) -> pa.Array:
        converted: list[Stored | None] = []
        for line, value in zip(self._lines, values, strict=True):
            try:
                converted.append(None if value is None else read_value(value, declared.type))
            except Rejected as exc:
                self._report(exc.code, f"{self._named(declared.name)} {exc}", line, declared.name)
                converted.append(None)
        # Arrow makes dates from Python's numbers only by way of a column of numbers.
        return pa.array(converted, carrier_type(declared.type)).cast(stored)

    def _report_missing(self, declared: Property) -> None:
        for line, record in zip(self._lines, self._records, strict=True):
            if record.data.get(declared.name) is not None:
                continue
            is_null = declared.name in record.data
            if is_null or declared.default is None:
                message = f"{self._named(declared.name)} is required but {'null' if is_null else 'missing'}"
                self._report(Code.MISSING_REQUIRED, message, line, declared.name)

    def _omitted(self, name: str) -> pa.Array:
        return pa.array([name not in record.data for record in self._records], pa.bool_())

    def _named(self, property_name: str) -> str:
        return f"{self.entity.name}.{shorten(property_name)}"

    def _report(self, code: Code, message: str, line: int, property_name: str) -> None:
        self._findings.add(
            Offence(
                code=code,
                message=message,
                file_index=self._file_index,
                line=line,
                table_key=self.entity.table_key,
                property=shorten(property_name),
            )
        )


def _convert_at_once(values: list[Json], declared: PropertyType, stored: pa.DataType) -> pa.Array | None:
    """Convert a column of scalars of one JSON kind; None if that needs a look at each value."""
    form = form_of(declared.scalar)
    kind = form.json_kind
    if declared.is_list or kind is None or not set(map(type, values)) <= {kind, NoneType}:
        return None
    if form.at_once is None:
        return pa.array(values, stored)
    texts = pa.array(values, pa.utf8())
    try:
        return form.at_once(texts, stored)
    except pa.ArrowInvalid:
        return None
