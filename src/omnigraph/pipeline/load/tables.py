"""Tables as input: one type's rows in Parquet, CSV, Arrow or Lance, or in memory; typed, checked, with their places.

Each row means the record whose `data` holds its columns. Records and tables go the same way from here on.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from omnigraph.base.events import Advanced, Events
from omnigraph.catalog.model import Catalog, EntityType, TableKey
from omnigraph.errors import EntityNotFound, Usage
from omnigraph.pipeline.load.parse import ParsedInput
from omnigraph.records.cells import CellRows
from omnigraph.records.findings import FindingCollector
from omnigraph.records.parse import check_rows, with_place
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
    findings = FindingCollector(limit=max_errors)
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    done = 0
    for index, (file, entity) in enumerate(zip(files, entities, strict=True)):
        for rows in _parse_file(file, entity, columns, file_index=index, findings=findings):
            done += rows.num_rows
            events(Advanced(phase="read", done=done, total=None, unit="rows"))
            if findings:
                parts.clear()  # nothing will be loaded; the rest is read to count what is wrong
            else:
                parts[entity.table_key].append(with_place(rows, entity, index))
    return ParsedInput(
        tables={} if findings else {key: pa.concat_tables(parts[key]) for key in sorted(parts)},
        findings=findings.result(),
        files=tuple(file.name for file in files),
    )


def find_entity(catalog: Catalog, name: str) -> EntityType:
    """Find a type by its name or table key; raise `EntityNotFound` for none, `Usage` where the name means two."""
    found = [entity for key, entity in catalog.type_by_table_key.items() if name in (key, entity.name)]
    if not found:
        known = ", ".join(sorted(catalog.type_by_table_key))
        raise EntityNotFound(f"There is no type {name!r} in this graph; it has {known}.", selector=name)
    if len(found) > 1:
        keys = " or ".join(entity.table_key for entity in found)
        raise Usage(f"{name!r} is a node and an edge type; say {keys}.", flag="--type")
    return found[0]


def _parse_file(
    file: TableFile, entity: EntityType, columns: ColumnMap, *, file_index: int, findings: FindingCollector
) -> Iterator[pa.Table]:
    kind = CellRows if file.is_text else TypedRows
    reader = kind(entity, file_index=file_index, findings=findings)
    first_row = 1
    for batch in file.batches():
        rows = columns.apply(pa.Table.from_batches([batch]), where=file.name)
        if rows.num_rows:
            yield check_rows(reader.table(rows, first_row=first_row), entity, file_index, findings)
        first_row += rows.num_rows
