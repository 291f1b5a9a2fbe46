"""What a worker does with one piece of input: parse it, give ids, write data files, keep the key columns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.pipeline.load.bulk.buckets import Facet, Side, incoming_facets, keep_facets
from omnigraph.pipeline.load.bulk.keys import incoming_keys
from omnigraph.pipeline.load.bulk.lookups import EdgesFound, LookedUp, find_meant, look_up
from omnigraph.pipeline.load.bulk.pieces import InputPiece, NumberedPiece
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.minting import fill_missing_ids
from omnigraph.records.offences import OffenceCollector, Offences
from omnigraph.records.parse import ParsedChunk
from omnigraph.records.tables import content_schema
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.tables import Table
from omnigraph.storage.worker_files import ScratchPlace, TablePlace
from omnigraph.writes.exchange.cutting import Buckets
from omnigraph.writes.exchange.removing import KeptRemoved

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
    looks_up: bool = False
    """Whether workers look up what has to be known of stored rows (`lookups.py`)."""
    scans_much: bool = False
    """Whether a look-up goes through many rows that no index covers, so that pieces should be few and large."""
    folder_by_piece: Mapping[int, str] = field(default_factory=dict)
    """Where in the scratch the files of a piece are: the folder of the attempt that counts."""
    newest_by: str | None = None
    """The property that tells which of several records with one id counts (`newest.py`)."""

    @property
    def scratch(self) -> ScratchPlace:
        """Where workers keep what the load needs besides the graph."""
        return ScratchPlace(uri=self.uri, operation_id=self.operation_id)

    def rows_name(self, ordinal: int, entity: EntityType) -> str:
        """Name the rows of a type in a piece."""
        return f"{self.folder(ordinal)}rows-{entity.kind}-{entity.type_id}-{ordinal}"

    def keys_name(self, ordinal: int, part: int, entity: EntityType) -> str:
        """Name the key columns of a type in a part of a piece."""
        return f"{self.folder(ordinal)}keys-{entity.kind}-{entity.type_id}-{ordinal}-{part}"

    def ids_name(self, ordinal: int, part: int, entity: EntityType) -> str:
        """Name the ids that records of a type in a part of a piece will have, if some gave none and looked for it."""
        return f"{self.folder(ordinal)}ids-{entity.kind}-{entity.type_id}-{ordinal}-{part}"

    def facets_name(self, ordinal: int, part: int) -> str:
        """Name the facets of all types in a part of a piece."""
        return f"{self.folder(ordinal)}facets-{ordinal}-{part}"

    def met_name(self, ordinal: int, part: int) -> str:
        """Name what a part of a piece met among stored rows that all parts together must know."""
        return f"{self.folder(ordinal)}met-{ordinal}-{part}"

    def held_name(self, ordinal: int) -> str:
        """Name the rows of all types in a piece that waits."""
        return f"{self.folder(ordinal)}held-{ordinal}"

    def folder(self, ordinal: int) -> str:
        """Return where the files of a piece are."""
        return self.folder_by_piece[ordinal]


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTable:
    """What a part of a piece holds of one type."""

    table_key: TableKey
    part: int
    rows: int
    ids_given: int
    """How many of the records named themselves."""
    fragments: tuple[str, ...] = ()
    """The data files that are written; in a merge those of changed rows, if somebody knows what is stored."""
    removed: KeptRemoved | None = None
    """In a merge, the stored rows that have a successor in the data files, if there are any and somebody looked."""
    suspects: int | None = None
    """How many rows met a stored one that they must not meet; None if nobody looked."""
    has_met: bool = False
    """Whether something was kept that this part met among stored rows (`lookups.py`)."""
    edges_found: tuple[EdgesFound, ...] = ()
    """In an overwrite of nodes, how many stored edges have one of these at an end."""

    @property
    def lacks_ids(self) -> bool:
        """Whether some of the records did not name themselves."""
        return self.ids_given < self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceOutcome:
    """What became of a piece; one with findings has no tables. Findings name the piece and its own lines."""

    ordinal: int
    lines: int
    findings: Offences
    tables: tuple[PieceTable, ...] = field(default=())
    folder: str = ""
    """Where in the scratch this attempt kept its files."""
    held_bytes: int = 0
    """How large the rows are that wait as they are (`held.py`); 0 if everything was done that can be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecesRead:
    """All input of a load as workers have kept it."""

    load: LoadTask
    pieces: tuple[NumberedPiece, ...]
    outcomes: tuple[PieceOutcome, ...]

    @classmethod
    def of(cls, load: LoadTask, pieces: Iterable[NumberedPiece], outcomes: Iterable[PieceOutcome]) -> "PiecesRead":
        """Put what workers returned into the order of the input."""
        in_order = sorted(outcomes, key=lambda outcome: outcome.ordinal)
        folders = {outcome.ordinal: outcome.folder for outcome in in_order}
        return cls(load=replace(load, folder_by_piece=folders), pieces=tuple(pieces), outcomes=tuple(in_order))


def read_piece(load: LoadTask, piece: InputPiece) -> PieceOutcome:
    """Parse one piece against the schema; write what a load of this mode can write without looking at the graph."""
    scratch = load.scratch.open()
    chunks = piece.parse(load.catalog, scratch, max_errors=load.max_errors)
    return keep_piece(load, scratch, piece.ordinal, chunks, folder=new_folder())


