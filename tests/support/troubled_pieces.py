"""Pieces that are read under difficulties: a task that hangs the first time, a disk that is full."""

import os
import resource
from pathlib import Path

from omnigraph.base import clock
from omnigraph.pipeline.load.bulk import reading
from omnigraph.pipeline.load.bulk.pieces import InputPiece
from omnigraph.pipeline.load.bulk.reading import LoadTask, PieceOutcome

ATTEMPTS_VARIABLE = "OMNIGRAPH_TEST_ATTEMPTS"
_FULL_AFTER_BYTES = 4096


def slow_first_attempt(load: LoadTask, piece: InputPiece) -> PieceOutcome:
    """Read a piece; whoever comes first to the first one does all the work, and then sleeps for an hour."""
    outcome = reading.read_piece(load, piece)
    if piece.ordinal == 0:
        attempts = Path(os.environ[ATTEMPTS_VARIABLE])
        place = len(list(attempts.iterdir()))
        (attempts / f"{place}-{os.getpid()}").touch()
        if place == 0:
            clock.sleep_seconds(3_600)
    return outcome


def on_a_full_disk(load: LoadTask, piece: InputPiece) -> PieceOutcome:
    """Read a piece where no file may grow beyond a few kilobytes; Python turns the signal for that into an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FULL_AFTER_BYTES, hard))
    try:
        return reading.read_piece(load, piece)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
