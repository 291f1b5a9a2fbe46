"""Where load input comes from: a file, standard input, a glob, a directory or an object-store prefix.

`find_inputs` orders the files once; an `InputFile` is plain data, so a worker can open it again by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from os import walk
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol, Self

import pyarrow as pa

from omnigraph import errors
from omnigraph.base import work
from omnigraph.base.values import dataclass
from omnigraph.storage.uris import is_bucket_uri

STDIN = "-"
READING_INPUT = "reading the input"
"""What the phase is called in which input becomes rows, wherever that happens."""
_DATA_SUFFIXES = tuple(f"{name}{packed}" for name in (".jsonl", ".ndjson") for packed in ("", ".gz", ".zst"))
_CODEC_BY_SUFFIX = {".gz": "gzip", ".zst": "zstd"}
_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file that a store lists."""

    path: str
    size_bytes: int


class InputStore(Protocol):
    """What load needs from the place that holds its input."""

    def list(self, prefix: str, *, depth: int | None = None) -> Iterable[StoredFile]:
        """List the file at `prefix`, or all files below it, in any order; their paths begin with `prefix`.

        A store that pays for looking may leave out files that lie more than `depth` levels below.
        """
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a listed file for reading from its first byte."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One input file; `index` is its place in the order of all files of the load."""

    index: int
    name: str
    """Relative to what was searched: the spelling that error reports show."""
    path: str
    size_bytes: int | None
    """As stored, so a compressed file counts compressed; None for standard input."""

    @property
    def codec(self) -> str | None:
        """How the file is compressed, by its suffix."""
        return _CODEC_BY_SUFFIX.get(PurePosixPath(self.path).suffix)


class LocalInputs:
    """The files of this machine, and standard input if it is handed over."""

    def __init__(self, stdin: BinaryIO | None = None) -> None:
        self._stdin = stdin

    def list(self, prefix: str, *, depth: int | None = None) -> Iterator[StoredFile]:
        """List a file, or a directory recursively; links to directories are not followed."""
        root = Path(prefix)
        if root.is_file():
            yield StoredFile(path=prefix, size_bytes=root.stat().st_size)
        for directory, below, names in walk(root):
            if depth is not None and len(Path(directory).relative_to(root).parts) + 1 >= depth:
                below.clear()
            for path in (Path(directory, name) for name in names):
                if path.is_file():
                    relative = path.relative_to(root).as_posix()
                    yield StoredFile(path=f"{prefix.rstrip('/')}/{relative}", size_bytes=path.stat().st_size)

    def open(self, path: str) -> BinaryIO:
        """Open a file, or standard input for `-`."""
        if path == STDIN and self._stdin is not None:
            return self._stdin
        return Path(path).open("rb")


class CountedInputs:
    """Another store whose readers say how many of a file's bytes are dealt with (`base/work.py`)."""

    def __init__(self, store: InputStore) -> None:
        self._store = store

    def list(self, prefix: str, *, depth: int | None = None) -> Iterable[StoredFile]:
        """List what the other store lists."""
        return self._store.list(prefix, depth=depth)

    def open(self, path: str) -> BinaryIO:
        """Open a file of the other store."""
        return _Counted(self._store.open(path))  # type: ignore[return-value]  # the rest it has by name


