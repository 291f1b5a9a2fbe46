"""Embedding a graph on workers: each reads its fragments, asks the provider and writes the rows that get a vector.

Texts and vectors never pass through the driver. What a worker has paid for is kept in the scratch of the run under a
name made of the texts, so that neither a repeated task nor a write that is prepared again asks for it twice.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import work
from omnigraph.base.events import Events, phase
from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import NodeType, TableKey
from omnigraph.engine.interface import Engine
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitKind
from omnigraph.pipeline.embed.blocks import by_block, fragments_of, pending_texts, rows_in
from omnigraph.pipeline.embed.targets import Target
from omnigraph.pipeline.load.bulk.rewriting import Rewritten
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.embedder import embed_texts
from omnigraph.records.contents import equal_ids
from omnigraph.records.tables import content_schema
from omnigraph.storage.deletions import RemovedRows
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table
from omnigraph.storage.worker_files import TablePlace, worker_store
from omnigraph.writes.chains import prepare_written
from omnigraph.writes.delta import rows_without
from omnigraph.writes.exchange.removing import keep_removed, remove_kept
from omnigraph.writes.prepared import PreparedTable, PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind

EMBEDDING = "embedding"
"""What the phase is called in which texts become vectors, wherever that happens."""
_WRITE_BYTES = 64 << 20
"""How much a worker holds before it becomes a data file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedTask:
    """Some blocks of one table, for one worker; the key is not among what travels."""

    uri: str
    operation_id: str
    node: NodeType
    targets: tuple[Target, ...]
    place: TablePlace
    blocks: tuple[int, ...]
    """In order; no other worker has one that lies between them."""
    reembed_all: bool
    config: EmbedConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsEmbedded:
    """What a worker wrote."""

    embedded: int
    rewritten: Rewritten


def embed_tables(tasks: tuple[EmbedTask, ...]) -> tuple[RowsEmbedded, ...]:
    """Do what one worker has to do, one table after the other."""
    return tuple(map(embed_rows, tasks))


def embed_rows(task: EmbedTask) -> RowsEmbedded:
    """Fill the pending vectors of some blocks and write the rows that got one."""
    store = worker_store(task.uri, task.operation_id)
    table = task.place.open(store)
    provider = _KeptVectors(scratch=Scratch(store, task.operation_id), config=task.config.with_key_from(os.environ))
    fragments: list[str] = []
    removed = [pa.array([], pa.uint64())]
    for rows in _portions(_changed_rows(table, task, provider)):
        contents = rows.drop_columns([ROW_ID, ROW_ADDRESS])
        fragments += task.place.write_rows(store, contents, row_ids=rows[ROW_ID].combine_chunks())
        removed.append(rows[ROW_ADDRESS].combine_chunks())
    gone = pa.concat_arrays(removed)
    kept = keep_removed(provider.scratch, task.node, gone) if len(gone) else None
    rewritten = Rewritten(table_key=task.node.table_key, fragments=tuple(fragments), removed=kept)
    return RowsEmbedded(embedded=provider.given, rewritten=rewritten)


def _changed_rows(table: Table, task: EmbedTask, provider: "_KeptVectors") -> Iterator[pa.Table]:
    names = content_schema(task.node).names
    wanted = " OR ".join(f"({target.wanted(reembed_all=task.reembed_all)})" for target in task.targets)
    scan = table.scan(
        names,
        where=f"({wanted}) AND {rows_in(task.blocks)}",
        with_row_ids=True,
        with_row_addresses=True,
        fragment_ids=fragments_of(task.blocks),
    )
    for before in by_block(scan):
        after = before
        for target in task.targets:
            after = provider.fill(after, target, reembed_all=task.reembed_all)
        yield rows_without(after, equal_ids(after.select(names), before.select(names)))


