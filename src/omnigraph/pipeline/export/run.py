"""Running an export: one snapshot, as the records that a load reads back, or as tables.

A stream and a single file get everything in order from this process. A directory or a prefix gets part files, which
the engine writes side by side.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.events import Advanced, Events, Warned
from omnigraph.catalog.model import TableKey
from omnigraph.errors import Io, NotConfirmed, Usage
from omnigraph.pipeline.export.parts import ExportFormat, PartTask, write_part
from omnigraph.pipeline.outputs import appearing_directory, appearing_file
from omnigraph.reads.snapshot import Snapshot
from omnigraph.records.rendering import render_lines
from omnigraph.storage.uris import is_bucket_uri
from omnigraph.writes.context import GraphContext
from omnigraph.writes.holding import hold_if_possible

PART_ROWS_MAX = 1 << 20
"""A million rows are a good file for whoever reads it, and many files keep all workers busy."""


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


def export_snapshot(
    context: GraphContext,
    snapshot: Snapshot,
    out: str | Path | BinaryIO,
    *,
    types: Sequence[str],
    form: ExportFormat,
    overwrite: bool,
    events: Events,
) -> ExportResult:
    """Write a snapshot to a stream, a file, an empty or new directory, or an empty prefix of a bucket.

    Files appear complete or not at all, and so does a directory as a whole. A file that exists needs `overwrite`.
    """
    uri = context.store.uri
    keys = snapshot.table_keys(types or [pin.table_key for pin in snapshot.tables])

    def warn(message: str) -> None:
        events(Warned(message=message))

    if not isinstance(out, (str, Path)):
        if form is not ExportFormat.JSONL:
            raise Usage(f"An export as {form} needs a directory to write to: --out DIR.", flag="--out")
        with hold_if_possible(context, snapshot.tables, operation="export", warn=warn):
            return run_export(snapshot, out, uri=uri, types=types, events=events)
    with hold_if_possible(context, snapshot.tables, operation="export", warn=warn):
        if is_bucket_uri(str(out)):
            tables = _write_prefix(context, snapshot, keys, str(out).rstrip("/"), form, events)
        elif form is not ExportFormat.JSONL or str(out).endswith("/") or Path(out).is_dir():
            tables = _write_directory(context, snapshot, keys, Path(out), form, events)
        else:
            tables = _write_file(snapshot, keys, Path(out), overwrite=overwrite, events=events)
    return _result(snapshot, tables, uri=uri, form=form, out=str(out))


def run_export(snapshot: Snapshot, out: BinaryIO, *, uri: str, types: Sequence[str], events: Events) -> ExportResult:
    """Write the snapshot to a stream as NDJSON: nodes before edges, types by name, entities by id."""
    keys = snapshot.table_keys(types or [pin.table_key for pin in snapshot.tables])
    tables = tuple(_write_table(snapshot, key, out, events) for key in keys)
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
        engine_reason=f"{sum(table.rows for table in tables)} rows",
    )


def _write_file(
    snapshot: Snapshot, keys: Sequence[TableKey], path: Path, *, overwrite: bool, events: Events
) -> tuple[TableExported, ...]:
    if path.exists() and not path.is_file():
        # A pipe or a device is not replaced by a file: it is written to.
        with path.open("wb") as stream:
            return tuple(_write_table(snapshot, key, stream, events) for key in keys)
    if path.exists() and not overwrite:
        raise NotConfirmed(
            f"{path} exists already and was left as it is; choose another name, or consent to replacing it with --yes "
            "(overwrite=True in Python).",
            command="export",
            target=str(path),
        )
    with appearing_file(path) as stream:
        return tuple(_write_table(snapshot, key, stream, events) for key in keys)


def _write_table(snapshot: Snapshot, table_key: TableKey, stream: BinaryIO, events: Events) -> TableExported:
    table = snapshot.table(table_key)
    done = 0
    for chunk in table.in_id_order():
        stream.write(render_lines(chunk, table.entity))
        done += chunk.num_rows
        events(Advanced(phase=f"export {table_key}", done=done, total=table.pin.row_count, unit="rows"))
    return TableExported(table_key=table_key, rows=done)


def _write_directory(
    context: GraphContext,
    snapshot: Snapshot,
    keys: Sequence[TableKey],
    directory: Path,
    form: ExportFormat,
    events: Events,
) -> tuple[TableExported, ...]:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        problem = "not empty" if directory.is_dir() else "a file"
        raise Io(f"The output directory {directory} is {problem}; choose another.", path=str(directory))
    with appearing_directory(directory, may_replace=False) as temporary:
        tasks = _tasks(context, snapshot, keys, str(temporary), form)
        for task in tasks:
            Path(task.out).parent.mkdir(parents=True, exist_ok=True)
        return _run(context, tasks, keys, snapshot, events)


def _write_prefix(
    context: GraphContext,
    snapshot: Snapshot,
    keys: Sequence[TableKey],
    prefix: str,
    form: ExportFormat,
    events: Events,
) -> tuple[TableExported, ...]:
    from omnigraph.storage.bucket import Bucket

    found = next(Bucket(prefix).list(prefix), None)
    if found is not None:
        raise Io(f"The output prefix {prefix} is not empty: it holds {found.uri}. Choose another.", path=prefix)
    return _run(context, _tasks(context, snapshot, keys, prefix, form), keys, snapshot, events)


def _tasks(
    context: GraphContext, snapshot: Snapshot, keys: Sequence[TableKey], directory: str, form: ExportFormat
) -> list[PartTask]:
    return [
        PartTask(
            root=context.store.root,
            storage_options=context.store.tables.storage_options,
            address=table.pin.address,
            version=table.pin.version,
            fragments=fragments,
            entity=table.entity,
            format=form,
            out=f"{directory}/{name}",
        )
        for table in map(snapshot.table, keys)
        for name, fragments in _parts(context, table.pin.table_key, snapshot, form)
    ]


def _parts(
    context: GraphContext, table_key: TableKey, snapshot: Snapshot, form: ExportFormat
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the files of a table, each with the fragments it holds; a Lance dataset is one file."""
    pin = snapshot.table(table_key).pin
    rows_by_fragment = context.store.tables.open(pin.address, pin.version).fragment_rows()
    groups: list[list[int]] = [[]]
    rows = 0
    for fragment, count in rows_by_fragment.items():
        if form is not ExportFormat.LANCE and groups[-1] and rows + count > PART_ROWS_MAX:
            groups.append([])
            rows = 0
        groups[-1].append(fragment)
        rows += count
    kind, _, name = table_key.partition(":")
    for number, fragments in enumerate(groups):
        match form:
            case ExportFormat.JSONL:
                part = f"{kind}.{name}.jsonl" if len(groups) == 1 else f"{kind}.{name}.{number:05d}.jsonl"
            case ExportFormat.PARQUET:
                part = f"{kind}/{name}/part-{number:05d}.parquet"
            case ExportFormat.LANCE:
                part = f"{kind}/{name}/data.lance"
        yield part, tuple(fragments)


def _run(
    context: GraphContext, tasks: Sequence[PartTask], keys: Sequence[TableKey], snapshot: Snapshot, events: Events
) -> tuple[TableExported, ...]:
    rows: dict[TableKey, int] = defaultdict(int)
    total = sum(snapshot.table(key).pin.row_count for key in keys)
    done = 0
    for part in context.engine.map(write_part, tasks):
        rows[part.table_key] += part.rows
        done += part.rows
        events(Advanced(phase="export", done=done, total=total, unit="rows"))
    return tuple(TableExported(table_key=key, rows=rows[key]) for key in keys)


__all__ = ["ExportResult", "TableExported", "export_snapshot", "run_export"]
