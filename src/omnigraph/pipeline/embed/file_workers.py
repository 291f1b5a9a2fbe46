"""Embedding load files on workers: each writes its pieces beside the output, and the driver puts them together.

A task that runs again leaves out the pieces that it has finished: they are paid for.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from omnigraph.base import ids
from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine
from omnigraph.pipeline.embed.chunks import CHUNK_BYTES, embed_chunk
from omnigraph.pipeline.embed.destination import Destination, Write, make_directory
from omnigraph.pipeline.embed.records import EmbedJob
from omnigraph.pipeline.embed.workers import EMBEDDING
from omnigraph.pipeline.load.bulk.pieces import Piece, plan_pieces
from omnigraph.pipeline.load.sources import InputFile
from omnigraph.pipeline.outputs import appearing_file
from omnigraph.providers.config import EmbedConfig

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecesTask:
    """What one worker embeds; the key is not among what travels."""

    job: EmbedJob
    pieces: tuple[Piece, ...]
    directory: str
    config: EmbedConfig


def embed_pieces(task: PiecesTask) -> int:
    """Write every piece with its vectors; return how many records got one."""
    config = task.config.with_key_from(os.environ)
    embedded = 0

    def advance(count: int) -> None:
        nonlocal embedded
        embedded += count

    for piece in task.pieces:
        part = _part(task.directory, piece)
        if part.exists():
            continue
        with appearing_file(part) as stream:
            for chunk in piece.file_chunks(CHUNK_BYTES):
                stream.write(embed_chunk(chunk, task.job, config, advance))
    return embedded


def rewrite_on_workers(
    files: Sequence[InputFile],
    destination: Destination,
    *,
    job: EmbedJob,
    config: EmbedConfig,
    engine: Engine,
    events: Events,
) -> None:
    """Have workers embed all files; never more of them at a time than requests may be."""
    beside = destination.output.absolute()
    directory = beside.with_name(f".{beside.name}.{ids.new_ulid()}.parts")
    make_directory(directory)
    try:
        pieces = plan_pieces(files, slots=engine.slots)
        workers = min(engine.slots, config.requests_at_once, len(pieces))
        tasks = [
            PiecesTask(
                job=job,
                pieces=pieces[worker::workers],
                directory=str(directory),
                config=config.shared_by(workers),
            )
            for worker in range(workers)
        ]
        weights = [sum(piece.stored_bytes for piece in task.pieces) for task in tasks]
        with phase(events, EMBEDDING, total=sum(weights), unit="bytes") as embedding:
            for _ in engine.map(embed_pieces, tasks, weights=weights, watch=embedding.reach):
                pass
        with destination.appearing(files) as sinks:
            for file, write in sinks:
                for piece in pieces:
                    if piece.file.index == file.index:
                        _copy(_part(str(directory), piece), write)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _part(directory: str, piece: Piece) -> Path:
    return Path(directory, f"{piece.ordinal}.jsonl")


def _copy(part: Path, write: Write) -> None:
    with part.open("rb") as stream:
        while block := stream.read(_COPY_BYTES):
            write(block)
