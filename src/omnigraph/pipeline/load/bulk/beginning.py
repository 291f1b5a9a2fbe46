"""How a load begins whose input is for workers: cut the input, have it read, and describe what was kept as a write."""

from collections.abc import Sequence

from omnigraph.base import work
from omnigraph.base.events import Events, phase
from omnigraph.engine.interface import Engine
from omnigraph.graphs.capture import Capture
from omnigraph.pipeline.load.bulk.buckets import buckets_for
from omnigraph.pipeline.load.bulk.pieces import InputPiece
from omnigraph.pipeline.load.bulk.writer import BulkLoadWriter, load_task, read_pieces, stored_rows
from omnigraph.pipeline.load.frames import frame_writer
from omnigraph.pipeline.load.inputs import HeldInput, PieceableInput
from omnigraph.pipeline.load.request import LoadRequest
from omnigraph.pipeline.load.writer import LoadWriter
from omnigraph.storage.scratch import Scratch


def bulk_writer(
    capture: Capture,
    found: PieceableInput | HeldInput,
    engine: Engine,
    scratch: Scratch,
    request: LoadRequest,
    events: Events,
) -> LoadWriter | BulkLoadWriter:
    """Have workers read the input."""
    pieces = () if isinstance(found, HeldInput) else _pieces(found, scratch, engine.slots, events)
    size_bytes = None if isinstance(found, HeldInput) else sum(piece.input_bytes for piece in pieces)
    buckets = buckets_for(size_bytes, stored_rows=stored_rows(capture), slots=engine.slots)
    task = load_task(capture, scratch.operation_id, mode=request.mode, max_errors=request.max_errors, buckets=buckets)
    ir_hash, seen_head = capture.snapshot.schema.ir_hash, capture.snapshot.commit_id
    if isinstance(found, HeldInput):
        with phase(events, "computing the frame", unit="rows") as computing:
            kept = found.read(task, computing.reach)
        return frame_writer(
            scratch.store,
            engine,
            kept,
            ir_hash=ir_hash,
            seen_head=seen_head,
            branch=request.branch,
            actor_id=request.actor,
            events=events,
        )
    return BulkLoadWriter.of(
        engine,
        read_pieces(engine, task, pieces, events),
        ir_hash=ir_hash,
        seen_head=seen_head,
        branch=request.branch,
        actor_id=request.actor,
        events=events,
    )


def _pieces(found: PieceableInput, scratch: Scratch, slots: int, events: Events) -> Sequence[InputPiece]:
    """Cut the input; what only this process can read, a stream or a large CSV file, is copied meanwhile."""
    with phase(events, "looking at the input", unit="bytes") as looking, work.reporting(looking.advance):
        return found.pieces(scratch, slots=slots)
