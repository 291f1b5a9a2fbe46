"""A baseline: one exact state of a branch in a file, and the cursor at which a change feed goes on from it.

The cursor is worth something only together with the state, so it is handed out last: behind the last record of a file
that is complete, durable and in its place.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from omnigraph.base import waits
from omnigraph.base.events import Events
from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.changes.feed import Feed
from omnigraph.changes.filters import ChangesRequest
from omnigraph.errors import Io, OutputReplaced
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import hold_versions
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.pipeline.export.run import write_snapshot
from omnigraph.pipeline.outputs import appearing_file, given_path
from omnigraph.storage.flock import flock_within


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRequest:
    """One baseline, whoever asks for it."""

    out: str | Path | BinaryIO
    branch: str = MAIN_BRANCH
    changes: ChangesRequest = ChangesRequest()
    """What the feed behind it delivers. A state has no operations to select; the cursor remembers them."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BaselineResult(Shown):
    """Which state was written, and where the feed goes on behind it."""

    snapshot_commit_id: str
    resume_cursor: str
    total_rows: int


def write_baseline(context: GraphContext, request: BaselineRequest, *, events: Events) -> BaselineResult:
    """Write the head of a branch as NDJSON and, as the last record, the cursor that follows it.

    An existing file is replaced at the very end or not at all. A stream without the last record is of no use.
    """
    if not isinstance(request.out, (str, Path)):
        return _capture(context, request, request.out, events)
    with baseline_file(request.out) as stream:
        return _capture(context, request, stream, events)


@contextmanager
def baseline_file(out: str | Path) -> Iterator[BinaryIO]:
    """Write a baseline, whoever makes it, to a file that is replaced at the very end or not at all.

    Baselines of one file take turns, and one that another writer replaced meanwhile is an error.
    """
    path = Path(given_path(out, flag="--out"))
    _check_place(path)
    with _turn(path):
        with appearing_file(path) as stream:
            yield stream
            written = os.fstat(stream.fileno())
        _refuse_replaced(path, written)


def _capture(context: GraphContext, request: BaselineRequest, stream: BinaryIO, events: Events) -> BaselineResult:
    feed = Feed.of_branch(context, request.branch, request.changes)
    snapshot = Snapshot(context, feed.head_snapshot)
    result = BaselineResult(snapshot_commit_id=snapshot.commit_id, resume_cursor=feed.head_cursor, total_rows=0)
    with hold_versions(context, snapshot.tables, operation="changes baseline"):
        if feed.selected_types:
            uri, types = context.store.uri, feed.selected_types
            exported = write_snapshot(snapshot, stream, uri=uri, types=types, events=events)
            result = replace(result, total_rows=exported.total_rows)
        stream.write(_last_record(result))
    return result


def _last_record(result: BaselineResult) -> bytes:
    cursor = {"snapshot_commit_id": result.snapshot_commit_id, "resume_cursor": result.resume_cursor}
    return json.dumps({"baseline": cursor}).encode() + b"\n"


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Let captures of one file take turns; the lock file stays, for two holders of two inodes would follow."""
    lock = path.with_name(f"{path.name}.lock")
    with _complaining(lock):
        held = lock.open("ab")
    with held:
        if not flock_within(held.fileno(), wait_seconds=waits.BASELINE_SECONDS):
            raise Io(
                f"Another baseline has been writing {path} for {waits.BASELINE_SECONDS:g} seconds.", path=str(path)
            )
        yield


def _check_place(path: Path) -> None:
    """Find out before anything is read whether a file can be put there for good."""
    if path.exists() and not path.is_file():
        raise Io(f"{path} is not a file; a baseline replaces a file as a whole.", path=str(path))
    with _complaining(path):
        descriptor = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_replaced(path: Path, written: os.stat_result) -> None:
    """Raise unless the file at `path` is the one that was written: the cursor belongs to that one."""
    with _complaining(path):
        found = path.stat()
    if (found.st_dev, found.st_ino) != (written.st_dev, written.st_ino):
        raise OutputReplaced(
            f"{path} was replaced by another writer before this baseline was done; there is no cursor. Run again.",
            path=str(path),
        )


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Io(f"Cannot write {path}: {error.strerror}.", path=str(path)) from error