class _Counted:
    """A file that is read from its beginning to its end, mostly; what was handed out counts with the next request."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._handed_out = 0
        self._report = work.reporter()  # Arrow reads from a thread of its own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, none at the end."""
        self._count()
        block = self._raw.read(size)
        self._handed_out = len(block)
        return block

    def close(self) -> None:
        """Close the file."""
        self._count()
        self._raw.close()

    def _count(self) -> None:
        if self._handed_out:
            self._report(self._handed_out)
            self._handed_out = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class InputReader:
    """The expanded bytes of one input file; a file that cannot be read to its end raises `Io`."""

    def __init__(self, file: InputFile, store: InputStore) -> None:
        self._file = file
        try:
            self._raw = store.open(file.path)
        except OSError as exc:
            raise self._failure(exc) from exc
        # Arrow reads concatenated members and reports a stream that ends early, which the zstd module does not.
        self._stream = self._raw if file.codec is None else pa.CompressedInputStream(self._raw, file.codec)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._raw.close()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        try:
            return bytes(self._stream.read(size))
        except OSError as exc:
            raise self._failure(exc) from exc

    def _failure(self, exc: OSError) -> errors.Io:
        reason = exc.strerror or str(exc)
        if self._file.codec is None:
            return errors.Io(f"Cannot read {self._file.path}: {reason}.", path=self._file.path)
        return errors.Io(
            f"Cannot read {self._file.path}: it is not a complete {self._file.codec} file ({reason}).",
            path=self._file.path,
        )


def find_inputs(path: str, *, store: InputStore) -> tuple[InputFile, ...]:
    """Find the files that `path` means, ordered by the bytes of their relative paths; raise `Io` if there are none.

    A file given by name may have any extension; in a directory only NDJSON files count, and neither they nor the
    directories above them may begin with `.` or `_`.
    """
    if path == STDIN:
        return (InputFile(index=0, name=STDIN, path=STDIN, size_bytes=None),)
    found = sorted(
        find_files(path, store=store, accepts=_is_data_file),
        key=lambda named: named[0].encode(errors="surrogateescape"),
    )
    if not found:
        raise errors.Io(f"No input found at {path}: no such file, and no .jsonl or .ndjson file below it.", path=path)
    return tuple(
        InputFile(index=index, name=name, path=file.path, size_bytes=file.size_bytes)
        for index, (name, file) in enumerate(found)
    )


def find_files(path: str, *, store: InputStore, accepts: Callable[[str], bool]) -> Iterator[tuple[str, StoredFile]]:
    """Find the file at `path`, those below it that `accepts` likes, or what it matches as a pattern.

    Each comes with its name relative to what was searched.
    """
    is_listed = False
    for file in store.list(path):
        is_listed = True
        name = file.path.removeprefix(path).lstrip("/")
        if not name:
            yield PurePosixPath(path).name, file
        elif accepts(name):
            yield name, file
    if not is_listed and not _MAGIC.isdisjoint(path):
        yield from _glob(path, store)


def _glob(pattern: str, store: InputStore) -> Iterator[tuple[str, StoredFile]]:
    parts = pattern.split("/")
    fixed = next(place for place, part in enumerate(parts) if not _MAGIC.isdisjoint(part))
    root = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")
    patterns = parts[fixed:]
    for file in store.list(root, depth=None if "**" in patterns else len(patterns)):
        name = file.path.removeprefix(root).lstrip("/")
        if _is_match(name.split("/"), patterns):
            yield name, file


def _is_data_file(name: str) -> bool:
    return name.endswith(_DATA_SUFFIXES) and not any(part.startswith((".", "_")) for part in name.split("/"))


def _is_match(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Match path parts as a shell does: `**` stands for any directories, hidden names must be asked for."""
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**" and _is_match(parts, rest):
        return True
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatchcase(parts[0], first) and _is_match(parts[1:], patterns if first == "**" else rest)


def store_of(path: str) -> InputStore:
    """Return the store that can list and open `path`; nothing is read yet."""
    return BucketInputs(path) if is_bucket_uri(path) else LocalInputs()


class BucketInputs:
    """The objects of the bucket that a path names."""

    def __init__(self, path: str) -> None:
        from omnigraph.storage.bucket import Bucket  # imports the client, which local input does not need

        self._bucket = Bucket(path)

    def list(self, prefix: str, *, depth: int | None = None) -> Iterator[StoredFile]:
        """List the object at `prefix` and those below it; a bucket pays per page, not per level."""
        del depth
        for found in self._bucket.list(prefix):
            yield StoredFile(path=found.uri, size_bytes=found.size_bytes)

    def open(self, path: str) -> BinaryIO:
        """Open an object for reading from its first byte."""
        return self._bucket.open(path)
