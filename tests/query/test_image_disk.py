"""Structures that are kept on disk: found again by another process, and never believed when something is wrong."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph
from omnigraph.errors import InvalidTarget
from omnigraph.graph import Graph
from omnigraph.query.image import images, known_states, saved
from omnigraph.query.image.disk import DISK_BYTES_VARIABLE, DiskCache
from omnigraph.query.image.graph_image import GraphImage
from omnigraph.query.image.images import Images
from omnigraph.query.image.shelf import CACHE_BYTES_VARIABLE, Shelf, shelf_bytes
from support.plain_graph import hold_against

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  tags: [String]? }
node Port { code: String @key }
edge Knows: Person -> Person { note: String? }
edge Visits: Person -> Port { days: I64? }
"""
KEY = ["something", 1, None]


@pytest.fixture(autouse=True)
def _everything_is_worth_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "_ROWS_MIN", 0)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    chance = random.Random(3)
    with graph.write() as batch:
        people = [{"name": f"p{n}", "age": chance.choice([None, n]), "nick": f"n{n % 3}"} for n in range(20)]
        batch.insert("Person", people)
        batch.insert("Port", [{"code": code} for code in "abc"])
        pairs = [(f"p{chance.randrange(20)}", f"p{chance.randrange(20)}") for _ in range(60)]
        batch.insert("Knows", [{"from": a, "to": b} for a, b in pairs])
        batch.insert("Visits", [{"from": a, "to": chance.choice("abc"), "days": 3} for a, _ in pairs[:20]])
    return graph


def fresh(tmp_path: Path, bytes_max: int = 1 << 30) -> Images:
    """What a new process begins with."""
    return Images(Shelf(1 << 28), DiskCache(tmp_path / "cache", bytes_max))


def hold(graph: Graph, kept: Images, address: str = "main") -> None:
    snapshot = graph.snapshot(address)
    hold_against(GraphImage(snapshot._context, snapshot._pinned, snapshot.catalog, kept), snapshot)


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (known_states, "read_node_rows"),
        (known_states, "read_edge_rows"),
        (images, "read_ends"),
        (images, "read_column"),
    ):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("was read from its table"))


