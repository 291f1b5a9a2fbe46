"""What a worker does with one piece of input: parse it, give ids, write data files, keep the key columns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.pipeline.load.bulk.buckets import Buckets, Facet, incoming_facets
from omnigraph.pipeline.load.bulk.keys import incoming_keys
from omnigraph.pipeline.load.bulk.pieces import InputPiece, PlacedPiece
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.findings import FindingCollector, Findings
from omnigraph.records.minting import fill_missing_ids
from omnigraph.records.parse import ParsedChunk
from omnigraph.records.tables import content_schema
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import TablePlace, worker_store

_PART_BYTES = 192 << 20
"""More than a piece that was cut to size; a file that nobody can cut is kept in parts of about so much."""


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
    folder_by_piece: Mapping[int, str] = field(default_factory=dict)
    """Where in the scratch the files of a piece are: the folder of the attempt that counts."""
    newest_by: str | None = None
    """The property that tells which of several records with one id counts (`newest.py`)."""

    def rows_name(self, ordinal: int, entity: EntityType) -> str:
        """Name the rows of a type in a piece."""
        return f"{self._folder(ordinal)}rows-{entity.kind}-{entity.type_id}-{ordinal}"

    def keys_name(self, ordinal: int, part: int, entity: EntityType) -> str:
        """Name the key columns of a type in a part of a piece."""
        return f"{self._folder(ordinal)}keys-{entity.kind}-{entity.type_id}-{ordinal}-{part}"

    def facets_name(self, ordinal: int, part: int) -> str:
        """Name the facets of all types in a part of a piece."""
        return f"{self._folder(ordinal)}facets-{ordinal}-{part}"

    def _folder(self, ordinal: int) -> str:
        return self.folder_by_piece[ordinal]


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTask:
    """One piece of one load."""

    load: LoadTask
    piece: InputPiece


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
    folder: str = ""
    """Where in the scratch this attempt kept its files."""


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
        folders = {outcome.ordinal: outcome.folder for outcome in in_order}
        return cls(load=replace(load, folder_by_piece=folders), pieces=tuple(pieces), outcomes=tuple(in_order))


def read_piece(task: PieceTask) -> PieceOutcome:
    """Parse one piece against the schema; write what a load of this mode can write without looking at the graph."""
    load = task.load
    scratch = Scratch(worker_store(load.uri, load.operation_id), load.operation_id)
    chunks = task.piece.parse(load.catalog, scratch, max_errors=load.max_errors)
    return keep_piece(load, scratch, task.piece.ordinal, chunks, folder=new_folder())


def new_folder() -> str:
    """Return a folder for one attempt: the ids that two of them mint differ, and only one of them counts."""
    return f"{ids.new_ulid()}/"


def keep_piece(
    load: LoadTask, scratch: Scratch, ordinal: int, chunks: Iterable[ParsedChunk], *, folder: str
) -> PieceOutcome:
    """Keep the records of one piece, unless one of them is wrong."""
    keeper = _Keeper(replace(load, folder_by_piece={ordinal: folder}), scratch, ordinal)
    findings = FindingCollector(limit=load.max_errors)
    lines = 0
    for parsed in chunks:
        lines += parsed.line_count
        findings.include(parsed.findings)
        if findings:
            keeper.forget()  # nothing will be loaded; the rest is read to count what is wrong
        else:
            keeper.add(parsed.tables)
    tables = () if findings else keeper.finish()
    return PieceOutcome(ordinal=ordinal, lines=lines, findings=findings.result(), tables=tables, folder=folder)


def looks_for_meaning(entity: EntityType, mode: LoadMode) -> bool:
    """Whether records of this type that give no id look for the stored edge they mean."""
    return mode == "merge" and isinstance(entity, EdgeType)


class _Keeper:
    """Takes the rows of a piece as they are parsed, and writes them whenever there are enough for good data files."""

    def __init__(self, load: LoadTask, scratch: Scratch, ordinal: int) -> None:
        self._scratch = scratch
        self._load = load
        self._ordinal = ordinal
        self._parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
        self._bytes = 0
        self._kept: list[PieceTable] = []
        self._parts_kept = 0

    def add(self, tables: Mapping[TableKey, pa.Table]) -> None:
        for table_key, table in tables.items():
            self._parts[table_key].append(table)
            self._bytes += table.nbytes
        # The rows of a merge are looked up by their piece, so they stay together.
        if self._bytes > _PART_BYTES and self._load.mode != "merge":
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
        name = self._load.facets_name(self._ordinal, self._parts_kept)
        self._load.buckets.keep(self._scratch, name, "i", facets)
        self._parts.clear()
        self._bytes = 0
        self._parts_kept += 1

    def _keep(self, entity: EntityType, rows: pa.Table) -> tuple[PieceTable, pa.Table]:
        load, table_key = self._load, entity.table_key
        given = rows["id"].combine_chunks()
        filled = fill_missing_ids(given)
        looks = looks_for_meaning(entity, load.mode)
        if not looks:
            rows = rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), filled)
        keys = incoming_keys(entity, rows, minted=filled if looks else None, newest_by=load.newest_by)
        self._scratch.write_table(load.keys_name(self._ordinal, self._parts_kept, entity), keys)
        fragments: tuple[str, ...] = ()
        if load.mode == "merge":
            self._scratch.write_table(load.rows_name(self._ordinal, entity), rows)
        else:
            content = rows.select(content_schema(entity).names)
            fragments = load.places[table_key].write_rows(self._scratch.store, content)
        kept = PieceTable(
            table_key=table_key,
            part=self._parts_kept,
            rows=rows.num_rows,
            ids_given=len(given) - given.null_count,
            fragments=fragments,
        )
        return kept, keys
