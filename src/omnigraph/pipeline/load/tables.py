"""Tables as input: one type's rows in Parquet, CSV, Arrow or Lance, or in memory; typed, checked, with their places.

Each row means the record whose `data` holds its columns. Records and tables go the same way from here on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import pyarrow as pa

from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EntityType, TableKey
from omnigraph.catalog.type_names import find_entity
from omnigraph.errors import Usage
from omnigraph.pipeline.load.parse import ParsedInput
from omnigraph.pipeline.load.sources import READING_INPUT
from omnigraph.records.cells import CellRows
from omnigraph.records.offences import OffenceCollector
from omnigraph.records.parse import ParsedChunk, check_rows, with_place
from omnigraph.records.report import rejected
from omnigraph.records.typed import TypedRows


class TableFile(Protocol):
    """One table that is read batch by batch."""

    @property
    def name(self) -> str:
        """How error reports call it."""
        ...

    @property
    def type_name(self) -> str:
        """The type that its rows belong to: a name or a table key."""
        ...

    @property
    def is_text(self) -> bool:
        """Whether all cells are text, as in CSV."""
        ...

    @property
    def size_bytes(self) -> int | None:
        """How large it is, if that is known."""
        ...

    def expanded_bytes(self, limit: int) -> int:
        """Return how large its rows are in memory, roughly; need not count further than `limit`."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read it from its first row."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """`col=prop`: how columns are called in the graph; a column mapped to nothing is left out."""

    property_by_column: Mapping[str, str | None] = field(default_factory=dict)

    def apply(self, rows: pa.Table, *, where: str) -> pa.Table:
        """Rename and drop columns; raise `Usage` for a column that is not there, or a name that two would get."""
        missing = sorted(self.property_by_column.keys() - set(rows.column_names))
        if missing:
            known = ", ".join(rows.column_names)
            raise Usage(
                f"--map names the column {missing[0]}, which {where} does not have; it has {known}.", flag="--map"
            )
        kept = [place for place, name in enumerate(rows.column_names) if self.property_by_column.get(name, name)]
        rows = rows.select(kept)
        names = [self.property_by_column.get(name) or name for name in rows.column_names]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise Usage(f"{where} has two columns for {repeated[0]}; leave one out with --map COLUMN=.", flag="--map")
        return rows.rename_columns(names)


def parse_tables(
    files: tuple[TableFile, ...], columns: ColumnMap, *, catalog: Catalog, max_errors: int, events: Events
) -> ParsedInput:
    """Parse all tables and hold their rows in memory; positions are (file, row)."""
    entities = [find_entity(catalog, file.type_name) for file in files]
    findings = OffenceCollector(limit=max_errors)
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    with phase(events, READING_INPUT, unit="rows") as reading:
        for index, (file, entity) in enumerate(zip(files, entities, strict=True)):
            rows = RowsOfType(entity=entity, columns=columns, name=file.name, is_text=file.is_text)
            for chunk in rows.parse(file.batches(), file_index=index, max_errors=max_errors):
                reading.advance(chunk.line_count)
                findings.include(chunk.findings)
                if findings:
                    parts.clear()  # nothing will be loaded; the rest is read to count what is wrong
                    continue
                parts[entity.table_key].append(chunk.tables[entity.table_key])
    return ParsedInput(
        tables={} if findings else {key: pa.concat_tables(parts[key]) for key in sorted(parts)},
        findings=findings.result(),
        files=tuple(file.name for file in files),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfType:
    """How the rows of one table become records of one type."""

    entity: EntityType
    columns: ColumnMap
    name: str
    """How error reports call the table."""
    is_text: bool = False

    def parse(
        self, batches: Iterable[pa.RecordBatch], *, file_index: int, max_errors: int, is_start: bool = True
    ) -> Iterator[ParsedChunk]:
        """Type and check rows, batch by batch; their numbers begin with 1.

        What is wrong with a column as a whole is reported where a table starts, so once.
        """
        first_row = 1
        for batch in batches:
            rows = self.columns.apply(pa.Table.from_batches([batch]), where=self.name)
            if not rows.num_rows:
                continue
            findings = OffenceCollector(limit=max_errors)
            reader = self._reader(file_index, findings, is_start=is_start and first_row == 1)
            table = check_rows(reader.table(rows, first_row=first_row), self.entity, file_index, findings)
            first_row += rows.num_rows
            # A rejected value leaves a null where the schema may allow none; such a table is not finished.
            tables = {} if findings else {self.entity.table_key: with_place(table, self.entity, file_index)}
            yield ParsedChunk(tables=tables, findings=findings.result(), line_count=rows.num_rows)

    def check_columns(self, names: Sequence[str], *, max_errors: int) -> None:
        """Refuse columns that the type does not have, as `parse` would at the start, before a row is read."""
        empty = pa.table([pa.nulls(0) for _ in names], names=list(names))
        findings = OffenceCollector(limit=max_errors)
        named = self.columns.apply(empty, where=self.name).column_names
        TypedRows(self.entity, file_index=0, findings=findings).report_undeclared(named, pa.array([1], pa.uint64()))
        if findings:
            raise rejected(findings.result(), files=(self.name,))

    def _reader(self, file_index: int, findings: OffenceCollector, *, is_start: bool) -> CellRows | TypedRows:
        if self.is_text:
            return CellRows(self.entity, file_index=file_index, findings=findings)
        return TypedRows(self.entity, file_index=file_index, findings=findings, is_start=is_start)