def test_another_process_reads_nothing_from_the_tables(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(graph, fresh(tmp_path))
    forbid_reading(monkeypatch)

    hold(graph, fresh(tmp_path))


def test_another_process_goes_on_from_what_is_there(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(graph, fresh(tmp_path))
    graph.branches.create("side")
    for branch in ("main", "side"):
        with graph.write(branch=branch) as batch:
            batch.insert("Person", [{"name": f"new on {branch}"}])
            batch.insert("Knows", [{"from": f"new on {branch}", "to": "p1"}])
            batch.delete("Person", ids=["p2"])
    forbid_reading(monkeypatch)
    kept = fresh(tmp_path)

    hold(graph, kept)
    hold(graph, kept, "side")


def test_books_that_grew_apart_are_not_mixed_up(graph: Graph, tmp_path: Path) -> None:
    hold(graph, fresh(tmp_path))
    here, there = fresh(tmp_path), fresh(tmp_path)
    graph.branches.create("side")
    for branch, name in (("main", "zoe"), ("side", "yan")):
        with graph.write(branch=branch) as batch:
            batch.insert("Person", [{"name": name, "age": len(name)}])
            batch.insert("Knows", [{"from": name, "to": "p1"}])
    hold(graph, here)
    hold(graph, there, "side")
    graph.optimize()

    for kept in (here, there, fresh(tmp_path), fresh(tmp_path)):
        for branch in ("main", "side"):
            hold(graph, kept, branch)


def test_a_graph_that_was_put_back_is_not_taken_for_the_one_before(graph: Graph, tmp_path: Path) -> None:
    """A backup has the versions of what replaced it, with other rows in them."""
    import shutil

    shutil.copytree(graph.uri, tmp_path / "backup")
    with graph.write() as batch:
        batch.insert("Person", [{"name": "lost", "age": 1}])
    hold(graph, fresh(tmp_path))
    shutil.rmtree(graph.uri)
    shutil.copytree(tmp_path / "backup", graph.uri)
    restored = omnigraph.open(graph.uri)
    with restored.write() as batch:
        batch.insert("Person", [{"name": "found", "age": 2}])

    hold(restored, fresh(tmp_path))


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut in the header": lambda content: content[:10],
    "cut in the arrays": lambda content: content[:-64],
    "too long": lambda content: content + b"\0" * 64,
    "another version": lambda content: content.replace(b"OMNIIMG1", b"OMNIIMG0"),
    "another kind of file": lambda _: b"\x89PNG" * 100,
    "a byte in the header": lambda content: flipped(content, 40),
    "a byte in the first array": lambda content: flipped(content, -(-(24 + header_length(content)) // 64) * 64 + 5),
}


def header_length(content: bytes) -> int:
    return int.from_bytes(content[8:16], "little")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_thrown_away(tmp_path: Path, damage: str) -> None:
    cache = DiskCache(tmp_path, 1 << 20)
    cache.write(KEY, {"fact": 1}, {"numbers": np.arange(100), "none": np.zeros(0, np.int32)})
    (path,) = tmp_path.iterdir()
    path.write_bytes(DAMAGES[damage](path.read_bytes()))

    assert cache.read(KEY) is None
    assert cache.write(KEY, {"fact": 2}, {})
    stored = cache.read(KEY)
    assert stored is not None
    assert stored.facts == {"fact": 2}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "not" / "there" / "yet", 1 << 20)
    arrays: dict[str, Any] = {
        "odd": np.arange(13, dtype=np.uint8),
        "none": np.zeros(0, np.int32),
        "wide": np.arange(7) - 3,
    }

    assert cache.read(KEY) is None
    assert cache.write(KEY, {"a": [1, "ü"]}, arrays)

    stored = cache.read(KEY)
    assert stored is not None
    assert stored.facts == {"a": [1, "ü"]}
    assert {name: array.tolist() for name, array in stored.arrays.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert cache.read(["something else"]) is None


def test_a_file_of_something_else_is_not_believed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1 << 20)
    cache.write(["other"], {}, {})
    (path,) = tmp_path.iterdir()
    path.rename(cache._path(KEY))

    assert cache.read(KEY) is None


@pytest.mark.parametrize("damage", ["a byte in the first array", "cut in the arrays", "another version"])
def test_an_image_over_damaged_files_is_right(graph: Graph, tmp_path: Path, damage: str) -> None:
    hold(graph, fresh(tmp_path))
    for path in (tmp_path / "cache").iterdir():
        content = path.read_bytes()
        if len(content) > 24 + header_length(content) + 128:
            path.write_bytes(DAMAGES[damage](content))

    hold(graph, fresh(tmp_path))


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    import os

    cache = DiskCache(tmp_path, 3_500)
    for number in range(3):
        cache.write([number], {}, {"numbers": np.zeros(100)})
        os.utime(cache._path([number]), (1_000 + number, 1_000 + number))
    assert cache.read([0]) is not None

    cache.write([3], {}, {"numbers": np.zeros(100)})

    assert [cache.read([number]) is not None for number in range(4)] == [True, False, True, True]
    assert not cache.write([4], {}, {"numbers": np.zeros(1_000)})
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3_500


def test_a_directory_that_nobody_can_write_to_costs_nothing(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")

    hold(graph, fresh(tmp_path))


def test_the_environment_says_where_and_how_much(tmp_path: Path) -> None:
    there = DiskCache.of_environment({"XDG_CACHE_HOME": str(tmp_path), "HOME": "/nowhere"})
    assert there is not None
    assert there.write(KEY, {}, {})
    assert [path.name for path in (tmp_path / "omnigraph").iterdir()] == ["images"]

    assert DiskCache.of_environment({DISK_BYTES_VARIABLE: "0"}) is None
    with pytest.raises(InvalidTarget, match=DISK_BYTES_VARIABLE):
        DiskCache.of_environment({DISK_BYTES_VARIABLE: "much"})
    assert shelf_bytes("1234") == 1234
    assert 0 < shelf_bytes(None) <= 4 << 30
    with pytest.raises(InvalidTarget, match=CACHE_BYTES_VARIABLE):
        shelf_bytes("-1")
