"""One part of an export: some fragments of one table into one file, on whatever worker it runs.

A task is plain data, so it may travel; it opens the table itself. It may run twice: it writes under its own name inside
a directory that nobody looks at before the export is complete.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa

from omnigraph.base import work
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.model import EdgeType, EntityType, TableKey
from omnigraph.errors import Internal, OmniError, StorageError
from omnigraph.pipeline.export.request import ExportFormat
from omnigraph.pipeline.outputs import appearing_file
from omnigraph.records.rendering import render_lines
from omnigraph.records.tables import content_schema
from omnigraph.storage.blob_columns import BlobForm
from omnigraph.storage.tables import StateAddress, Table
from omnigraph.storage.uris import is_bucket_uri
from omnigraph.storage.worker_files import worker_store


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTask:
    """What one worker writes."""

    uri: str
    operation_id: str
    state: StateAddress
    fragments: tuple[int, ...]
    rows: int
    """How many rows the part holds, for whoever follows the progress."""
    entity: EntityType
    format: ExportFormat
    out: str
    """The file, or the dataset that all parts of a table belong to."""
    number: int = 0
    """Which part of its table it is."""
    offset: int | None = None
    """Where in its one fragment a part begins that is not all of it; None for whole fragments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWritten:
    """How many entities of a table a part holds."""

    table_key: TableKey
    rows: int
    number: int
    files: tuple[str, ...] = ()
    """What the commit of a dataset needs to know of the data files in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTraits:
    """How tables are written in a format."""

    write: Callable[[Table, PartTask], tuple[int, tuple[str, ...]]]
    """Writes one part; returns how many rows it has, and what `PartWritten.files` says."""
    file_name: Callable[[str, str, int, int], str]
    """What a part becomes, below the directory: of a kind and name of type, its number, and how many there are."""
    is_dataset: bool = False
    """Whether all parts of a table become one dataset, committed at the end."""


def export_traits(form: ExportFormat) -> ExportTraits:
    """Return how tables are written in a format."""
    found = EXPORT_FORMATS.get(form)
    if found is None:
        raise Internal(f"pipeline/export/parts.py does not say how the format {form} is written")
    return found


def write_part(task: PartTask) -> PartWritten:
    """Write one part; the directory of a local file exists already."""
    table = task.state.open(worker_store(task.uri, task.operation_id).tables)
    rows, files = export_traits(task.format).write(table, task)
    return PartWritten(table_key=task.entity.table_key, rows=rows, number=task.number, files=files)


def _write_lines(table: Table, task: PartTask) -> tuple[int, tuple[str, ...]]:
    written = 0
    with _output(task.out) as stream:
        for rows in table.in_id_order(fragment_ids=task.fragments):
            stream.write(render_lines(rows, task.entity))
            written += rows.num_rows
            work.did(rows.num_rows)
    return written, ()


def _write_parquet(table: Table, task: PartTask) -> tuple[int, tuple[str, ...]]:
    import pyarrow.parquet as pq

    written = 0
    schema = exported_schema(task.entity)
    with _output(task.out) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for batch in _exported(table, task, schema):
            writer.write_batch(batch)
            written += batch.num_rows
            work.did(batch.num_rows)
    return written, ()


def _write_lance(table: Table, task: PartTask) -> tuple[int, tuple[str, ...]]:
    from omnigraph.storage.foreign import write_foreign_files

    if not task.rows:
        return 0, ()
    written = 0
    schema = exported_schema(task.entity)
    report = work.reporter()  # Lance asks for rows from a thread of its own
    failures: list[OmniError] = []

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal written
        try:
            for batch in _exported(table, task, schema):
                written += batch.num_rows
                yield batch
                report(batch.num_rows)
        except OmniError as error:
            failures.append(error)
            raise

    try:
        files = write_foreign_files(task.out, pa.RecordBatchReader.from_batches(schema, counted()))
    except StorageError as error:
        # Of what failed while it was given rows, Lance passes on only the text.
        raise failures[0] if failures else error from error
    return written, files


def exported_schema(entity: EntityType) -> pa.Schema:
    """Return the columns of an exported table: `id`, the ends of an edge as `from` and `to`, properties by name."""
    contents, stored = content_schema(entity), table_schema(entity)
    names = {"src": "from", "dst": "to"} if isinstance(entity, EdgeType) else {}
    return pa.schema(
        [
            pa.field(names.get(field.name, field.name), field.type, nullable=stored.field(field.name).nullable)
            for field in contents
        ]
    )


def _exported(table: Table, task: PartTask, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    stored = content_schema(task.entity).names
    limit = None if task.offset is None else task.rows
    for batch in table.scan(
        stored, offset=task.offset, limit=limit, fragment_ids=task.fragments, blobs=BlobForm.CONTENTS
    ):
        rows = pa.Table.from_batches([batch]).select(stored).rename_columns(schema.names).cast(schema)
        yield from rows.to_batches()


@contextmanager
def _output(out: str) -> Iterator[BinaryIO]:
    """Open a new local file, or a scratch file that becomes an object of a bucket when it is complete."""
    if not is_bucket_uri(out):
        with appearing_file(Path(out)) as stream:
            yield stream
        return
    from omnigraph.storage.bucket import Bucket

    with tempfile.TemporaryFile() as scratch:
        yield scratch
        scratch.seek(0)
        Bucket(out).write(out, scratch)


def _lines_file(kind: str, name: str, number: int, count: int) -> str:
    return f"{kind}.{name}.jsonl" if count == 1 else f"{kind}.{name}.{number:05d}.jsonl"


EXPORT_FORMATS: Final[Mapping[ExportFormat, ExportTraits]] = {
    ExportFormat.JSONL: ExportTraits(write=_write_lines, file_name=_lines_file),
    ExportFormat.PARQUET: ExportTraits(
        write=_write_parquet, file_name=lambda kind, name, number, _: f"{kind}/{name}/part-{number:05d}.parquet"
    ),
    ExportFormat.LANCE: ExportTraits(
        write=_write_lance, file_name=lambda kind, name, *_: f"{kind}/{name}/data.lance", is_dataset=True
    ),
}
"""How each format is written; its word is in `request.py`."""
