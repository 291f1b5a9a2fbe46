"""Counting suspects: the stored rows that a screening asks for are cut into buckets, then each bucket is asked.

The statement is the same for every bucket and on both engines.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.base.events import Events, Phase, phase
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.engine.interface import Engine, Relations
from omnigraph.engine.local import worker_engine
from omnigraph.pipeline.load.bulk.buckets import Buckets, Facet, bucket_name
from omnigraph.pipeline.load.bulk.reading import LoadTask
from omnigraph.pipeline.load.bulk.screening import Screening
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.worker_files import worker_store
from omnigraph.writes.constraints.keys import StoredFragments, read_stored_keys, stored_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """Stored rows of one type whose facets are wanted in buckets."""

    fragments: StoredFragments
    facets: tuple[Facet, ...]
    buckets: Buckets
    name: str


def keep_stored(task: StoredTask) -> str:
    """Cut stored rows; return the name of what was kept."""
    found = task.fragments
    scratch = Scratch(worker_store(found.uri, found.operation_id), found.operation_id)
    keys = pa.Table.from_batches(read_stored_keys(found), stored_schema(found.entity, has_content=False))
    task.buckets.keep(scratch, task.name, "s", [(facet, keys) for facet in task.facets])
    return task.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketTask:
    """One bucket of all relations of a statement, and the names of what holds them."""

    load: LoadTask
    bucket: int
    kept: tuple[str, ...]
    schema_by_relation: Mapping[str, pa.Schema]
    statement: str
    threads: int


def count_suspects(task: BucketTask) -> int:
    """Run the statement over one bucket."""
    scratch = Scratch(worker_store(task.load.uri, task.load.operation_id), task.load.operation_id)
    parts = {name: [schema.empty_table()] for name, schema in task.schema_by_relation.items()}
    for name in task.kept:
        for relation, rows in scratch.read_tables(bucket_name(name, task.bucket)).items():
            if relation in parts:
                parts[relation].append(rows)
    relations: Relations = {name: pa.concat_tables(found) for name, found in parts.items()}
    return int(worker_engine(task.threads).sql(relations, task.statement)["suspects"][0].as_py())


def count_all_suspects(
    engine: Engine,
    load: LoadTask,
    screening: Screening,
    *,
    incoming: Sequence[str],
    stored: Callable[[TableKey], Sequence[StoredFragments]],
    incoming_rows: int,
    events: Events,
) -> int:
    """Count the suspects of all buckets; `incoming` names what the readers of pieces kept."""
    tasks = [
        StoredTask(fragments=fragments, facets=facets, buckets=load.buckets, name=f"stored-{ids.new_ulid()}")
        for key, facets in screening.stored_facets().items()
        for fragments in stored(key)
    ]
    stored_rows = [task.fragments.rows for task in tasks]
    with phase(events, "reading stored keys", total=sum(stored_rows), unit="rows") as reading:
        kept = (*incoming, *engine.map(keep_stored, tasks, weights=stored_rows, watch=reading.reach))
    buckets = [
        BucketTask(
            load=load,
            bucket=bucket,
            kept=kept,
            schema_by_relation=screening.schema_by_relation,
            statement=screening.statement,
            threads=engine.threads_each(load.buckets.count),
        )
        for bucket in range(load.buckets.count)
    ]
    rows = incoming_rows + sum(stored_rows)
    share = -(-rows // max(1, len(buckets)))
    with phase(events, "checking", total=rows, unit="rows") as checking:
        watch = partial(_reach_at_most, checking, rows)
        return sum(engine.map(count_suspects, buckets, weights=[share] * len(buckets), watch=watch))


def _reach_at_most(checking: Phase, rows: int, done: int) -> None:
    checking.reach(min(done, rows))
