"""A graph for maintenance: every kind of index, blobs, an edge type, and a history of many small writes."""

import base64
import random
from collections.abc import Callable
from typing import Any

import omnigraph
from omnigraph.base.events import Event, PhaseFinished
from omnigraph.catalog.model import TableKey
from omnigraph.graph import Graph
from omnigraph.storage.layout import TableLayout, read_layout
from support.harbor import edge, lines

DIMENSION = 8
SCHEMA = f"""
node Book {{
    slug: String @key
    title: String @index
    year: I32? @index
    cover: Blob?
    vec: Vector({DIMENSION})? @index
}}
node Shelf {{ label: String @key }}
edge Cites: Book -> Book {{ page: I32? }}
"""
BOOK, CITES = TableKey("node:Book"), TableKey("edge:Cites")


def book(number: int, title: str = "an early draft", **more: Any) -> dict[str, Any]:
    return {"type": "Book", "data": {"slug": f"b{number}", "title": title, "year": 1900 + number % 100, **more}}


def vector(number: int) -> list[float]:
    chance = random.Random(number)
    return [chance.uniform(-1, 1) for _ in range(DIMENSION)]


def cover(size: int, number: int = 0) -> str:
    return "base64:" + base64.b64encode(random.Random(number).randbytes(size)).decode()


def library(uri: str, *, loads: int = 4, rows: int = 3) -> Graph:
    """Create a graph of several small fragments per table, with updated and deleted rows among them."""
    graph = omnigraph.init(uri, SCHEMA)
    for load in range(loads):
        numbers = range(load * rows, (load + 1) * rows)
        records = [book(number) for number in numbers]
        records += [edge("Cites", f"b{number}", f"b{load * rows}", id=f"c{number}") for number in numbers]
        graph.load(lines(records), mode="append")
    with graph.write() as batch:
        batch.update("Book", {"title": "a late edition"}, ids=["b1"])
        batch.delete("Book", ids=["b2"])
    return graph


def layout(graph: Graph, table_key: TableKey = BOOK, branch: str = "main") -> TableLayout:
    """Return how a table lies on disk at its pin."""
    (pin,) = [pin for pin in graph.snapshot(branch).tables if pin.table_key == table_key]
    return read_layout(graph._context.store.tables.open(pin.address, pin.version))


def fragments(graph: Graph, table_key: TableKey = BOOK, branch: str = "main") -> int:
    return len(layout(graph, table_key, branch).fragments)


def segments(graph: Graph, table_key: TableKey = BOOK, branch: str = "main") -> dict[str, int]:
    return {index.name: len(index.segments) for index in layout(graph, table_key, branch).indexes}


def uncovered(graph: Graph, table_key: TableKey = BOOK, branch: str = "main") -> dict[str, int]:
    found = layout(graph, table_key, branch)
    return {index.name: len(found.uncovered(index)) for index in found.indexes}


def found_by_index(graph: Graph, where: str, *, type_name: str = "Book", branch: str = "main") -> list[str]:
    """Look rows up, and insist that an index answers."""
    scanner = graph.snapshot(branch).table(type_name).scanner(filter=where, columns=["id"])
    assert "ScalarIndexQuery" in scanner.explain_plan(), scanner.explain_plan()
    return sorted(scanner.to_table()["id"].to_pylist())


def found_by_words(graph: Graph, words: str, branch: str = "main") -> list[str]:
    scanner = graph.snapshot(branch).table("Book").scanner(full_text_query=words, columns=["id"])
    return sorted(scanner.to_table()["id"].to_pylist())


def lookups_agree(graph: Graph, branch: str = "main") -> None:
    """Insist that every row is found through the index on its id and by its words, and nothing else is."""
    rows = graph.snapshot(branch).table("Book").to_arrow(["id", "title"]).to_pylist()
    for row in rows:
        assert found_by_index(graph, f"id = '{row['id']}'", branch=branch) == [row["id"]]
    for word in ("early", "late"):
        with_word = sorted(row["id"] for row in rows if word in row["title"])
        assert found_by_words(graph, word, branch) == with_word


def after_last_task(
    action: Callable[[], object], *, times: int = 1, phase: str = "rewriting and indexing"
) -> Callable[[Event], None]:
    """Make a receiver that acts when all files of a phase are written and none is committed."""
    left = [times]

    def receive(event: Event) -> None:
        if isinstance(event, PhaseFinished) and event.phase == phase and left[0]:
            left[0] -= 1
            action()

    return receive
