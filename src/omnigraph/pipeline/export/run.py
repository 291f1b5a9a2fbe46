"""Running an export: one snapshot, as the records that a load reads back, or as tables.

A stream and a single file get everything in order from this process. A directory or a prefix gets part files, which
the engine writes side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.events import EngineChosen, Events, Phase, Warned, phase
from omnigraph.base.showing import Shown
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import EngineUnavailable, NotConfirmed, Usage
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import hold_if_possible
from omnigraph.graphs.locating import locate
from omnigraph.graphs.reclaimed import telling_reclaimed
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.graphs.table import stored_state
from omnigraph.pipeline.export.request import ExportFormat, ExportRequest
from omnigraph.pipeline.export.side_by_side import PartsExport, TableExported
from omnigraph.pipeline.outputs import appearing_file, given_path
from omnigraph.records.rendering import render_lines
from omnigraph.storage.uris import is_bucket_uri

_STREAM_MEMORY_BYTES = 16 * 2**20
"""How much of a table is in memory for a stream: whoever reads it may be slow, and there may be several."""
_RENDERED_BYTES = 4 * 2**20
"""How much of the rows is spelled at a time; the text takes several times as much meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportResult(Shown):
    """What an export wrote, and which commit it shows."""

    uri: str
    branch: str
    commit_id: str | None
    """None of an export that a server made, which does not say."""
    format: ExportFormat
    out: str | None
    """Where it was written to; None for a stream."""
    tables: tuple[TableExported, ...]
    engine: str
    engine_reason: str

    @property
    def total_rows(self) -> int:
        """How many entities were written."""
        return sum(table.rows for table in self.tables)


def run_export(context: GraphContext, request: ExportRequest, *, events: Events) -> ExportResult:
    """Write a snapshot to a stream, a file, an empty or new directory, or an empty prefix of a bucket.

    Files appear complete or not at all, and so does a directory as a whole. A file that exists needs `overwrite`. Only
    the files of a directory or prefix are written by workers.
    """
    out, types, form, choice = request.out, request.types, request.format, request.engine
    uri = context.store.uri
    snapshot = Snapshot(context, locate(context, request.address).snapshot, is_held=True)
    keys = snapshot.table_keys(types or [pin.table_key for pin in snapshot.tables])

    def warn(message: str) -> None:
        events(Warned(message=message))

    holding = _held_and_told(context, snapshot, warn)
    if not isinstance(out, (str, Path)):
        if form is not ExportFormat.JSONL:
            raise Usage(f"An export as {form} needs a directory to write to: --out DIR.", flag="--out")
        _refuse_spark(choice)
        with holding:
            return _told(write_snapshot(snapshot, out, uri=uri, types=types, events=events), events)
    given_path(out, flag="--out")
    with holding:
        if form is ExportFormat.JSONL and not _means_directory(str(out)):
            _refuse_spark(choice)
            tables = _write_file(snapshot, keys, Path(out), overwrite=request.overwrite, events=events)
            return _told(_result(snapshot, tables, uri=uri, form=form, out=str(out)), events)
        parts = PartsExport(
            context=context, snapshot=snapshot, keys=tuple(keys), form=form, choice=choice, events=events
        )
        return replace(
            _result(snapshot, parts.write(str(out)), uri=uri, form=form, out=str(out)),
            engine=parts.engine,
            engine_reason=parts.engine_reason,
        )


@contextmanager
def _held_and_told(context: GraphContext, snapshot: Snapshot, warn: Callable[[str], None]) -> Iterator[None]:
    """Keep a cleanup away while rows are read; where that is impossible, tell of a version that it took."""
    with (
        hold_if_possible(context, snapshot.tables, operation="export", warn=warn),
        telling_reclaimed(context, snapshot.tables),
    ):
        yield


def _told(result: ExportResult, events: Events) -> ExportResult:
    events(EngineChosen(engine=result.engine, reason=result.engine_reason))
    return result


def _means_directory(out: str) -> bool:
    return is_bucket_uri(out) or out.endswith("/") or Path(out).is_dir()


def _refuse_spark(choice: EngineChoice) -> None:
    """Refuse Spark where it was asked for by name: one stream of records is written in order, by one process."""
    if choice.engine is EngineName.SPARK:
        raise EngineUnavailable(
            f"{choice.setting} spark: Spark writes the files of a directory; a stream or a single file is written in "
            "process. Export to a directory (--out DIR/), or use --engine local.",
            engine=EngineName.SPARK.value,
            missing="a directory to write to",
        )


def write_snapshot(
    snapshot: Snapshot, out: BinaryIO, *, uri: str, types: Sequence[str], events: Events
) -> ExportResult:
    """Write the snapshot to a stream as NDJSON: nodes before edges, types by name, entities by id."""
    keys = snapshot.table_keys(types or [pin.table_key for pin in snapshot.tables])
    tables = _write_tables(snapshot, keys, out, events, memory_bytes=_STREAM_MEMORY_BYTES)
    return _result(snapshot, tables, uri=uri, form=ExportFormat.JSONL, out=None)


def _result(
    snapshot: Snapshot, tables: tuple[TableExported, ...], *, uri: str, form: ExportFormat, out: str | None
) -> ExportResult:
    return ExportResult(
        uri=uri,
        branch=snapshot.branch,
        commit_id=snapshot.commit_id,
        format=form,
        out=out,
        tables=tables,
        engine="local",
        engine_reason=counted(sum(table.rows for table in tables), "row"),
    )


def _write_file(
    snapshot: Snapshot, keys: Sequence[TableKey], path: Path, *, overwrite: bool, events: Events
) -> tuple[TableExported, ...]:
    if path.exists() and not path.is_file():
        # A pipe or a device is not replaced by a file: it is written to.
        with path.open("wb") as stream:
            return _write_tables(snapshot, keys, stream, events)
    if path.exists() and not overwrite:
        raise NotConfirmed(
            f"{path} exists already and was left as it is; choose another name, or consent to replacing it with --yes "
            "(overwrite=True in Python).",
            command="export",
            target=str(path),
        )
    with appearing_file(path) as stream:
        return _write_tables(snapshot, keys, stream, events)


def _write_tables(
    snapshot: Snapshot,
    keys: Sequence[TableKey],
    stream: BinaryIO,
    events: Events,
    *,
    memory_bytes: int | None = None,
) -> tuple[TableExported, ...]:
    total = sum(snapshot.table(key).pin.row_count for key in keys)
    with phase(events, "exporting", total=total, unit="rows") as exporting:
        return tuple(_write_table(snapshot, key, stream, exporting, memory_bytes) for key in keys)


def _write_table(
    snapshot: Snapshot, table_key: TableKey, stream: BinaryIO, exporting: Phase, memory_bytes: int | None
) -> TableExported:
    table = snapshot.table(table_key)
    stored, reading = stored_state(table)
    done = 0
    with reading():
        for chunk in stored.in_id_order(memory_bytes=memory_bytes):
            rows = max(1, chunk.num_rows * _RENDERED_BYTES // max(chunk.nbytes, 1))
            for start in range(0, chunk.num_rows, rows):
                piece = chunk.slice(start, rows)
                stream.write(render_lines(piece, table.entity))
                done += piece.num_rows
                exporting.advance(piece.num_rows)
    return TableExported(table_key=table_key, rows=done)


__all__ = ["ExportResult", "TableExported", "run_export", "write_snapshot"]
