"""Statements over cut relations, bucket by bucket on the workers; what they find is cut again for the next stage.

A relation has the same name in the files of all workers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from operator import itemgetter
from typing import Any

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.grouping import grouped
from omnigraph.base.values import dataclass
from omnigraph.engine.interface import Engine, Produced, Watch
from omnigraph.engine.local import worker_engine
from omnigraph.storage.cut_files import read_cuts, read_cuts_between, read_relation, write_cuts
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import ScratchPlace
from omnigraph.writes.exchange.cutting import Buckets, cut_by_number

_GROUP_ROWS = 1 << 18
"""Readers of so many rows are worth a task of their own; smaller ones share one, and its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Rows to keep for later stages: which they are, and what they are cut by."""

    relation: str
    shelf: str
    """What is on one shelf is read together, and lies in one file of each worker."""
    columns: tuple[str, ...] = ()
    """All of them if none is named."""
    by: tuple[str, ...] = ()
    """Columns whose values decide the bucket; without any, rows stay in the bucket that they were found in."""
    by_number: str | None = None
    """A column that is the number of the bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statement of a step: over the step's relations, and over the results of the queries before it."""

    name: str
    text: str
    keeps: tuple[Kept, ...] = ()
    is_answer: bool = False
    """Whether its result, which is small, goes to the driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Queries that belong together, and what the relations that they name are called on the shelves."""

    relations: Mapping[str, str]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Rows that workers read from storage, and how they keep them."""

    produced: Produced
    rows_by_task: tuple[int, ...]
    keeps: tuple[Kept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadTask:
    read: Callable[[Any], Iterator[pa.RecordBatch]]
    task: Any
    schema: pa.Schema
    keeps: tuple[Kept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """What is the same for all buckets of a stage."""

    place: ScratchPlace
    buckets: Buckets
    steps: tuple[Step, ...]
    lists: tuple[str, ...]
    """The tables in the scratch that name the files to read: no task carries the names of all files."""
    schema_by_relation: Mapping[str, pa.Schema]
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    files: tuple[tuple[str, str], ...]
    """Shelves, and the names of what is kept on them."""
    answers: tuple[tuple[str, pa.Table], ...] = ()


@dataclass(kw_only=True)
class Exchange:
    """The relations of one operation, as far as its driver knows them: by the names of files."""

    engine: Engine
    place: ScratchPlace
    buckets: Buckets
    _files: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _schemas: dict[str, pa.Schema] = field(default_factory=dict)

    def read(self, readings: Sequence[Reading], *, watch: Watch | None = None) -> None:
        """Have workers read rows and cut them."""
        tasks: list[tuple[_ReadTask, int]] = []
        for reading in readings:
            for kept in reading.keeps:
                self._schemas[kept.relation] = _chosen(reading.produced.schema.empty_table(), kept).schema
            for task, count in zip(reading.produced.tasks, reading.rows_by_task, strict=True):
                produced = reading.produced
                read = _ReadTask(read=produced.read, task=task, schema=produced.schema, keeps=reading.keeps)
                tasks.append((read, count))
        groups = list(grouped(tasks, (itemgetter(1), _GROUP_ROWS)))
        weights = [sum(rows for _, rows in group) for group in groups]
        function = partial(_keep_read, self.place, self.buckets)
        work = [tuple(task for task, _ in group) for group in groups]
        for done in self.engine.map(function, work, weights=weights, watch=watch):
            self._take_in(done)

    def run(self, shelves: Sequence[str], steps: Sequence[Step]) -> dict[str, pa.Table]:
        """Run steps over all buckets of some shelves; return the answers of all buckets, one below the other."""
        if not steps:
            return {}
        answers = self._infer(steps)
        stage = _Stage(
            place=self.place,
            buckets=self.buckets,
            steps=tuple(steps),
            lists=tuple(self._listed(shelf) for shelf in shelves),
            schema_by_relation={name: self._schemas[name] for step in steps for name in step.relations.values()},
            threads=self.engine.threads_each(self.buckets.count),
        )
        for done in self.engine.map(partial(_run_bucket, stage), range(self.buckets.count)):
            self._take_in(done)
            for name, rows in done.answers:
                answers[name].append(rows)
        return {name: pa.concat_tables(rows) for name, rows in answers.items()}

    def declare(self, schema_by_relation: Mapping[str, pa.Schema]) -> None:
        """Say which columns relations have that perhaps no stage will make: to later ones they are empty."""
        self._schemas.update(schema_by_relation)

    def forget(self, shelf: str) -> None:
        """Leave out what was kept on a shelf so far."""
        self._files[shelf].clear()

    def listed(self, shelf: str, relations: Iterable[str]) -> "ScratchShelf":
        """Return a shelf for tasks that read buckets of it by themselves."""
        schemas = {relation: self._schemas[relation] for relation in relations}
        return ScratchShelf(place=self.place, files=self._listed(shelf), schema_by_relation=schemas)

    def produced(self, relation: str, shelf: str, *, rows: int) -> Produced:
        """Describe a kept relation for statements of the engine."""
        tasks = tuple(KeptFile(place=self.place, name=name, relation=relation) for name in self._files[shelf])
        return Produced(schema=self._schemas[relation], read=_read_kept, tasks=tasks, rows=rows)

    def _take_in(self, done: _Done) -> None:
        for shelf, file in done.files:
            self._files[shelf].append(file)

    def _listed(self, shelf: str) -> str:
        return list_files(self.place.open(), shelf, self._files[shelf])

    def _infer(self, steps: Sequence[Step]) -> dict[str, list[pa.Table]]:
        """Find out which columns the steps will keep, by running them over nothing; return places for the answers."""
        answers = {}
        for step in steps:
            nothing = {name: self._schemas[relation].empty_table() for name, relation in step.relations.items()}
            for query in step.queries:
                nothing[query.name] = worker_engine(1).sql(nothing, query.text)
                for kept in query.keeps:
                    self._schemas[kept.relation] = _chosen(nothing[query.name], kept).schema
                if query.is_answer:
                    answers[query.name] = [nothing[query.name].schema.empty_table()]
        return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchShelf:
    """What all workers kept on one shelf, as a task finds it."""

    place: ScratchPlace
    files: str
    schema_by_relation: Mapping[str, pa.Schema]

    def rows(self, relation: str, bucket: int) -> pa.Table:
        """Return one bucket of a relation."""
        wanted = {relation: self.schema_by_relation[relation]}
        return gather(self.place.open(), (self.files,), bucket, wanted)[relation]

    def rows_between(self, relation: str, first: int, last: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield what all workers kept of a relation in neighbouring buckets, each file read once."""
        scratch = self.place.open()
        for name in scratch.read_table(self.files)["name"].to_pylist():
            for bucket, kept_as, rows in read_cuts_between(scratch, name, first, last):
                if kept_as == relation:
                    yield bucket, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    """What one worker kept of one relation."""

    place: ScratchPlace
    name: str
    relation: str


