"""Frames as input: rows that a cluster holds, kept by the workers that compute them.

Either an engine is at hand and one process runs the whole load (`FrameInput`), or whoever computes the frame calls back
in processes of its own: one begins, many keep a partition each, one commits (`FrameLoad`).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import field, replace

from omnigraph.base import faults, ids
from omnigraph.base.events import Events
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine, Watch
from omnigraph.errors import ConstraintViolation, KeyConflict
from omnigraph.graphs.capture import capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, check_actor, check_message
from omnigraph.pipeline.load.bulk.buckets import buckets_for
from omnigraph.pipeline.load.bulk.held import are_few, put_together, read_few
from omnigraph.pipeline.load.bulk.lookups import scans_much
from omnigraph.pipeline.load.bulk.partitions import (
    FRAME_NAME,
    FrameTask,
    PartitionOutcome,
    first_ordinal_behind,
    kept_frame,
    kept_frames,
)
from omnigraph.pipeline.load.bulk.reading import LoadTask, PiecesRead
from omnigraph.pipeline.load.bulk.set_aside import SetAside, write_down
from omnigraph.pipeline.load.bulk.writer import BulkLoadWriter, file_names, load_task, placed, stored_rows
from omnigraph.pipeline.load.inputs import HeldInput
from omnigraph.pipeline.load.newest import check_newest_by
from omnigraph.pipeline.load.once import OnceWriter, StreamBatch
from omnigraph.pipeline.load.refused import without_refused
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.pipeline.load.tables import ColumnMap
from omnigraph.pipeline.load.writer import IncomingTable, LoadWriter
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.storage.worker_files import shared_with_workers
from omnigraph.writes.protocol import run_write

_REFUSED_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFrame:
    """A frame as rows of one type."""

    type_name: str
    columns: ColumnMap
    names: tuple[str, ...]
    """What the frame's columns are called."""
    keep: Callable[[FrameTask, Watch], Iterable[PartitionOutcome]] = field(repr=False)
    """Hands every partition of the frame to `keep_partition`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameInput(HeldInput):
    """One frame or several of different types, and the engine whose workers compute them."""

    frames: tuple[TypedFrame, ...]
    engine: Engine

    def read(self, load: LoadTask, watch: Watch) -> PiecesRead:
        """Compute each frame once, and keep its rows where they are computed."""
        tasks = [
            FrameTask.of(load, frame.type_name, frame.columns, frame.names, frame_name=self._name(frame))
            for frame in self.frames
        ]
        kept: dict[str, tuple[PartitionOutcome, ...]] = {}
        for frame, task in zip(self.frames, tasks, strict=True):
            before = [partition for partitions in kept.values() for partition in partitions]
            rows = sum(outcome.lines for partition in before for outcome in partition.outcomes)
            numbered = replace(task, first_ordinal=first_ordinal_behind(before))
            kept[self._name(frame)] = tuple(frame.keep(numbered, _from(rows, watch)))
        return kept_frames(load, kept)

    def _name(self, frame: TypedFrame) -> str:
        return FRAME_NAME if len(self.frames) == 1 else f"<frame of {frame.type_name}>"


def _from(done_before: int, watch: Watch) -> Watch:
    """Tell of the rows of a frame behind those of the frames before it."""
    return lambda done: watch(done_before + done)


def frame_writer(
    store: GraphStore,
    engine: Engine,
    kept: PiecesRead,
    *,
    ir_hash: str,
    seen_head: str,
    branch: str,
    actor_id: str | None,
    events: Events,
) -> LoadWriter | BulkLoadWriter:
    """Describe the load of a frame: few rows here and by looking up their keys, many on the engine.

    Raises with every bad record counted and the first few shown.
    """
    places = placed(kept)
    if not are_few(kept):
        return BulkLoadWriter.of(
            engine,
            put_together(engine, kept, events),
            ir_hash=ir_hash,
            seen_head=seen_head,
            branch=branch,
            actor_id=actor_id,
            events=events,
        )
    types = kept.load.catalog.type_by_table_key
    return LoadWriter(
        incoming={key: IncomingTable.of(types[key], rows) for key, rows in read_few(kept, places, store).items()},
        files=tuple(file_names(kept.pieces)),
        ir_hash=ir_hash,
        seen_head=seen_head,
        mode=kept.load.mode,
        branch=branch,
        actor_id=actor_id,
        max_errors=kept.load.max_errors,
        newest_by=kept.load.newest_by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLoad:
    """A load that has begun: plain data, which travels to the workers and on to whoever commits."""

    task: FrameTask
    ir_hash: str
    seen_head: str
    branch: str
    actor_id: str | None
    message: str | None = None

    @classmethod
    def begin(cls, context: GraphContext, request: FrameLoadRequest, names: Sequence[str]) -> "FrameLoad":
        """Look at the graph and at the frame's columns; raise before anything is computed if they do not fit."""
        capture = capture_branch(context, request.branch)
        buckets = buckets_for(None, stored_rows=stored_rows(capture), slots=context.engine.slots)
        load = load_task(capture, ids.new_ulid(), mode=request.mode, max_errors=request.max_errors, buckets=buckets)
        if request.newest_by is not None:
            check_newest_by(request.newest_by, load.catalog, request.type, mode=request.mode)
        task = FrameTask.of(replace(load, newest_by=request.newest_by), request.type, ColumnMap(), names)
        much = scans_much(task.asked_columns, lambda key: capture.snapshot.pins[key].row_count, capture.table)
        task = replace(task, load=replace(task.load, looks_up=True, scans_much=much))
        return cls(
            task=replace(task, sets_aside=request.sets_aside),
            ir_hash=capture.snapshot.schema.ir_hash,
            seen_head=capture.snapshot.commit_id,
            branch=request.branch,
            actor_id=check_actor(request.actor),
            message=check_message(request.message),
        )

    def commit(
        self,
        context: GraphContext,
        partitions: Sequence[PartitionOutcome],
        events: Events,
        *,
        batch: StreamBatch | None = None,
        bad_records: str | None = None,
    ) -> Commit | None:
        """Check what the partitions hold together and publish it as one commit, or raise; nothing stays behind.

        A batch of a stream that is there already changes nothing. What was set aside goes to the file or object
        `bad_records` before anything is published: a batch that comes again after a crash replaces it.
        """
        load = self.task.load
        with ExitStack() as ending:
            ending.callback(Scratch(context.store, load.operation_id).clear_at_end, events)
            ending.enter_context(shared_with_workers(context.store, load.operation_id))
            if batch is not None and batch.is_on(context.log, context.manifest.load(self.branch).head):
                return None  # what it set aside was written down by who published it, and may be judged otherwise now
            writer = frame_writer(
                context.store,
                context.engine,
                kept_frame(load, partitions),
                ir_hash=self.ir_hash,
                seen_head=self.seen_head,
                branch=self.branch,
                actor_id=self.actor_id,
                events=events,
            )
            if bad_records is not None:
                set_aside = [kept.set_aside for kept in partitions if kept.set_aside is not None]
                return self._publish_sound(context, writer, set_aside, bad_records, events, batch)
            return self._publish(context, writer, events, batch)

    def _publish(
        self, context: GraphContext, writer: LoadWriter | BulkLoadWriter, events: Events, batch: StreamBatch | None
    ) -> Commit | None:
        if not writer.has_records:
            return None
        return run_write(context, OnceWriter.around(writer, batch) if batch else writer, events, message=self.message)

    def _publish_sound(
        self,
        context: GraphContext,
        writer: LoadWriter | BulkLoadWriter,
        set_aside: Sequence[SetAside],
        bad_records: str,
        events: Events,
        batch: StreamBatch | None,
    ) -> Commit | None:
        """Publish what the graph takes. Of few records those that it refuses are set aside, too."""
        scratch = Scratch(context.store, self.task.load.operation_id)
        refused: list[bytes] = []
        if isinstance(writer, LoadWriter):
            writer = replace(writer, max_errors=_REFUSED_AT_ONCE)
        while True:
            write_down(scratch, set_aside, refused, bad_records)
            faults.reach("stream.after_bad_records")
            try:
                return self._publish(context, writer, events, batch)
            except (ConstraintViolation, KeyConflict) as error:
                rest = without_refused(writer, error) if isinstance(writer, LoadWriter) else None
                if rest is None:
                    raise
                writer = rest[0]
                refused += rest[1]

    def clear(self, store: GraphStore) -> None:
        """Remove what the partitions have kept."""
        Scratch(store, self.task.load.operation_id).clear()

    def abandon(self, store: GraphStore) -> None:
        """Remove what the partitions have kept while some of them may still be at work."""
        Scratch(store, self.task.load.operation_id).clear_for_good()
