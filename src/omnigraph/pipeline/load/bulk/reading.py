"""What a worker does with one piece of input: parse it, give ids, write data files, keep the key columns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.pipeline.load.bulk.keys import incoming_keys
from omnigraph.pipeline.load.bulk.pieces import InputPiece, PlacedPiece
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.findings import FindingCollector, Findings
from omnigraph.records.minting import fill_missing_ids
from omnigraph.records.parse import ParsedChunk
from omnigraph.records.tables import content_schema
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import TablePlace, worker_store


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTask:
    """What is the same for all pieces of a load."""

    uri: str
    operation_id: str
    catalog: Catalog
    places: Mapping[TableKey, TablePlace]
    mode: LoadMode
    max_errors: int
    folder_by_piece: Mapping[int, str] = field(default_factory=dict)
    """Where in the scratch the files of a piece are, if they have a folder of their own."""

    def rows_name(self, ordinal: int, entity: EntityType) -> str:
        """Name the rows of a type in a piece."""
        return f"{self.folder_by_piece.get(ordinal, '')}rows-{entity.kind}-{entity.type_id}-{ordinal}"

    def keys_name(self, ordinal: int, entity: EntityType) -> str:
        """Name the key columns of a type in a piece."""
        return f"{self.folder_by_piece.get(ordinal, '')}keys-{entity.kind}-{entity.type_id}-{ordinal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTask:
    """One piece of one load."""

    load: LoadTask
    piece: InputPiece


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTable:
    """What a piece holds of one type."""

    table_key: TableKey
    rows: int
    ids_given: int
    """How many records of the piece named themselves."""
    fragments: tuple[str, ...] = ()
    """The data files that are written; none in a merge, which must first know what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceOutcome:
    """What became of a piece; one with findings has no tables. Findings name the piece and its own lines."""

    ordinal: int
    lines: int
    findings: Findings
    tables: tuple[PieceTable, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPieces:
    """All input of a load as workers have kept it."""

    load: LoadTask
    pieces: tuple[PlacedPiece, ...]
    outcomes: tuple[PieceOutcome, ...]

    @classmethod
    def of(cls, load: LoadTask, pieces: Iterable[PlacedPiece], outcomes: Iterable[PieceOutcome]) -> "KeptPieces":
        """Put what workers returned into the order of the input."""
        in_order = sorted(outcomes, key=lambda outcome: outcome.ordinal)
        return cls(load=load, pieces=tuple(pieces), outcomes=tuple(in_order))


def read_piece(task: PieceTask) -> PieceOutcome:
    """Parse one piece against the schema; write what a load of this mode can write without looking at the graph."""
    load = task.load
    scratch = Scratch(worker_store(load.uri, load.operation_id), load.operation_id)
    chunks = task.piece.parse(load.catalog, scratch, max_errors=load.max_errors)
    return keep_piece(load, scratch, task.piece.ordinal, chunks)


def keep_piece(load: LoadTask, scratch: Scratch, ordinal: int, chunks: Iterable[ParsedChunk]) -> PieceOutcome:
    """Keep the records of one piece, unless one of them is wrong."""
    findings = FindingCollector(limit=load.max_errors)
    parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
    lines = 0
    for parsed in chunks:
        lines += parsed.line_count
        findings.include(parsed.findings)
        if findings:
            parts.clear()
            continue
        for table_key, table in parsed.tables.items():
            parts[table_key].append(table)
    tables: tuple[PieceTable, ...] = ()
    if not findings:
        tables = tuple(
            _keep(load, scratch, ordinal, table_key, pa.concat_tables(parts[table_key])) for table_key in sorted(parts)
        )
    return PieceOutcome(ordinal=ordinal, lines=lines, findings=findings.result(), tables=tables)


def looks_for_meaning(entity: EntityType, mode: LoadMode) -> bool:
    """Whether records of this type that give no id look for the stored edge they mean."""
    return mode == "merge" and isinstance(entity, EdgeType)


def _keep(load: LoadTask, scratch: Scratch, ordinal: int, table_key: TableKey, rows: pa.Table) -> PieceTable:
    entity = load.catalog.type_by_table_key[table_key]
    given = rows["id"].combine_chunks()
    filled = fill_missing_ids(given)
    made = PieceTable(table_key=table_key, rows=rows.num_rows, ids_given=len(given) - given.null_count)
    if load.mode == "merge":
        if looks_for_meaning(entity, load.mode):
            scratch.write_table(load.keys_name(ordinal, entity), incoming_keys(entity, rows, minted=filled))
        else:
            rows = _with_ids(rows, filled)
            scratch.write_table(load.keys_name(ordinal, entity), incoming_keys(entity, rows))
        scratch.write_table(load.rows_name(ordinal, entity), rows)
        return made
    rows = _with_ids(rows, filled)
    scratch.write_table(load.keys_name(ordinal, entity), incoming_keys(entity, rows))
    fragments = load.places[table_key].write_rows(scratch.store, rows.select(content_schema(entity).names))
    return PieceTable(table_key=table_key, rows=made.rows, ids_given=made.ids_given, fragments=fragments)


def _with_ids(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), ids)
