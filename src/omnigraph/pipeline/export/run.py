"""Running an export: one snapshot, rendered as the records that a load reads back."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.base import ids
from omnigraph.base.events import Advanced, Events
from omnigraph.catalog.model import TableKey
from omnigraph.errors import Io
from omnigraph.reads.snapshot import Snapshot
from omnigraph.records.rendering import render_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExported:
    """How many entities of a table were written."""

    table_key: TableKey
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What an export wrote, and which commit it shows."""

    uri: str
    branch: str
    commit_id: str
    tables: tuple[TableExported, ...]
    engine: str
    engine_reason: str

    @property
    def total_rows(self) -> int:
        """How many entities were written."""
        return sum(table.rows for table in self.tables)


def run_export(
    snapshot: Snapshot, out: str | Path | BinaryIO, *, uri: str, types: Sequence[str], events: Events
) -> ExportResult:
    """Write the snapshot as NDJSON: nodes before edges, types by name, entities by id.

    To a stream or a file, or, when `out` ends in a slash or is a directory, one file per type into an empty directory.
    Files appear complete or not at all.
    """
    keys = snapshot.table_keys(types or [pin.table_key for pin in snapshot.tables])
    written: list[TableExported] = []
    if not isinstance(out, (str, Path)):
        written = [_write_table(snapshot, key, out, events) for key in keys]
    elif _is_directory(out):
        written = list(_write_directory(snapshot, keys, Path(out), events))
    else:
        with _appearing_whole(Path(out)) as stream:
            written = [_write_table(snapshot, key, stream, events) for key in keys]
    rows = sum(table.rows for table in written)
    return ExportResult(
        uri=uri,
        branch=snapshot.branch,
        commit_id=snapshot.commit_id,
        tables=tuple(written),
        engine="local",
        engine_reason=f"{rows} rows",
    )


def _write_table(snapshot: Snapshot, table_key: TableKey, stream: BinaryIO, events: Events) -> TableExported:
    table = snapshot.table(table_key)
    done = 0
    for chunk in table.in_id_order():
        stream.write(render_lines(chunk, table.entity))
        done += chunk.num_rows
        events(Advanced(phase=f"export {table_key}", done=done, total=table.pin.row_count, unit="rows"))
    return TableExported(table_key=table_key, rows=done)


def _write_directory(
    snapshot: Snapshot, keys: Sequence[TableKey], directory: Path, events: Events
) -> Iterator[TableExported]:
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise Io(f"The output directory {directory} is not empty; choose another.", path=str(directory))
    for key in keys:
        kind, _, name = key.partition(":")
        with _appearing_whole(directory / f"{kind}.{name}.jsonl") as stream:
            yield _write_table(snapshot, key, stream, events)


def _is_directory(out: str | Path) -> bool:
    return str(out).endswith("/") or Path(out).is_dir()


class _appearing_whole:  # noqa: N801 — reads as a word in `with`
    """A file that gets its name only when everything is in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{ids.new_ulid()}.tmp")

    def __enter__(self) -> BinaryIO:
        try:
            self._stream: BinaryIO = self._temporary.open("wb")
        except OSError as error:
            raise Io(f"Cannot write {self._path}: {error.strerror}.", path=str(self._path)) from error
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._temporary.replace(self._path)
        else:
            self._stream.close()
            self._temporary.unlink(missing_ok=True)


__all__ = ["ExportResult", "TableExported", "run_export"]