def _read_kept(kept: KeptFile) -> Iterator[pa.RecordBatch]:
    for rows in read_relation(kept.place.open(), kept.name, kept.relation):
        yield from rows.to_batches()


def _keep_read(place: ScratchPlace, buckets: Buckets, tasks: tuple[_ReadTask, ...]) -> _Done:
    keeping = _Keeping(place=place, buckets=buckets)
    for task in tasks:
        rows = pa.Table.from_batches(task.read(task.task), task.schema)
        for kept in task.keeps:
            keeping.add(kept, rows, bucket=0)
    return _Done(files=keeping.finish())


def _run_bucket(stage: _Stage, bucket: int) -> _Done:
    engine, keeping = worker_engine(stage.threads), _Keeping(place=stage.place, buckets=stage.buckets)
    found = gather(stage.place.open(), stage.lists, bucket, stage.schema_by_relation)
    answers = []
    for step in stage.steps:
        relations = {name: found[relation] for name, relation in step.relations.items()}
        for query in step.queries:
            rows = relations[query.name] = engine.sql(relations, query.text)
            for kept in query.keeps:
                keeping.add(kept, rows, bucket=bucket)
            if query.is_answer:
                answers.append((query.name, rows))
    return _Done(files=keeping.finish(), answers=tuple(answers))


@dataclass(kw_only=True)
class _Keeping:
    """Collects what one task keeps, and writes one file per shelf."""

    place: ScratchPlace
    buckets: Buckets
    _cuts: dict[str, list[tuple[int, str, pa.Table]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kept: Kept, rows: pa.Table, *, bucket: int) -> None:
        found = _chosen(rows, kept)
        if not found.num_rows:
            return
        if kept.by_number is not None:
            cuts = cut_by_number(found, found[kept.by_number])
        else:
            cuts = self.buckets.cut(found, kept.by) if kept.by else iter([(bucket, found)])
        self._cuts[kept.shelf] += [(number, kept.relation, part) for number, part in cuts]

    def finish(self) -> tuple[tuple[str, str], ...]:
        scratch, files = self.place.open(), []
        for shelf, cuts in self._cuts.items():
            # A task may run twice, and only the files that its outcome names count.
            name = f"{shelf}-{ids.new_ulid()}"
            write_cuts(scratch, name, cuts)
            files.append((shelf, name))
        return tuple(files)


def list_files(scratch: Scratch, what: str, names: Iterable[str]) -> str:
    """Keep the names of files in a file: it is written once, and no task carries them all."""
    name = f"files-{what}-{ids.new_ulid()}"
    scratch.write_table(name, pa.table({"name": pa.array(names, pa.string())}))
    return name


def gather(
    scratch: Scratch, lists: Iterable[str], bucket: int, schemas: Mapping[str, pa.Schema]
) -> dict[str, pa.Table]:
    """Put one bucket of relations together from all files that the lists name."""
    parts: dict[str, list[pa.Table]] = {name: [schema.empty_table()] for name, schema in schemas.items()}
    for listed in lists:
        for name in scratch.read_table(listed)["name"].to_pylist():
            for relation, rows in read_cuts(scratch, name, bucket):
                if relation in parts:
                    parts[relation].append(rows)
    return {name: pa.concat_tables(found) for name, found in parts.items()}


def _chosen(rows: pa.Table, kept: Kept) -> pa.Table:
    return rows.select(kept.columns) if kept.columns else rows