def new_folder() -> str:
    """Return a folder for one attempt: the ids that two of them mint differ, and only one of them counts."""
    return f"{ids.new_ulid()}/"


def keep_piece(
    load: LoadTask, scratch: Scratch, ordinal: int, chunks: Iterable[ParsedChunk], *, folder: str, waits: bool = False
) -> PieceOutcome:
    """Keep the records of one piece, unless one of them is wrong; those of a piece that waits just as they are."""
    load = replace(load, folder_by_piece={ordinal: folder})
    keeper = _Holder(load, scratch, ordinal) if waits else _Keeper(load, scratch, ordinal)
    findings = OffenceCollector(limit=load.max_errors)
    lines = 0
    for parsed in chunks:
        lines += parsed.line_count
        findings.include(parsed.findings)
        if findings:
            keeper.forget()  # nothing will be loaded; the rest is read to count what is wrong
        else:
            keeper.add(parsed.tables)
    tables = () if findings else keeper.finish()
    return PieceOutcome(
        ordinal=ordinal,
        lines=lines,
        findings=findings.result(),
        tables=tables,
        folder=folder,
        held_bytes=keeper.held_bytes if tables else 0,
    )


def looks_for_meaning(entity: EntityType, mode: LoadMode) -> bool:
    """Whether records of this type that give no id look for the stored edge they mean."""
    return mode == "merge" and isinstance(entity, EdgeType)


class _Holder:
    """Takes the rows of a small piece as they are parsed, and keeps them in one file until somebody asks for them."""

    def __init__(self, load: LoadTask, scratch: Scratch, ordinal: int) -> None:
        self._scratch = scratch
        self._name = load.held_name(ordinal)
        self._parts: dict[TableKey, list[pa.Table]] = defaultdict(list)
        self.held_bytes = 0

    def add(self, tables: Mapping[TableKey, pa.Table]) -> None:
        for table_key, table in tables.items():
            self._parts[table_key].append(table)

    def forget(self) -> None:
        self._parts.clear()

    def finish(self) -> tuple[PieceTable, ...]:
        tables = {key: pa.concat_tables(parts) for key, parts in sorted(self._parts.items())}
        if tables:
            self._scratch.write_tables(self._name, {str(key): rows for key, rows in tables.items()})
        self.held_bytes = sum(rows.nbytes for rows in tables.values())
        return tuple(
            PieceTable(table_key=key, part=0, rows=len(rows), ids_given=len(rows) - rows["id"].null_count)
            for key, rows in tables.items()
        )


class _Keeper:
    """Takes the rows of a piece as they are parsed, and writes them whenever there are enough for good data files."""

    held_bytes = 0

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
        facets: list[tuple[Side, Facet, pa.Table]] = []
        met: list[tuple[Side, Facet, pa.Table]] = []
        for table_key in sorted(self._parts):
            entity = self._load.catalog.type_by_table_key[table_key]
            kept, keys, looked = self._keep(entity, pa.concat_tables(self._parts[table_key]))
            self._kept.append(kept)
            met += looked.met if looked is not None else ()
            # Ids that were all minted meet nothing; those that were found may.
            has_ids = kept.ids_given > 0 or (looked is not None and looks_for_meaning(entity, self._load.mode))
            facets += [("i", facet, keys) for facet in incoming_facets(entity, self._load.mode, has_ids=has_ids)]
        keep_facets(self._load.buckets, self._scratch, self._load.facets_name(self._ordinal, self._parts_kept), facets)
        if met:
            keep_facets(self._load.buckets, self._scratch, self._load.met_name(self._ordinal, self._parts_kept), met)
        self._parts.clear()
        self._bytes = 0
        self._parts_kept += 1

    def _keep(self, entity: EntityType, rows: pa.Table) -> tuple[PieceTable, pa.Table, LookedUp | None]:
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
        known = given
        if load.looks_up and given.null_count and isinstance(entity, EdgeType) and looks:
            meant = self._find_meant(entity, rows, minted=filled)
            keys = keys.set_column(keys.schema.get_field_index("id"), keys.schema.field("id"), meant)
            known = meant.filter(pc.invert(pc.and_(pc.is_null(given), pc.equal(meant, filled))))
        looked = self._look_up(entity, rows, keys, known=known) if load.looks_up else None
        kept = PieceTable(
            table_key=table_key,
            part=self._parts_kept,
            rows=rows.num_rows,
            ids_given=len(given) - given.null_count,
            fragments=fragments,
            suspects=looked.suspects if looked is not None else None,
            has_met=looked is not None and bool(looked.met),
            edges_found=looked.edges_found if looked is not None else (),
        )
        return kept, keys, looked

    def _find_meant(self, edge: EdgeType, rows: pa.Table, *, minted: pa.Array) -> pa.Array:
        """Find the stored edges that records without an id mean, and write down which id every record will have."""
        meant = find_meant(self._open(edge.table_key), edge, rows, minted=minted)
        self._scratch.write_table(self._load.ids_name(self._ordinal, self._parts_kept, edge), pa.table({"id": meant}))
        return meant

    def _look_up(self, entity: EntityType, rows: pa.Table, keys: pa.Table, *, known: pa.Array) -> LookedUp:
        return look_up(self._open, self._load.catalog, self._load.mode, entity, rows, keys, known=known)

    def _open(self, table_key: TableKey) -> Table:
        return self._load.places[table_key].open(self._scratch.store)
