"""An export as many files, which the workers of an engine write side by side.

Which files there are and what is in them depends on the snapshot alone, so every engine writes the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from omnigraph.base import ids
from omnigraph.base.events import Events, phase
from omnigraph.base.grouping import fitted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.choice import EngineChoice, Work
from omnigraph.engine.opening import open_engine
from omnigraph.errors import Io
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.pipeline.export.parts import PartTask, PartWritten, export_traits, exported_schema, write_part
from omnigraph.pipeline.export.request import ExportFormat
from omnigraph.pipeline.outputs import appearing_directory
from omnigraph.storage.layout import FragmentLayout, TableLayout, read_layout
from omnigraph.storage.uris import is_bucket_uri
from omnigraph.storage.worker_files import shared_with_workers

PART_ROWS_MAX = 1 << 20
"""A million rows are a good file for whoever reads it, and many files keep all workers busy."""
DATASET_PART_ROWS_MAX = 1 << 18
"""Whoever reads a dataset does not meet its files, so they are made for the workers: also for those of small tables."""


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
                state=table.pin.state,
                fragments=part.fragment_ids,
                rows=part.rows,
                entity=table.entity,
                format=self.form,
                out=f"{directory}/{name}",
                number=number,
                offset=part.offset,
            )
            for table in map(self.snapshot.table, self.keys)
            for number, (name, part) in enumerate(
                _parts(self._layout(table.pin.table_key), table.pin.table_key, self.form)
            )
        ]

    def _layout(self, table_key: TableKey) -> TableLayout:
        return read_layout(self.snapshot.table(table_key).pin.state.open(self.context.store.tables))

    def _run(self, tasks: Sequence[PartTask]) -> tuple[TableExported, ...]:
        store = self.context.store
        written: dict[TableKey, list[PartWritten]] = defaultdict(list)
        with ExitStack() as ending:
            ending.enter_context(shared_with_workers(store, self._operation_id))
            engine, self.engine_reason = open_engine(
                self.choice,
                Work.EXPORT,
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
                    written[part.table_key].append(part)
            if export_traits(self.form).is_dataset:
                _commit_datasets(tasks, written)
        return tuple(TableExported(table_key=key, rows=sum(part.rows for part in written[key])) for key in self.keys)


def _refuse_used_directory(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        problem = "not empty" if directory.is_dir() else "a file"
        raise Io(f"The output directory {directory} is {problem}; choose another.", path=str(directory))


def _refuse_used_prefix(prefix: str) -> None:
    from omnigraph.storage.bucket import Bucket

    found = next(Bucket(prefix).list(prefix), None)
    if found is not None:
        raise Io(f"The output prefix {prefix} is not empty: it holds {found.uri}. Choose another.", path=prefix)


def _commit_datasets(tasks: Sequence[PartTask], written: Mapping[TableKey, Sequence[PartWritten]]) -> None:
    """Make every table's files one dataset, with its rows in the order of the table."""
    from omnigraph.storage.foreign import commit_foreign_dataset

    for task in tasks:
        if task.number == 0:
            parts = sorted(written[task.entity.table_key], key=lambda part: part.number)
            files = [file for part in parts for file in part.files]
            commit_foreign_dataset(task.out, exported_schema(task.entity), files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Some fragments, or some rows of one."""

    fragment_ids: tuple[int, ...] = ()
    rows: int = 0
    offset: int | None = None


_NOTHING = _Part()


def _parts(layout: TableLayout, table_key: TableKey, form: ExportFormat) -> Iterator[tuple[str, _Part]]:
    """Yield the parts of a table, each with the file that it becomes or the dataset that it belongs to."""
    kind, _, name = table_key.partition(":")
    traits = export_traits(form)
    parts = _even_parts(layout) if traits.is_dataset else _grouped(layout.fragments, PART_ROWS_MAX)
    for number, part in enumerate(parts):
        yield traits.file_name(kind, name, number, len(parts)), part


def _even_parts(layout: TableLayout) -> list[_Part]:
    """Put small fragments together and cut large ones, so that also a table of one fragment keeps several workers."""
    parts: list[_Part] = []
    for is_large, run in groupby(layout.fragments, lambda fragment: fragment.live_rows > DATASET_PART_ROWS_MAX):
        if not is_large:
            parts += _grouped(run, DATASET_PART_ROWS_MAX)
            continue
        for fragment in run:
            for offset in range(0, fragment.live_rows, DATASET_PART_ROWS_MAX):
                rows = min(DATASET_PART_ROWS_MAX, fragment.live_rows - offset)
                parts.append(_Part(fragment_ids=(fragment.fragment_id,), rows=rows, offset=offset))
    return parts or [_NOTHING]


def _grouped(fragments: Iterable[FragmentLayout], rows_max: int) -> list[_Part]:
    """Put fragments together until they are worth a file; there is always one, if only an empty one."""
    groups = fitted(fragments, (attrgetter("live_rows"), rows_max))
    parts = [
        _Part(
            fragment_ids=tuple(fragment.fragment_id for fragment in group),
            rows=sum(fragment.live_rows for fragment in group),
        )
        for group in groups
    ]
    return parts or [_NOTHING]
