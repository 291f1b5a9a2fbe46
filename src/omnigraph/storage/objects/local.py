"""Control objects as files.

Content is written to a temporary file, synced, and only then given its name, by `link` where the name must be new and
by `rename` where it may exist. So no reader sees half an object, and a crash leaves the old one or the new one.
"""

import errno
import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from omnigraph.base import ids, waits
from omnigraph.errors import StorageError
from omnigraph.storage.flock import flock_within
from omnigraph.storage.objects.contract import (
    PIECE_BYTES,
    ObjectChanged,
    ObjectExists,
    ObjectFacts,
    StoredObject,
    Token,
)
from omnigraph.storage.objects.probe import probe_once
from omnigraph.storage.uris import GraphRoot

_SWAP_LOCK = "__locks/.swap"
_HOLDERS_OF_DIRECTORIES = frozenset({"_indices", "data"})
_LINK_REFUSALS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_TRANSIENT = frozenset({errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ESTALE, errno.ETIMEDOUT})
_CONFIGURATION = frozenset(
    {
        errno.EACCES,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.ENOTSUP,
        errno.EPERM,
        errno.EROFS,
        errno.EXDEV,
    }
)


class LocalObjects:
    """A `ControlStore` below a local directory, which appears with the first write."""

    def __init__(self, root: GraphRoot) -> None:
        self._root = root
        self._directory = root.local_path

    @property
    def root(self) -> GraphRoot:
        """The graph that the paths are relative to."""
        return self._root

    def create(self, path: str, content: bytes) -> Token:
        """Write a new object, named by `link`, which fails if the name is taken."""
        with self._translated("Creating", path), self._temporary(path, content) as temporary:
            try:
                os.link(temporary, self._file(path))
            except FileExistsError:
                raise ObjectExists(path) from None
            except OSError as exc:
                if exc.errno in _LINK_REFUSALS:
                    raise self._no_hard_links(exc) from exc
                raise
            _sync_directory(temporary.parent)
        return _token(content)

    def replace(self, path: str, content: bytes, token: Token) -> Token:
        """Compare and rename under a lock, since the file system has no compare-and-swap of its own."""
        with self._translated("Replacing", path), self._swapping():
            current = self.read(path)
            if current is None or current.token != token:
                raise ObjectChanged(path)
            self._overwrite(path, content)
        return _token(content)

    def put(self, path: str, content: bytes) -> None:
        """Write the object whatever was there before."""
        with self._translated("Writing", path), self._swapping():
            self._overwrite(path, content)

    def read(self, path: str) -> StoredObject | None:
        """Return the object, or None if there is no such file."""
        with self._translated("Reading", path):
            try:
                with self._file(path).open("rb") as file:
                    content = file.read()
                    last_modified = os.fstat(file.fileno()).st_mtime
            except FileNotFoundError:
                return None
        return StoredObject(content=content, token=_token(content), last_modified=last_modified)

    def read_pieces(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file, in pieces that fit into memory."""
        with self._translated("Reading", path):
            file = self._file(path).open("rb") if self._file(path).exists() else None
        if file is None:
            raise FileNotFoundError(path)
        with file, self._translated("Reading", path):
            while piece := file.read(PIECE_BYTES):
                yield piece

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from `start` to `end`."""
        with self._translated("Reading", path):
            if self._file(path).exists():
                with self._file(path).open("rb") as file:
                    file.seek(start)
                    return file.read(end - start)
        raise FileNotFoundError(path)

    def read_end(self, path: str, length: int) -> bytes:
        """Return the last bytes of a file."""
        with self._translated("Reading", path):
            if self._file(path).exists():
                with self._file(path).open("rb") as file:
                    file.seek(-min(length, os.fstat(file.fileno()).st_size), os.SEEK_END)
                    return file.read()
        raise FileNotFoundError(path)

    def list(self, prefix: str) -> tuple[str, ...]:
        """Return the paths of all files in the directory `prefix` and below it, sorted; none if it is absent."""
        with self._translated("Listing", prefix):
            return tuple(sorted(path for path, _ in self._walk(prefix)))

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the paths of all files in the directory `prefix` and below it with their sizes."""
        return {path: found.size for path, found in self.facts(prefix).items()}

    def facts(self, prefix: str) -> dict[str, ObjectFacts]:
        """Return the paths of all files in the directory `prefix` and below it with their sizes and times."""
        found = {}
        with self._translated("Looking at", prefix):
            for path, entry in sorted(self._walk(prefix), key=_first):
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    found[path] = ObjectFacts(size=status.st_size, last_modified=status.st_mtime)
        return found

    def sizes_of(self, paths: Collection[str]) -> dict[str, int]:
        """Return the bytes of each of these files that is there."""
        found = {}
        for path in paths:
            with self._translated("Looking at", path), suppress(FileNotFoundError):
                found[path] = self._file(path).stat().st_size
        return found

    def delete(self, path: str) -> None:
        """Remove the file; an absent one is fine."""
        with self._translated("Deleting", path):
            file = self._file(path)
            if not file.parent.is_dir():
                return
            # Without the lock a `replace` that has just compared would bring the object back.
            with self._swapping():
                file.unlink(missing_ok=True)
                _sync_directory(file.parent)

    def delete_all(self, paths: Collection[str]) -> None:
        """Remove files; the directories that some of them have to themselves, those of indexes and blobs, go too."""
        directories = set()
        for path in paths:
            with self._translated("Deleting", path):
                file = self._file(path)
                file.unlink(missing_ok=True)
                directories.add(file.parent)
        for directory in directories:
            with suppress(OSError):  # never there, or other files are in it
                _sync_directory(directory)
                if directory.parent.name in _HOLDERS_OF_DIRECTORIES:
                    directory.rmdir()

    def glance_at_clock(self) -> float | None:
        """Date a file that never gets a name: the file system stamps it, and no directory ever shows it."""
        try:
            descriptor = os.open(self._directory, os.O_TMPFILE | os.O_WRONLY, 0o600)
        except (OSError, AttributeError):  # not every file system and not every system has nameless files
            return None
        try:
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)

    def probe(self) -> None:
        """Prove that the file system has hard links: Lance commits with them, and so does `create`."""
        probe_once(self)

    def _file(self, path: str) -> Path:
        return self._directory / path

    def _overwrite(self, path: str, content: bytes) -> None:
        with self._temporary(path, content) as temporary:
            temporary.replace(self._file(path))
            _sync_directory(temporary.parent)

    @contextmanager
    def _temporary(self, path: str, content: bytes) -> Iterator[Path]:
        """Write `content` durably beside its destination; what was not renamed away is removed."""
        directory = self._file(path).parent
        _make_directory(directory)
        temporary = directory / f".tmp-{ids.new_ulid()}"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _swapping(self) -> Iterator[None]:
        """Keep other processes and threads from changing existing objects.

        One lock file serves the whole root: it is held for two system calls, and one per object could never be
        removed again without letting two holders lock two inodes.
        """
        lock = self._file(_SWAP_LOCK)
        _make_directory(lock.parent)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not flock_within(descriptor, wait_seconds=waits.SWAP_SECONDS):
                raise StorageError(
                    f"Another process has kept {lock} locked for {waits.SWAP_SECONDS:.0f} seconds; nothing was "
                    "changed. See whether it hangs, and try again.",
                    storage_kind="transient",
                    uri=self._root.uri,
                )
            yield
        finally:
            os.close(descriptor)

    def _walk(self, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        # os.walk, glob and rglob skip directories that they cannot read; here that must be heard. Paths are put
        # together as text: one `Path` for each file would be half the time of a cleanup.
        prefix = prefix.rstrip("/")
        try:
            entries = list(os.scandir(self._directory / prefix))
        except FileNotFoundError:
            return
        for entry in entries:
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(path)
            elif not entry.name.startswith("."):
                yield path, entry

    @contextmanager
    def _translated(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            uri = f"{self._root.uri}/{path}"
            raise StorageError(
                f"{doing} {uri} failed: {exc.strerror or exc}.", storage_kind=_storage_kind(exc), uri=uri
            ) from exc

    def _no_hard_links(self, exc: OSError) -> StorageError:
        uri = self._root.uri
        return StorageError(
            f"The file system of {uri} refuses hard links ({exc.strerror or exc}), and commits are made with them. "
            "Put the graph on another file system; FAT, some FUSE and some network mounts have none.",
            storage_kind="configuration",
            uri=uri,
        )


def _first(found: tuple[str, os.DirEntry[str]]) -> str:
    return found[0]


def _token(content: bytes) -> Token:
    return Token(hashlib.sha256(content).hexdigest())


def _storage_kind(exc: OSError) -> str:
    if exc.errno in _TRANSIENT:
        return "transient"
    return "configuration" if exc.errno in _CONFIGURATION else "unknown"


def _make_directory(directory: Path) -> None:
    """Create the directory and its parents, each durably."""
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    _sync_directory(directory.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
