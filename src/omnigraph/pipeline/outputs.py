"""Paths as somebody gave them, and files that get their names only when everything is in them.

Nobody ever reads half an output.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from omnigraph.base import ids
from omnigraph.base.plain_text import plain_text
from omnigraph.errors import Io, Usage
from omnigraph.storage.uris import unknown_store


@contextmanager
def appearing_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that replaces `path` at the end; after a failure `path` is as it was."""
    temporary = _beside(path)
    try:
        with _translated(path), temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with _translated(path):
            temporary.replace(path)
            _sync(path.parent)
    finally:
        # Where the file could not be made, not even its absence can be seen, and why was said already.
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def appearing_directory(path: Path, *, may_replace: bool) -> Iterator[Path]:
    """Fill a new directory that takes the place of `path` at the end; after a failure `path` is as it was.

    An empty or absent `path` is replaced in one step. With `may_replace`, one that holds something steps aside first,
    because no rename can replace it: for a moment there is neither, never a mixture.
    """
    temporary, old = _beside(path), _beside(path)
    try:
        with _translated(path):
            temporary.mkdir(parents=True)
        yield temporary
        with _translated(path):
            for directory, _, names in os.walk(temporary):
                for name in names:
                    _sync(Path(directory, name))
                _sync(Path(directory))
            if may_replace and path.exists():
                path.rename(old)
            temporary.rename(path)
            _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _beside(path: Path) -> Path:
    """Name a neighbour on the same file system; its leading dot hides it from loads."""
    plain = path.resolve()
    return plain.with_name(f".{plain.name}.{ids.new_ulid()}.tmp")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Io(f"Cannot write {path}: {error.strerror or error}.", path=str(path)) from error


def given_path(path: str | Path, *, flag: str) -> str:
    """Return a path as text; `flag` is its name on the command line.

    Refused are one that no message could spell, and an address in a kind of store that there is none of. Files that are
    found below a directory may be called anything.
    """
    text = plain_text(str(path), what=f"The path of {flag}", refusal=lambda reason: Usage(reason, flag=flag))
    unknown = unknown_store(text)
    if unknown is not None:
        raise Usage(unknown, flag=flag)
    return text
