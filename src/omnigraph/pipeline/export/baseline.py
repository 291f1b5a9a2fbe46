"""A baseline: one exact state of a branch in a file, and the cursor at which a change feed goes on from it.

The cursor is worth something only together with the state, so it is handed out last: behind the last record of a file
that is complete, durable and in its place.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.base import ids
from omnigraph.base.events import Events
from omnigraph.changes.feed import Feed
from omnigraph.errors import Io, OutputReplaced
from omnigraph.pipeline.export.run import run_export
from omnigraph.reads.holding import hold_versions
from omnigraph.reads.snapshot import Snapshot
from omnigraph.storage.flock import flock_within
from omnigraph.writes.context import GraphContext

_TURN_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineResult:
    """Which state was written, and where the feed goes on behind it."""

    snapshot_commit_id: str
    resume_cursor: str
    total_rows: int


def write_baseline(
    context: GraphContext,
    out: str | Path,
    *,
    branch: str,
    kinds: Sequence[str] = (),
    types: Sequence[str] = (),
    ops: Sequence[str] = (),
    events: Events,
) -> BaselineResult:
    """Write the head of a branch as NDJSON and, as the last record, the cursor that follows it.

    An existing file is replaced at the very end or not at all. `ops` select nothing in a state; the cursor remembers
    them for the feed.
    """
    path = Path(out)
    _sync_directory(path)
    with _turn(path):
        feed = Feed.of_branch(context, branch, kinds=kinds, types=types, ops=ops)
        snapshot = Snapshot(context, feed.head_snapshot)
        selected = feed.selected_types
        with hold_versions(context, snapshot.tables, operation="changes baseline"), _replacing(path) as stream:
            total_rows = 0
            if selected:
                exported = run_export(snapshot, stream, uri=context.store.uri, types=selected, events=events)
                total_rows = exported.total_rows
            last = {"snapshot_commit_id": snapshot.commit_id, "resume_cursor": feed.head_cursor}
            stream.write(json.dumps({"baseline": last}).encode() + b"\n")
    return BaselineResult(snapshot_commit_id=snapshot.commit_id, resume_cursor=feed.head_cursor, total_rows=total_rows)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Let captures of one file take turns; the lock file stays, for two holders of two inodes would follow."""
    lock = path.with_name(f"{path.name}.lock")
    with _complaining(lock), lock.open("ab") as held:
        if not flock_within(held.fileno(), wait_seconds=_TURN_SECONDS):
            raise Io(f"Another baseline has been writing {path} for {_TURN_SECONDS:g} seconds.", path=str(path))
        yield


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file beside `path` and put it there when it is complete and durable."""
    temporary = path.with_name(f".{path.name}.{ids.new_ulid()}.tmp")
    try:
        with _complaining(path):
            stream = temporary.open("xb")
        with stream:
            yield stream
            with _complaining(path):
                stream.flush()
                os.fsync(stream.fileno())
            written = os.fstat(stream.fileno())
        with _complaining(path):
            temporary.replace(path)
            _sync_directory(path)
            found = path.stat()
    finally:
        temporary.unlink(missing_ok=True)
    if (found.st_dev, found.st_ino) != (written.st_dev, written.st_ino):
        raise OutputReplaced(
            f"{path} was replaced by another writer before this baseline was done; there is no cursor. Run again.",
            path=str(path),
        )


def _sync_directory(path: Path) -> None:
    """Make the directory's entries durable; a file system that cannot do that is found out before anything is read."""
    with _complaining(path):
        descriptor = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Io(f"Cannot write {path}: {error.strerror}.", path=str(path)) from error
