"""Random reads of random graphs, answered by every way there is and by one that tries everything."""

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.catalog.model import Catalog
from omnigraph.errors import QueryTypeError
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.query.access import GraphAccess
from omnigraph.query.columns import result_schema
from omnigraph.query.opening import open_image, open_lookups, open_tables
from omnigraph.query.plain import PlainAccess
from omnigraph.query.plan.planner import plan_read
from omnigraph.query.run import products
from omnigraph.query.run.bindings import Run
from omnigraph.query.run.execute import execute
from omnigraph.query.sql.answers import answer_over, answer_with_duckdb
from omnigraph.query.sql.statement import Asked
from omnigraph.query.typed import CheckedRead
from support import query_worlds
from support.naive_answers import NOW_MS, insist_equal
from support.naive_query import Naive, NaiveGraph
from support.plain_tables import TablesInMemory
from support.sailors import check

WORLD = query_worlds.catalog()


Answers = Callable[[Snapshot, CheckedRead, Any], pa.Table]

NO_SEARCH: Any = None
"""Nothing that is generated here searches."""


def answered(access: GraphAccess, world: Catalog, read: CheckedRead, sizes: Any) -> pa.Table:
    run = Run(access=access, catalog=world, parameters={}, now_ms=NOW_MS, search=NO_SEARCH)
    return execute(run, plan_read(read, sizes), result_schema(read))


def checked(text: str, world: Catalog) -> CheckedRead:
    try:
        read = check(text, world)
    except QueryTypeError:
        assume(False)
        raise
    assert isinstance(read, CheckedRead)
    return read


# Whatever the planner believes about sizes, the rows are the same.
SIZES = {
    "true": lambda graph: lambda entity: len({**graph.nodes, **graph.edges}.get(entity.name, {})),
    "large": lambda graph: lambda entity: 1_000_000,
    "odd": lambda graph: lambda entity: len(entity.name) ** 4 % 97,
}


@given(
    graph=query_worlds.graphs(),
    text=query_worlds.reads(),
    sizes=st.sampled_from(sorted(SIZES)),
    block=st.sampled_from([products.BLOCK_ROWS, 2]),
)
@settings(max_examples=250)
def test_the_executor_answers_as_trying_everything_does(graph: NaiveGraph, text: str, sizes: str, block: int) -> None:
    read = checked(text, WORLD)
    access = PlainAccess(TablesInMemory(graph, WORLD))  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(products, "BLOCK_ROWS", block)
        found = answered(access, WORLD, read, SIZES[sizes](graph))

    insist_equal(found, Naive(graph, read, {}, NOW_MS))


def by_access(opened: Callable[[Snapshot, CheckedRead], GraphAccess]) -> Answers:
    return lambda snapshot, read, sizes: answered(opened(snapshot, read), snapshot.catalog, read, sizes)


# Every way to answer about a snapshot; a new one is a line here.
WAYS: dict[str, Answers] = {
    "image": by_access(lambda snapshot, _: open_image(snapshot)),
    "tables": by_access(lambda snapshot, _: open_tables(snapshot)),
    "look-ups": by_access(open_lookups),
    "DuckDB": lambda snapshot, read, _: answer_with_duckdb(snapshot, Asked(read=read, parameters={}, now_ms=NOW_MS)),
}


def insist_on_every_way(snapshot: Snapshot, state: NaiveGraph, texts: list[str]) -> None:
    for text in texts:
        try:
            read = check(text, snapshot.catalog)
        except QueryTypeError:
            continue
        assert isinstance(read, CheckedRead)
        naive = Naive(state, read, {}, NOW_MS)
        for name, answers in WAYS.items():
            note(f"{name}: {text}")
            insist_equal(answers(snapshot, read, SIZES["true"](state)), naive)


@given(
    first=query_worlds.graphs(),
    second=query_worlds.graphs(),
    texts=st.lists(query_worlds.reads(), min_size=6, max_size=10, unique=True),
)
@settings(max_examples=3)
def test_every_way_answers_alike_with_and_without_indexes_after_commits_and_on_branches(
    first: NaiveGraph, second: NaiveGraph, texts: list[str]
) -> None:
    # A lease of a snapshot that is held may be written while the directory goes.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        graph = omnigraph.init(f"{folder}/world.omni", query_worlds.SCHEMA)
        graph.load(query_worlds.records(first), mode="merge")
        with graph.snapshot() as bare:
            insist_on_every_way(bare, first, texts)
        graph.optimize()
        with graph.snapshot() as indexed:
            insist_on_every_way(indexed, first, texts)
            # What comes now is in no index yet.
            graph.branches.create("later")
            graph.load(query_worlds.records(second), mode="merge", branch="later")
            both = query_worlds.merged(first, second)
            with graph.snapshot("later") as later:
                insist_on_every_way(later, both, texts)
            graph.load(query_worlds.records(both), mode="merge")
            with graph.snapshot() as head:
                insist_on_every_way(head, both, texts)
            insist_on_every_way(indexed, first, texts[:2])


@given(graph=query_worlds.graphs(), text=query_worlds.reads())
@settings(max_examples=100, deadline=None)
def test_one_sql_statement_answers_as_trying_everything_does(graph: NaiveGraph, text: str) -> None:
    read = checked(text, WORLD)

    found = answer_over(query_worlds.tables(graph, WORLD), Asked(read=read, parameters={}, now_ms=NOW_MS))

    insist_equal(found, Naive(graph, read, {}, NOW_MS))