def _portions(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Put rows together until they are worth a data file."""
    with_rows = (part for part in parts if part.num_rows)
    return map(pa.concat_tables, grouped(with_rows, (attrgetter("nbytes"), _WRITE_BYTES)))


@dataclass(kw_only=True)
class _KeptVectors:
    """Vectors of texts, asked for once."""

    scratch: Scratch
    config: EmbedConfig
    given: int = 0

    def fill(self, rows: pa.Table, target: Target, *, reembed_all: bool) -> pa.Table:
        """Set the pending vectors of one property."""
        texts, old = rows[target.embed.source].combine_chunks(), rows[target.name].combine_chunks()
        wants = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(texts), ""), fill_value=False)
        if not reembed_all:
            wants = pc.and_(wants, pc.is_null(old))
        asked = texts.filter(wants)
        if len(asked) == 0:
            return rows
        self.given += len(asked)
        asked_bytes = pc.sum(pc.binary_length(asked)).as_py()
        distinct = asked.unique()
        vectors = self._vectors(distinct, target.dimension)
        work.did(asked_bytes)
        at = pc.index_in(texts, value_set=distinct)
        new = vectors.take(pc.if_else(wants, at, pa.scalar(None, at.type))).cast(old.type)
        column = pc.if_else(wants, new, old)
        return rows.set_column(rows.schema.get_field_index(target.name), rows.schema.field(target.name), column)

    def _vectors(self, texts: pa.Array, dimension: int) -> pa.Array:
        spelled = texts.to_pylist()
        digest = hashlib.blake2b(repr((dimension, spelled)).encode(), digest_size=16).hexdigest()
        name = f"vectors-{digest}"
        kept = self.scratch.find_table(name)
        if kept is None:
            kept = pa.table({"vector": embed_texts(self.config, spelled, dimension=dimension)})
            self.scratch.write_table(name, kept)
        return kept["vector"].combine_chunks()


@dataclass(kw_only=True)
class WorkersEmbedWriter:
    """The description of an embed run on workers for the write protocol."""

    engine: Engine
    operation_id: str
    targets: tuple[Target, ...]
    config: EmbedConfig
    reembed_all: bool
    ir_hash: str
    branch: str
    actor_id: str | None
    events: Events
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.EMBED
    commit_kind: CommitKind = CommitKind.EMBED
    embedded: int = field(default=0)

    @property
    def is_strict(self) -> bool:
        """A vector belongs to its text whatever else has happened, so a moved head is no error."""
        return False

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Have workers fetch what is missing in the captured state, and plan the transactions of what they wrote."""
        capture.expect(ir_hash=self.ir_hash)
        with phase(self.events, "looking for texts"):
            tasks, weights = self._tasks(capture)
        with phase(self.events, EMBEDDING, total=sum(weights), unit="bytes") as embedding:
            outcomes = self.engine.map(embed_tables, tasks, weights=weights, watch=embedding.reach)
            done = [part for parts in outcomes for part in parts]
        self.embedded = sum(part.embedded for part in done)
        changed = [part.rewritten for part in done if part.rewritten.fragments]
        keys = sorted({part.table_key for part in changed})
        kept = {
            key: [part.removed for part in changed if part.table_key == key and part.removed is not None]
            for key in keys
        }
        removed = remove_kept(self.engine, capture, self.operation_id, kept)
        tables = tuple(_prepared(capture, identity, key, changed, removed.get(key)) for key in keys)
        return PreparedWrite(tables=tables) if tables else None

    def _tasks(self, capture: Capture) -> tuple[list[tuple[EmbedTask, ...]], list[int]]:
        """Give each worker about as much text as the others, and say how much that is.

        There are never more workers than requests at once.
        """
        pending = pending_texts(capture, self.targets, reembed_all=self.reembed_all)
        parts = [
            (key, block, size)
            for key, sizes in sorted(pending.bytes_by_block.items())
            for block, size in sorted(sizes.items())
        ]
        workers = min(self.engine.slots, self.config.requests_at_once, len(parts))
        share = pending.bytes / max(workers, 1)
        groups: dict[int, dict[TableKey, list[int]]] = defaultdict(lambda: defaultdict(list))
        weights: dict[int, int] = defaultdict(int)
        before = 0
        for key, block, size in parts:
            worker = min(int(before // max(share, 1)), workers - 1)
            groups[worker][key].append(block)
            weights[worker] += size
            before += size
        config = self.config.shared_by(max(len(groups), 1))
        tasks = [
            tuple(self._task(capture, key, blocks, config) for key, blocks in tables.items())
            for tables in groups.values()
        ]
        return tasks, list(weights.values())

    def _task(self, capture: Capture, key: TableKey, blocks: Sequence[int], config: EmbedConfig) -> EmbedTask:
        targets = tuple(target for target in self.targets if target.node.table_key == key)
        return EmbedTask(
            uri=capture.context.store.uri,
            operation_id=self.operation_id,
            node=targets[0].node,
            targets=targets,
            place=capture.place(key),
            blocks=tuple(blocks),
            reembed_all=self.reembed_all,
            config=config,
        )


def _prepared(
    capture: Capture, identity: WriteIdentity, key: TableKey, changed: Sequence[Rewritten], removed: RemovedRows | None
) -> PreparedTable:
    fragments = [fragment for part in changed if part.table_key == key for fragment in part.fragments]
    return prepare_written(capture, identity, key, fragments, removed=removed)
