"""An export as many files, which the workers of an engine write side by side.

Which files there are and what is in them depends on the snapshot alone, so every engine writes the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path

from omnigraph.base import ids
from omnigraph.base.events import Events, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.choice import EngineChoice
from omnigraph.engine.opening import open_engine
from omnigraph.errors import Io
from omnigraph.pipeline.export.parts import ExportFormat, PartTask, write_part
from omnigraph.pipeline.outputs import appearing_directory
from omnigraph.reads.snapshot import Snapshot
from omnigraph.storage.layout import FragmentLayout, TableLayout, read_layout
from omnigraph.storage.uris import is_bucket_uri
from omnigraph.storage.worker_files import shared_with_workers
from omnigraph.writes.context import GraphContext

PART_ROWS_MAX = 1 << 20
"""A million rows are a good file for whoever reads it, and many files keep all workers busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExported:
    """How many entities of a table were written."""

    table_key: TableKey
    rows: int


@dataclass(kw_only=True)
class PartsExport:
    """One export to a directory or prefix; says afterwards where it ran, and why."""

    context: GraphContext
    snapshot: Snapshot
    keys: tuple[TableKey, ...]
    form: ExportFormat
    choice: EngineChoice
    events: Events
    engine: str = ""
    engine_reason: str = ""
    _operation_id: str = field(default_factory=ids.new_ulid)

    def write(self, out: str) -> tuple[TableExported, ...]:
        """Write all files; a directory appears as a whole."""
        if is_bucket_uri(out):
            prefix = out.rstrip("/")
            _refuse_used_prefix(prefix)
            return self._run(self._tasks(prefix))
        directory = Path(out)
        _refuse_used_directory(directory)
        with appearing_directory(directory, may_replace=False) as temporary:
            # Workers may run elsewhere in the file system.
            tasks = self._tasks(str(temporary.absolute()))
            for task in tasks:
                Path(task.out).parent.mkdir(parents=True, exist_ok=True)
            return self._run(tasks)

    def _tasks(self, directory: str) -> list[PartTask]:
        return [
            PartTask(
                uri=self.context.store.uri,
                operation_id=self._operation_id,
                address=table.pin.address,
                version=table.pin.version,
                fragments=tuple(fragment.fragment_id for fragment in fragments),
                rows=sum(fragment.live_rows for fragment in fragments),
                entity=table.entity,
                format=self.form,
                out=f"{directory}/{name}",
            )
            for table in map(self.snapshot.table, self.keys)
            for name, fragments in _parts(self._layout(table.pin.table_key), table.pin.table_key, self.form)
        ]

    def _layout(self, table_key: TableKey) -> TableLayout:
        pin = self.snapshot.table(table_key).pin
        return read_layout(self.context.store.tables.open(pin.address, pin.version))

    def _run(self, tasks: Sequence[PartTask]) -> tuple[TableExported, ...]:
        store = self.context.store
        rows: dict[TableKey, int] = defaultdict(int)
        with ExitStack() as ending:
            ending.enter_context(shared_with_workers(store, self._operation_id))
            engine, self.engine_reason = open_engine(
                self.choice,
                sum(fragment.bytes for key in self.keys for fragment in self._layout(key).fragments),
                local=self.context.engine,
                worker_environment=store.settings.environment,
                events=self.events,
            )
            self.engine = engine.name
            ending.callback(engine.close)
            weights = [task.rows for task in tasks]
            with phase(self.events, "exporting", total=sum(weights), unit="rows") as exporting:
                for part in engine.map(write_part, tasks, weights=weights, watch=exporting.reach):
                    rows[part.table_key] += part.rows
        return tuple(TableExported(table_key=key, rows=rows[key]) for key in self.keys)


def _refuse_used_directory(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        problem = "not empty" if directory.is_dir() else "a file"
        raise Io(f"The output directory {directory} is {problem}; choose another.", path=str(directory))


def _refuse_used_prefix(prefix: str) -> None:
    from omnigraph.storage.bucket import Bucket

    found = next(Bucket(prefix).list(prefix), None)
    if found is not None:
        raise Io(f"The output prefix {prefix} is not empty: it holds {found.uri}. Choose another.", path=prefix)


def _parts(
    layout: TableLayout, table_key: TableKey, form: ExportFormat
) -> Iterator[tuple[str, tuple[FragmentLayout, ...]]]:
    """Yield the files of a table, each with the fragments it holds; a Lance dataset is one file."""
    groups: list[list[FragmentLayout]] = [[]]
    rows = 0
    for fragment in layout.fragments:
        count = fragment.live_rows
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
