"""A bulk load as the write protocol sees it.

Pieces are read once; everything that depends on the graph is worked out again for every capture. Data files of an
append or an overwrite stay good when the head moves, because they belong to the table and not to one of its versions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.engine.interface import Engine, Produced
from omnigraph.errors import ReadSetConflict
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitKind
from omnigraph.pipeline.load.bulk.checks import LoadCheck
from omnigraph.pipeline.load.bulk.keys import KeyFile, incoming_schema, read_keys
from omnigraph.pipeline.load.bulk.lookups import asked_tables, left_alone
from omnigraph.pipeline.load.bulk.pieces import InputPiece, LineNumbers, NumberedPiece
from omnigraph.pipeline.load.bulk.reading import (
    LoadTask,
    PieceOutcome,
    PiecesRead,
    looks_for_meaning,
    read_piece,
)
from omnigraph.pipeline.load.bulk.rewriting import rewrite_changed
from omnigraph.pipeline.load.bulk.screening import Screening
from omnigraph.pipeline.load.bulk.suspects import count_all_suspects
from omnigraph.pipeline.load.bulk.views import IncomingKeys, Views
from omnigraph.pipeline.load.sources import READING_INPUT
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.offences import OffenceCollector
from omnigraph.records.report import rejected
from omnigraph.storage.worker_files import TablePlace
from omnigraph.writes.chains import prepare_written
from omnigraph.writes.constraints.keys import StoredFragments, stored_fragments, stored_keys
from omnigraph.writes.exchange.cutting import Buckets
from omnigraph.writes.exchange.removing import KeptRemoved, remove_kept
from omnigraph.writes.prepared import PreparedTable, PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind


def table_places(capture: Capture) -> dict[TableKey, TablePlace]:
    """Return where workers read and write every table of a captured branch."""
    return {key: capture.place(key) for key in capture.snapshot.pins}


def stored_rows(capture: Capture) -> int:
    """Return how many rows a captured branch holds, as far as checks may have to look at them."""
    return sum(pin.row_count for pin in capture.snapshot.pins.values())


def load_task(capture: Capture, operation_id: str, *, mode: LoadMode, max_errors: int, buckets: Buckets) -> LoadTask:
    """Return what the workers of a load into a captured branch need to know."""
    return LoadTask(
        uri=capture.context.store.uri,
        operation_id=operation_id,
        catalog=capture.input_catalog,
        places=table_places(capture),
        mode=mode,
        max_errors=max_errors,
        buckets=buckets,
    )


def read_pieces(engine: Engine, load: LoadTask, pieces: Sequence[InputPiece], events: Events) -> PiecesRead:
    """Have workers read all pieces."""
    weights = [piece.stored_bytes for piece in pieces]
    with phase(events, READING_INPUT, total=sum(weights), unit="bytes") as reading:
        outcomes = engine.map(partial(read_piece, load), pieces, weights=weights, watch=reading.reach)
        return PiecesRead.of(load, pieces, outcomes)


def placed(kept: PiecesRead) -> LineNumbers:
    """Find out where the records of pieces stand; raise with every bad record counted and the first few shown."""
    places = LineNumbers(kept.pieces, {outcome.ordinal: outcome.lines for outcome in kept.outcomes})
    findings = OffenceCollector(limit=kept.load.max_errors)
    for outcome in kept.outcomes:
        findings.include(outcome.findings)
    if findings:
        raise rejected(places.located(findings.result()), files=file_names(kept.pieces))
    return places


@dataclass(frozen=True, slots=True)
class _Change:
    """The data files that a table gets, and where it is written down which rows they replace."""

    fragments: list[str] = field(default_factory=list)
    removed: list[KeptRemoved] = field(default_factory=list)

    def add(self, fragments: Iterable[str], removed: KeptRemoved | None) -> None:
        """Add what one part changes."""
        self.fragments.extend(fragments)
        if removed is not None:
            self.removed.append(removed)


@dataclass(kw_only=True)
class BulkLoadWriter:
    """The description of a bulk load for the write protocol."""

    engine: Engine
    events: Events
    load: LoadTask
    pieces: Sequence[NumberedPiece]
    places: LineNumbers
    outcomes: Sequence[PieceOutcome]
    ir_hash: str
    seen_head: str
    """The head when the load began, before it read its input: what an overwrite is about to replace."""
    branch: str
    actor_id: str | None
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.LOAD
    commit_kind: CommitKind = CommitKind.LOAD
    rows_loaded: dict[TableKey, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        engine: Engine,
        kept: PiecesRead,
        *,
        ir_hash: str,
        seen_head: str,
        branch: str,
        actor_id: str | None,
        events: Events,
    ) -> "BulkLoadWriter":
        """Describe a load of kept pieces; raise with every bad record counted and the first few shown."""
        return cls(
            engine=engine,
            events=events,
            load=kept.load,
            pieces=kept.pieces,
            places=placed(kept),
            outcomes=kept.outcomes,
            ir_hash=ir_hash,
            seen_head=seen_head,
            branch=branch,
            actor_id=actor_id,
        )

    @property
    def has_records(self) -> bool:
        """Whether there is anything to write."""
        return any(outcome.tables for outcome in self.outcomes)

    @property
    def is_strict(self) -> bool:
        """An overwrite replaces what the caller has seen; the other modes mean the same on any head."""
        return self.load.mode == "overwrite"

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Check the outcome against one capture and plan its transactions."""
        capture.expect(ir_hash=self.ir_hash, head=self.seen_head if self.is_strict else None)
        load = replace(self.load, places=self._current_places(capture))
        is_looked_up = self._is_looked_up(load)
        check = LoadCheck(
            engine=self.engine,
            catalog=load.catalog,
            mode=load.mode,
            incoming=self._incoming(),
            stored=lambda entity: self._stored(capture, load, entity),
            screen=lambda screening: self._suspects(capture, load, screening),
            spell_place=self.places.spell,
            is_looked_up=is_looked_up,
            is_stale=load.looks_up and not is_looked_up,
        )
        findings = OffenceCollector(limit=load.max_errors)
        with phase(self.events, "checking"):
            is_right = check.finds_nothing_suspicious()
            counts = check.row_counts() if is_right else check.find(findings)
        self.rows_loaded = dict(counts)
        if findings:
            raise rejected(self.places.located(findings.result()), files=file_names(self.pieces))
        # Workers wrote what a merge changes by what each of them knew: right if no record of another part matters.
        is_written = load.mode != "merge" or (is_looked_up and is_right)
        changes = self._written() if is_written else self._merged(load, check.views(counts))
        with phase(self.events, "preparing the commit", total=len(changes), unit="tables") as preparing:
            tables = tuple(self._prepared(capture, load, changes, identity, preparing.advance))
        metadata = {"mode": load.mode, "rows_loaded": dict(self.rows_loaded)}
        return PreparedWrite(tables=tables, metadata=metadata) if tables else None

    def _current_places(self, capture: Capture) -> Mapping[TableKey, TablePlace]:
        """Return the places of this capture; files that were written for others would not be found there."""
        current = table_places(capture)
        moved = [key for key, place in self.load.places.items() if current[key].target != place.target]
        if moved:
            raise ReadSetConflict(
                f"stale view of branch '{self.branch}': its tables moved while this load was being prepared — "
                "refresh and retry",
                member="table_location",
                expected=self.load.places[moved[0]].target.path,
                actual=current[moved[0]].target.path,
            )
        return current

    def _incoming(self) -> dict[TableKey, IncomingKeys]:
        load = self.load
        files: dict[TableKey, list[KeyFile]] = defaultdict(list)
        rows: dict[TableKey, int] = defaultdict(int)
        given: dict[TableKey, int] = defaultdict(int)
        for outcome in self.outcomes:
            for table in outcome.tables:
                name = load.keys_name(outcome.ordinal, table.part, load.catalog.type_by_table_key[table.table_key])
                files[table.table_key].append(KeyFile(scratch=load.scratch, name=name))
                rows[table.table_key] += table.rows
                given[table.table_key] += table.ids_given
        incoming = {}
        for key, tasks in sorted(files.items()):
            entity = load.catalog.type_by_table_key[key]
            has_meaning = looks_for_meaning(entity, load.mode)
            schema = incoming_schema(entity, has_meaning=has_meaning, newest_by=load.newest_by)
            relation = Produced(schema=schema, read=read_keys, tasks=tuple(tasks), rows=rows[key])
            incoming[key] = IncomingKeys(entity=entity, relation=relation, rows=rows[key], ids_given=given[key])
        return incoming

    def _is_looked_up(self, load: LoadTask) -> bool:
        """Whether workers looked up what must be known of stored rows, met nothing bad, and it is as it was."""
        types = self.load.catalog.type_by_table_key
        asked = {key for found in self._types() for key in asked_tables(load.catalog, types[found], load.mode)}
        return all(table.suspects == 0 for outcome in self.outcomes for table in outcome.tables) and all(
            load.places[key] == self.load.places[key] for key in asked
        )

    def _suspects(self, capture: Capture, load: LoadTask, screening: Screening) -> int:
        parts = [(outcome.ordinal, table) for outcome in self.outcomes for table in outcome.tables]
        kept = {load.facets_name(ordinal, table.part) for ordinal, table in parts}
        kept |= {load.met_name(ordinal, table.part) for ordinal, table in parts if table.has_met}
        found = [edges for _, table in parts for edges in table.edges_found if edges.table_key not in self._types()]
        lost = left_alone(found, lambda key: capture.table(key).count_rows()) if screening.is_looked_up else 0
        return lost + count_all_suspects(
            self.engine,
            load,
            screening,
            incoming=sorted(kept),
            stored=lambda key: self._fragments(capture, load, load.catalog.type_by_table_key[key], has_content=False),
            incoming_rows=sum(table.rows for outcome in self.outcomes for table in outcome.tables),
            edges_going=sum(capture.table(edge.table_key).count_rows() for edge in screening.edges_to_name_again),
            events=self.events,
        )

    def _stored(self, capture: Capture, load: LoadTask, entity: EntityType) -> Produced:
        has_content = looks_for_meaning(entity, load.mode) and entity.table_key in self._types()
        tasks = self._fragments(capture, load, entity, has_content=has_content)
        return stored_keys(tasks, entity, has_content=has_content)

    def _fragments(
        self, capture: Capture, load: LoadTask, entity: EntityType, *, has_content: bool
    ) -> tuple[StoredFragments, ...]:
        return stored_fragments(
            capture.table(entity.table_key),
            entity,
            uri=load.uri,
            operation_id=load.operation_id,
            place=load.places[entity.table_key],
            has_content=has_content,
        )

    def _types(self) -> set[TableKey]:
        return {table.table_key for outcome in self.outcomes for table in outcome.tables}

    def _prepared(
        self,
        capture: Capture,
        load: LoadTask,
        changes: Mapping[TableKey, _Change],
        identity: WriteIdentity,
        advance: Callable[[], None],
    ) -> Iterator[PreparedTable]:
        kept = {key: change.removed for key, change in changes.items()}
        removed = remove_kept(self.engine, capture, load.operation_id, kept)
        for key, change in sorted(changes.items()):
            yield prepare_written(
                capture,
                identity,
                key,
                change.fragments,
                replacing=table_schema(load.catalog.type_by_table_key[key]) if load.mode == "overwrite" else None,
                removed=removed.get(key),
            )
            advance()

    def _written(self) -> dict[TableKey, _Change]:
        """Return what workers wrote for each table while they read."""
        changes: dict[TableKey, _Change] = defaultdict(_Change)
        for table in (table for outcome in self.outcomes for table in outcome.tables):
            if table.fragments:
                changes[table.table_key].add(table.fragments, table.removed)
        return changes

    def _merged(self, load: LoadTask, views: Views) -> dict[TableKey, _Change]:
        """Have workers write what a merge changes, now that it is known what is stored."""
        changes: dict[TableKey, _Change] = defaultdict(_Change)
        entities = [load.catalog.type_by_table_key[key] for key in sorted(self._types())]
        with phase(self.events, "merging", total=sum(self.rows_loaded.values()), unit="rows") as merging:
            for part in rewrite_changed(self.engine, views, load, entities, watch=merging.reach):
                if part.fragments:
                    changes[part.table_key].add(part.fragments, part.removed)
        return changes


def file_names(pieces: Iterable[NumberedPiece]) -> list[str]:
    """Return what the files of pieces are called, in their order."""
    return list({piece.file.index: piece.file.name for piece in pieces}.values())
