"""What a worker does with one piece of input: parse it, give ids, write data files, keep the key columns."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.pipeline.load.bulk.buckets import Buckets, Facet, incoming_facets
from omnigraph.pipeline.load.bulk.keys import incoming_keys
from omnigraph.pipeline.load.bulk.pieces import Piece
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.findings import FindingCollector, Findings
from omnigraph.records.minting import fill_missing_ids
from omnigraph.records.parse import parse_chunk
from omnigraph.records.tables import content_schema
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import TablePlace, worker_store

_PART_TEXT_BYTES = 192 << 20
"""More than a piece that was cut to size; a file that nobody can cut is kept in parts of about so much text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTask:
    """What is the same for all pieces of a load."""

    uri: str
    operation_id: str
    catalog: Catalog
    places: Mapping[TableKey, TablePlace]
    mode: LoadMode
    max_errors: int
    buckets: Buckets


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTask:
    """One piece of one load."""

    load: LoadTask
    piece: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTable:
    """What a part of a piece holds of one type."""

    table_key: TableKey
    part: int
    rows: int
    ids_given: int
    """How many of the records named themselves."""
    fragments: tuple[str, ...] = ()
    """The data files that are written; none in a merge, which must first know what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceOutcome:
    """What became of a piece; one with findings has no tables. Findings name the piece and its own lines."""

    ordinal: int
    lines: int
    findings: Findings
    tables: tuple[PieceTable, ...] = field(default=())


def read_piece(task: PieceTask) -> PieceOutcome:
    """Parse one piece against the schema; write what a load of this mode can write without looking at the graph."""
    load = task.load
    store = worker_store(load.uri, load.operation_id)
    keeper = _Keeper(load, Scratch(store, load.operation_id), task.piece.ordinal)
    findings = FindingCollector(limit=load.max_errors)
    lines = 0
    for chunk in task.piece.chunks(keeper.scratch):
        parsed = parse_chunk(
            chunk.text,
            first_line=chunk.first_line,
            file_index=task.piece.ordinal,
            catalog=load.catalog,
            max_errors=load.max_errors,
        )
        lines += parsed.line_count
        findings.include(parsed.findings)
        if findings:
            keeper.forget()  # nothing will be loaded; the rest is read to count what is wrong
        else:
            keeper.add(parsed.tables, len(chunk.text))
    return PieceOutcome(
        ordinal=task.piece.ordinal,
        lines=lines,
        findings=findings.result(),
        tables=() if findings else keeper.finish(),
    )


def keys_name(ordinal: int, part: int, entity: EntityType) -> str:
    """Name the key columns of a type in a part of a piece."""
    return f"keys-{entity.kind}-{entity.type_id}-{ordinal}-{part}"


def facets_name(ordinal: int, part: int) -> str:
    """Name the facets of all types in a part of a piece."""
    return f"facets-{ordinal}-{part}"


def rows_name(ordinal: int, entity: EntityType) -> str:
    """Name the rows of a type in a piece."""
    return f"rows-{entity.kind}-{entity.type_id}-{ordinal}"


def looks_for_meaning(entity: EntityType, mode: LoadMode) -> bool:
    """Whether records of this type that give no id look for the stored edge they mean."""
    return mode == "merge" and isinstance(entity, EdgeType)


class _Keeper:
    """Takes the rows of a piece as they are parsed, and writes them whenever there are enough for good data files."""

    def __init__(self, load: LoadTask, scratch: Scratch, ordinal: int) -> None:
        self.scratch = scratch
        self._load = load
        self._ordinal = ordinal
        self._parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
        self._text_bytes = 0
        self._kept: list[PieceTable] = []
        self._parts_kept = 0

    def add(self, tables: Mapping[TableKey, pa.Table], text_bytes: int) -> None:
        for table_key, table in tables.items():
            self._parts[table_key].append(table)
        self._text_bytes += text_bytes
        # The rows of a merge are looked up by their piece, so they stay together.
        if self._text_bytes > _PART_TEXT_BYTES and self._load.mode != "merge":
            self._keep_part()

    def forget(self) -> None:
        self._parts.clear()

    def finish(self) -> tuple[PieceTable, ...]:
        if self._parts:
            self._keep_part()
        return tuple(self._kept)

    def _keep_part(self) -> None:
        facets: list[tuple[Facet, pa.Table]] = []
        for table_key in sorted(self._parts):
            entity = self._load.catalog.type_by_table_key[table_key]
            kept, keys = self._keep(entity, pa.concat_tables(self._parts[table_key]))
            self._kept.append(kept)
            asked = incoming_facets(entity, self._load.mode, has_ids=kept.ids_given > 0)
            facets += [(facet, keys) for facet in asked]
        self._load.buckets.keep(self.scratch, facets_name(self._ordinal, self._parts_kept), "i", facets)
        self._parts.clear()
        self._text_bytes = 0
        self._parts_kept += 1

    def _keep(self, entity: EntityType, rows: pa.Table) -> tuple[PieceTable, pa.Table]:
        load, table_key = self._load, entity.table_key
        given = rows["id"].combine_chunks()
        filled = fill_missing_ids(given)
        looks = looks_for_meaning(entity, load.mode)
        if not looks:
            rows = rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), filled)
        keys = incoming_keys(entity, rows, minted=filled if looks else None)
        self.scratch.write_table(keys_name(self._ordinal, self._parts_kept, entity), keys)
        fragments: tuple[str, ...] = ()
        if load.mode == "merge":
            self.scratch.write_table(rows_name(self._ordinal, entity), rows)
        else:
            content = rows.select(content_schema(entity).names)
            fragments = load.places[table_key].write_rows(self.scratch.store, content)
        kept = PieceTable(
            table_key=table_key,
            part=self._parts_kept,
            rows=rows.num_rows,
            ids_given=len(given) - given.null_count,
            fragments=fragments,
        )
        return kept, keys
