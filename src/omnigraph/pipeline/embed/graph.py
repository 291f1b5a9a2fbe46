"""Embedding a graph's rows: the `@embed` vectors that are pending, filled from their source texts as one commit.

Vectors are fetched while the write is prepared, before any gate. If the branch moves meanwhile, the write is prepared
again and every text that has its vector already keeps it.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import ids
from omnigraph.base.endings import tell
from omnigraph.base.events import EngineChosen, Events, Warned, phase
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import NodeType, TableKey
from omnigraph.engine.choice import EngineName, Work
from omnigraph.engine.opening import close_at_end, decide, open_engine
from omnigraph.graphs.capture import Capture, capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import CommitKind, check_actor, check_message
from omnigraph.pipeline.embed.blocks import pending_texts
from omnigraph.pipeline.embed.request import EmbedRequest
from omnigraph.pipeline.embed.result import EmbedMode, EmbedResult
from omnigraph.pipeline.embed.targets import Target, find_targets
from omnigraph.pipeline.embed.workers import EMBEDDING, WorkersEmbedWriter
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.embedder import embed_texts
from omnigraph.providers.vectors import vector_column
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.aftermath import says_what_is_published
from omnigraph.writes.delta import TableDelta, delta_rows, empty_reference, prepare_tables, without_unchanged
from omnigraph.writes.prepared import PreparedWrite, WriteIdentity
from omnigraph.writes.protocol import run_write
from omnigraph.writes.sidecar import SidecarKind

_TEXTS_AT_ONCE = 4_096


@says_what_is_published
def run_embed(context: GraphContext, request: EmbedRequest, *, events: Events) -> EmbedResult:
    """Fill the pending vectors of the chosen types (all, if none is named), or raise and change nothing.

    With `reembed_all`, vectors that exist are made again too.
    """
    config = request.config
    check_actor(request.actor)
    check_message(request.message)
    capture = capture_branch(context, request.branch)
    targets = find_targets(capture.catalog, request.types)
    for warning in config.warnings:
        events(Warned(message=warning))
    for target in targets:
        config.require_model(target.embed.model, where=target.spelled)
    with ExitStack() as ending:
        writer, engine, reason = _writer(capture, targets, ending, request, events)
        commit = run_write(context, writer, events, message=request.message)
    if engine is None:
        engine, reason = "local", f"{counted(writer.embedded, 'text')}, {config.provider} provider"
        tell(events, EngineChosen(engine=engine, reason=reason))
    dimensions = {target.dimension for target in targets}
    return EmbedResult(
        input=context.store.uri,
        output=context.store.uri,
        records=sum(capture.snapshot.pins[key].row_count for key in {target.node.table_key for target in targets}),
        selected_records=writer.embedded,
        embedded_records=writer.embedded,
        cleaned_records=0,
        mode=EmbedMode.REEMBED_ALL if request.reembed_all else EmbedMode.FILL_MISSING,
        dimension=dimensions.pop() if len(dimensions) == 1 else None,
        model=config.model,
        engine=engine,
        engine_reason=reason,
        is_graph=True,
        commit=commit,
    )


def _writer(
    capture: Capture,
    targets: tuple[Target, ...],
    ending: ExitStack,
    request: EmbedRequest,
    events: Events,
) -> "tuple[EmbedWriter | WorkersEmbedWriter, str | None, str]":
    """Describe the run for this process, or for the workers of the engine that its size or somebody asks for."""
    context, config, choice = capture.context, request.config, request.engine
    ir_hash, branch = capture.snapshot.schema.ir_hash, capture.snapshot.branch
    pending = None
    if choice.engine is not EngineName.LOCAL:
        pending = pending_texts(capture, targets, reembed_all=request.reembed_all)
    if pending and decide(choice, Work.EMBED, pending.bytes).engine is EngineName.SPARK:
        engine, reason = open_engine(
            choice,
            Work.EMBED,
            pending.bytes,
            local=context.engine,
            worker_environment={**context.store.settings.environment, **config.key_environment()},
            events=events,
        )
        if engine is not context.engine:
            scratch = Scratch(context.store, ids.new_ulid())
            ending.callback(scratch.clear_at_end, events)
            ending.callback(close_at_end, engine, events)
            return (
                WorkersEmbedWriter(
                    engine=engine,
                    operation_id=scratch.operation_id,
                    targets=targets,
                    config=config,
                    reembed_all=request.reembed_all,
                    ir_hash=ir_hash,
                    branch=branch,
                    actor_id=request.actor,
                    events=events,
                ),
                engine.name,
                reason,
            )
    texts = EmbeddedTexts(config=config, events=events)
    in_process = EmbedWriter(
        targets=targets,
        texts=texts,
        reembed_all=request.reembed_all,
        ir_hash=ir_hash,
        branch=branch,
        actor_id=request.actor,
    )
    return in_process, None, ""


@dataclass(kw_only=True)
class EmbeddedTexts:
    """The vectors of texts; each text is sent once, however often it occurs or is asked for again."""

    config: EmbedConfig
    events: Events
    _place_by_text: dict[int, dict[str, int]] = field(default_factory=dict)
    _parts: dict[int, list[pa.Array]] = field(default_factory=dict)

    def vectors(self, texts: Sequence[str], target: Target) -> pa.Array:
        """Return one vector per text."""
        dimension = target.dimension
        places = self._place_by_text.setdefault(dimension, {})
        parts = self._parts.setdefault(dimension, [vector_column([], dimension)])
        missing = [text for text in dict.fromkeys(texts) if text not in places]
        with phase(self.events, f"{EMBEDDING} {target.spelled}", total=len(missing), unit="texts") as embedding:
            for start in range(0, len(missing), _TEXTS_AT_ONCE):
                portion = missing[start : start + _TEXTS_AT_ONCE]
                parts.append(embed_texts(self.config, portion, dimension=dimension, advance=embedding.advance))
                for text in portion:
                    places[text] = len(places)
        return pa.concat_arrays(parts).take(pa.array([places[text] for text in texts], pa.int64()))


@dataclass(kw_only=True)
class EmbedWriter:
    """The description of an embed run for the write protocol."""

    targets: Sequence[Target]
    texts: EmbeddedTexts
    reembed_all: bool
    ir_hash: str
    branch: str
    actor_id: str | None
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.EMBED
    commit_kind: CommitKind = CommitKind.EMBED
    embedded: int = 0

    @property
    def is_strict(self) -> bool:
        """A vector belongs to its text whatever else has happened, so a moved head is no error."""
        return False

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Fetch the vectors that are missing in the captured state and stage the rows that get one.

        No set check: a vector is part of no key, constraint or endpoint.
        """
        capture.expect(ir_hash=self.ir_hash)
        self.embedded = 0
        nodes: Mapping[TableKey, NodeType] = {target.node.table_key: target.node for target in self.targets}
        deltas = {key: delta for key, node in nodes.items() if (delta := self._delta(capture, node)) is not None}
        tables = prepare_tables(capture, deltas, identity)
        return PreparedWrite(tables=tables) if tables else None

    def _delta(self, capture: Capture, node: NodeType) -> TableDelta | None:
        found = {target.name: self._found(capture, target) for target in self.targets if target.node == node}
        ids = pa.concat_arrays([vectors["id"].combine_chunks() for vectors in found.values()]).unique()
        if len(ids) == 0:
            return None
        rows = capture.table(node.table_key).lookup("id", ids, capture.table(node.table_key).schema.names)
        shape = empty_reference(node).schema
        matched = rows.select(shape.names).cast(shape)
        rows = rows.drop_columns([ROW_ID, ROW_ADDRESS])
        for name, vectors in found.items():
            rows = _with_vectors(rows, name, vectors)
        delta = TableDelta(entity=node, upserts=delta_rows(node, rows), matched=matched, removed=empty_reference(node))
        # A pending vector becomes one, so only vectors that were made again can be what they were.
        return without_unchanged(capture, delta) if self.reembed_all else delta

    def _found(self, capture: Capture, target: Target) -> pa.Table:
        """Return the ids of the rows that get a vector, each with it."""
        where = target.wanted(reembed_all=self.reembed_all)
        rows = capture.table(target.node.table_key).read(["id", target.embed.source], where=where)
        texts = rows[target.embed.source].combine_chunks()
        says_something = pc.not_equal(pc.utf8_trim_whitespace(texts), "")
        texts = texts.filter(says_something)
        self.embedded += len(texts)
        return pa.table(
            {
                "id": rows["id"].combine_chunks().filter(says_something),
                "vector": self.texts.vectors(texts.to_pylist(), target),
            }
        )


def _with_vectors(rows: pa.Table, name: str, vectors: pa.Table) -> pa.Table:
    """Set a vector property where there is a new vector, and leave it as it is elsewhere."""
    at = pc.index_in(rows["id"].combine_chunks(), value_set=vectors["id"].combine_chunks())
    new = vectors["vector"].combine_chunks().take(at).cast(rows.schema.field(name).type)
    column = pc.if_else(pc.is_valid(at), new, rows[name].combine_chunks())
    return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
