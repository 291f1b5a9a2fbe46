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
from omnigraph.engine.interface import Engine
from omnigraph.engine.local import worker_engine
from omnigraph.pipeline.load.bulk.buckets import Facet, keep_facets
from omnigraph.pipeline.load.bulk.reading import LoadTask
from omnigraph.pipeline.load.bulk.screening import Screening
from omnigraph.storage.worker_files import ScratchPlace
from omnigraph.writes.constraints.keys import StoredFragments, read_stored_keys, stored_schema
from omnigraph.writes.exchange.cutting import Buckets
from omnigraph.writes.exchange.stages import gather, list_files


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """Stored rows of one type whose facets are wanted in buckets."""

    scratch: ScratchPlace
    fragments: StoredFragments
    facets: tuple[Facet, ...]
    buckets: Buckets
    name: str


def keep_stored(task: StoredTask) -> str:
    """Cut stored rows; return the name of what was kept."""
    found = task.fragments
    keys = pa.Table.from_batches(read_stored_keys(found), stored_schema(found.entity, has_content=False))
    keep_facets(task.buckets, task.scratch.open(), task.name, [("s", facet, keys) for facet in task.facets])
    return task.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketsTask:
    """What is the same for all buckets: the statement, its relations, and which file names those that hold them."""

    scratch: ScratchPlace
    kept: str
    schema_by_relation: Mapping[str, pa.Schema]
    statement: str
    threads: int


def count_suspects(task: BucketsTask, bucket: int) -> tuple[int, int]:
    """Run the statement over one bucket; return how many suspects it has, and edges whose sources are named again."""
    relations = gather(task.scratch.open(), [task.kept], bucket, task.schema_by_relation)
    (found,) = worker_engine(task.threads).sql(relations, task.statement).to_pylist()
    return found["suspects"], found["named_again"]


def count_all_suspects(
    engine: Engine,
    load: LoadTask,
    screening: Screening,
    *,
    incoming: Sequence[str],
    stored: Callable[[TableKey], Sequence[StoredFragments]],
    incoming_rows: int,
    edges_going: int,
    events: Events,
) -> int:
    """Count the suspects of all buckets; `incoming` names what the readers of pieces kept.

    So are edges that go while no record names their source: `edges_going` is how many there are of which this matters.
    """
    tasks = [
        StoredTask(
            scratch=load.scratch,
            fragments=fragments,
            facets=facets,
            buckets=load.buckets,
            name=f"stored-{ids.new_ulid()}",
        )
        for key, facets in screening.stored_facets().items()
        for fragments in stored(key)
    ]
    stored_rows = [task.fragments.rows for task in tasks]
    with phase(events, "reading stored keys", total=sum(stored_rows), unit="rows") as reading:
        kept = (*incoming, *engine.map(keep_stored, tasks, weights=stored_rows, watch=reading.reach))
    task = BucketsTask(
        scratch=load.scratch,
        kept=list_files(load.scratch.open(), "kept", kept),
        schema_by_relation=screening.schema_by_relation,
        statement=screening.statement,
        threads=engine.threads_each(load.buckets.count),
    )
    rows = incoming_rows + sum(stored_rows)
    share = -(-rows // load.buckets.count)
    with phase(events, "checking", total=rows, unit="rows") as checking:
        found = list(
            engine.map(
                partial(count_suspects, task),
                range(load.buckets.count),
                weights=[share] * load.buckets.count,
                watch=partial(_reach_at_most, checking, rows),
            )
        )
    return sum(suspects for suspects, _ in found) + edges_going - sum(named_again for _, named_again in found)


def _reach_at_most(checking: Phase, rows: int, done: int) -> None:
    checking.reach(min(done, rows))
