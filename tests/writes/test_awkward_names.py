"""Names and values that mean something in SQL are names and values here."""

from collections.abc import Sequence

import pytest

import omnigraph

AWKWARD: Sequence[tuple[str, str]] = [
    ("repoName", "x"),
    ("select", "y"),
    ("from", "it's"),
    ("order", 'say "x" OR 1=1 --'),
    ("value", "ünïcödé`\\"),
]


@pytest.mark.parametrize(("name", "value"), AWKWARD)
def test_reads_updates_and_deletes_select_by_any_name_and_value(local_root: str, name: str, value: str) -> None:
    properties = "\n".join(f"{each}: String?" for each, _ in AWKWARD)
    graph = omnigraph.init(local_root, f"node Repo {{ {properties} }}")
    with graph.write() as batch:
        batch.insert("Repo", [{"id": "hit", name: value}, {"id": "miss", name: name}, {"id": "null"}])

    found = graph.snapshot().table("Repo").to_arrow(["id"], where=[(name, "=", value)])["id"].to_pylist()
    with graph.write() as batch:
        batch.update("Repo", {"value": "seen"}, where=[(name, "=", value)])
    updated = graph.snapshot().table("Repo").to_arrow(["id"], where=[("value", "=", "seen")])["id"].to_pylist()
    with graph.write() as batch:
        batch.update("Repo", {name: value}, ids=["hit"]).delete("Repo", where=[(name, "=", value)])

    assert found == updated == ["hit"]
    assert sorted(graph.snapshot().table("Repo").to_arrow(["id"])["id"].to_pylist()) == ["miss", "null"]
