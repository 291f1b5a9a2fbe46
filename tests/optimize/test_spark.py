"""Optimize on Spark does what optimize in this process does: the same behaviours on copies of one graph, compared."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.maintenance.optimize import builds
from omnigraph.maintenance.optimize.report import OptimizeResult, TableReport
from support import harbor, library
from support.library import BOOK, CITES, after_last_task

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Behaviour = Callable[[Graph, str], OptimizeResult]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph with vectors to train on, a blob, and deleted and updated rows."""
    uri = str(tmp_path_factory.mktemp("optimize") / "stocked.omni")
    graph = library.library(uri, loads=3)
    for first in (1_000, 1_150):
        records = [library.book(number, vec=library.vector(number)) for number in range(first, first + 150)]
        graph.load(harbor.lines(records), mode="append")
    graph.load(harbor.lines([library.book(50, cover=library.cover(70_000))]), mode="append")
    return uri


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Everything about a run that must not depend on where it ran."""

    tables: Any
    bytes_left: int
    content: Any
    layouts: Any
    commits: Any


def comparable(row: TableReport) -> TableReport:
    """Leave out times, and the bytes of the graph's own tables: these hold times and random ids, which pack unlike."""
    own = {"bytes_read": 0, "bytes_written": 0} if row.table_key.startswith("_") else {}
    return replace(row, duration_ms=0, pause_ms=0, **own)


def outcome(graph: Graph, result: OptimizeResult, branch: str = "main") -> Outcome:
    return Outcome(
        tables=[comparable(row) for row in result.tables],
        bytes_left=result.bytes_left,
        content=harbor.content(graph, branch=branch),
        layouts=[
            (
                [(fragment.physical_rows, fragment.deleted_rows) for fragment in found.fragments],
                {index.name: len(index.segments) for index in found.indexes},
                {index.name: len(found.uncovered(index)) for index in found.indexes},
            )
            for found in (library.layout(graph, key, branch) for key in (BOOK, CITES))
        ],
        commits=[(commit.kind, commit.actor_id) for commit in graph.commits(branch=branch)],
    )


def some_lookups_agree(graph: Graph, branch: str) -> None:
    """Look up rows of every fragment that there was, and words that updates have changed."""
    rows = graph.snapshot(branch).table("Book").to_arrow(["id", "title"]).to_pylist()
    for row in rows[::31]:
        assert library.found_by_index(graph, f"id = '{row['id']}'", branch=branch) == [row["id"]]
    late = sorted(row["id"] for row in rows if "late" in row["title"])
    assert library.found_by_words(graph, "late", branch) == late


def once(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine)


def once_on_a_branch(graph: Graph, engine: str) -> OptimizeResult:
    graph.branches.create("review")
    for number in (60, 61):
        graph.load(harbor.lines([library.book(number)]), mode="append", branch="review")
    return graph.optimize(engine=engine, branch="review")


def verified(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, verify=True)


def without_indexes(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, reindex=False)


def one_table(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, tables=[CITES])


def few_bytes(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, max_bytes=1)


def small_targets(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, target_rows=100)


def no_time_left(graph: Graph, engine: str) -> OptimizeResult:
    return graph.optimize(engine=engine, max_seconds=0.0)


def drifted(graph: Graph, engine: str) -> OptimizeResult:
    (pin,) = [pin for pin in graph.snapshot().tables if pin.table_key == CITES]
    graph._context.store.tables.fresh_head(pin.address).dataset.optimize.compact_files()
    return graph.optimize(engine=engine)


def beside_an_append(graph: Graph, engine: str) -> OptimizeResult:
    def append() -> None:
        omnigraph.open(graph.uri).load(harbor.lines([library.book(500)]), mode="append")

    return graph.optimize(engine=engine, events=after_last_task(append))


def beside_a_delete(graph: Graph, engine: str) -> OptimizeResult:
    def delete() -> None:
        with omnigraph.open(graph.uri).write() as batch:
            batch.delete("Book", ids=["b4"])

    return graph.optimize(engine=engine, events=after_last_task(delete))


def after_more_rows(graph: Graph, engine: str) -> OptimizeResult:
    graph.optimize(engine="local")
    graph.load(harbor.lines([library.book(600, vec=library.vector(600))]), mode="append")
    with graph.write() as batch:
        batch.update("Book", {"title": "a late edition"}, ids=["b4"])
        batch.delete("Book", ids=["b5"])
    return graph.optimize(engine=engine)


def in_pieces(graph: Graph, engine: str) -> OptimizeResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "PIECE_ROWS", 60)
        return graph.optimize(engine=engine)


def large(graph: Graph, engine: str) -> OptimizeResult:
    """Do what is done to large tables: every index in pieces, BTREEs on the rewritten files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "PIECE_ROWS", 60)
        patch.setattr("omnigraph.maintenance.optimize.jobs.share_slots", lambda slots, chosen: [4 for _ in chosen])
        patch.setattr("omnigraph.maintenance.optimize.budget.FOLD_SECONDS_MAX", 0.0)
        return graph.optimize(engine=engine)


BEHAVIOURS: list[Behaviour] = [
    large,
    once,
    once_on_a_branch,
    verified,
    without_indexes,
    one_table,
    few_bytes,
    small_targets,
    no_time_left,
    drifted,
    beside_an_append,
    beside_a_delete,
    after_more_rows,
    in_pieces,
]


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.__name__)
def test_both_engines_leave_the_same_graph_and_say_the_same(stocked: str, tmp_path: Path, behaviour: Behaviour) -> None:
    branch = "review" if behaviour is once_on_a_branch else "main"
    found = {}
    for engine in ("local", "spark"):
        copy = shutil.copytree(stocked, tmp_path / f"{engine}.omni")
        graph = omnigraph.open(str(copy))
        result = behaviour(graph, engine)
        assert result.engine == engine
        found[engine] = outcome(graph, result, branch)
        assert harbor.pins_equal_heads(graph) or behaviour is drifted
        if library.segments(graph, branch=branch):
            some_lookups_agree(graph, branch)

    assert found["spark"] == found["local"]
    assert found["spark"].content


def test_a_run_with_nothing_to_do_starts_no_spark_although_it_is_asked_for(stocked: str, tmp_path: Path) -> None:
    graph = omnigraph.open(str(shutil.copytree(stocked, tmp_path / "copy.omni")))
    graph.optimize(engine="local")

    again = graph.optimize(engine="spark")

    assert (again.engine, again.engine_reason, again.commit) == ("local", "nothing to do", None)


def test_pieces_of_a_vector_index_share_one_model_and_answer_like_a_whole_one(stocked: str, tmp_path: Path) -> None:
    graph = omnigraph.open(str(shutil.copytree(stocked, tmp_path / "copy.omni")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "PIECE_ROWS", 60)
        graph.optimize(engine="spark")

    book = graph.snapshot().table("Book")
    for number in (1_000, 1_149, 1_150, 1_299):
        nearest = {"column": "vec", "q": library.vector(number), "k": 1}
        scanner = book.scanner(nearest=nearest, columns=["id", "_distance"])
        assert "ANNSubIndex" in scanner.explain_plan()
        assert scanner.to_table()["id"].to_pylist() == [f"b{number}"]
