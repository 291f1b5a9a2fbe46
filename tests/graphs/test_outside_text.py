"""Text from outside at every door of the Python API: what cannot be stored or listed is refused before anything is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import omnigraph
from omnigraph import Graph, errors
from support.nasty_texts import halves, nasty

SCHEMA = "node Person {\n  name: String @key\n  note: String?\n}\n"
ROWS = [{"name": "Ana"}]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """A graph that every refused call must leave as it is."""
    made = omnigraph.init(str(tmp_path_factory.mktemp("outside") / "people.omni"), SCHEMA)
    with made.write() as batch:
        batch.insert("Person", [{"name": "first"}])
    made.branches.create("side")
    omnigraph.init(f"{made.uri}-lone", SCHEMA)
    yield made
    with made.write() as batch:
        batch.insert("Person", [{"name": "last"}])


def insert(graph: Graph, **options: Any) -> None:
    with graph.write(**options) as batch:
        batch.upsert("Person", ROWS)


def lone(graph: Graph) -> Graph:
    """A graph without branches, whose schema could be changed."""
    return omnigraph.open(f"{graph.uri}-lone")


def records(graph: Graph) -> Path:
    path = Path(graph.uri).with_name("records.jsonl")
    path.write_text('{"type": "Person", "data": {"name": "Ana"}}\n', encoding="utf-8")
    return path


NAMES: dict[str, Callable[[Graph, str], object]] = {
    "write actor": lambda graph, text: insert(graph, actor=text),
    "write branch": lambda graph, text: insert(graph, branch=text),
    "write expected head": lambda graph, text: insert(graph, expected_head=text),
    "load actor": lambda graph, text: graph.load(records(graph), mode="merge", actor=text),
    "load branch": lambda graph, text: graph.load(records(graph), mode="merge", branch=text, from_branch="main"),
    "load from branch": lambda graph, text: graph.load(records(graph), mode="merge", branch="new", from_branch=text),
    "load path": lambda graph, text: graph.load(text, mode="merge"),
    "load type": lambda graph, text: graph.load(records(graph), mode="merge", type=text),
    "load table actor": lambda graph, text: graph.load_table(
        pa.Table.from_pylist(ROWS), type="Person", mode="merge", actor=text
    ),
    "load table type": lambda graph, text: graph.load_table(pa.Table.from_pylist(ROWS), type=text, mode="merge"),
    "embed actor": lambda graph, text: graph.embed(actor=text),
    "schema actor": lambda graph, text: lone(graph).apply_schema(
        SCHEMA + "node Ship { hull: String @key }", actor=text
    ),
    "schema source": lambda graph, text: lone(graph).apply_schema("node", schema_source=text),
    "plan source": lambda graph, text: graph.plan_schema("node", schema_source=text),
    "merge actor": lambda graph, text: graph.branches.merge("side", actor=text),
    "merge message": lambda graph, text: graph.branches.merge("side", message=text),
    "merge source": lambda graph, text: graph.branches.merge(text),
    "merge target": lambda graph, text: graph.branches.merge("side", into=text),
    "branch name": lambda graph, text: graph.branches.create(text),
    "branch source": lambda graph, text: graph.branches.create("new", source=text),
    "branch delete": lambda graph, text: graph.branches.delete(text),
    "branch diff": lambda graph, text: graph.branches.diff(text),
    "snapshot branch": lambda graph, text: graph.snapshot(text),
    "snapshot commit": lambda graph, text: graph.snapshot(commit=text),
    "snapshot type": lambda graph, text: graph.snapshot().table(text),
    "commit": lambda graph, text: graph.commit(text),
    "commits": lambda graph, text: graph.commits(text),
    "diff": lambda graph, text: graph.diff("main", text),
    "export path": lambda graph, text: graph.export(text),
    "export type": lambda graph, text: graph.export(Path(graph.uri).with_name("out.jsonl"), types=[text]),
    "baseline path": lambda graph, text: graph.baseline(text),
    "optimize table": lambda graph, text: graph.optimize(tables=[text], dry_run=True),
    "abandon": lambda graph, text: graph.abandon(text),
    "open": lambda graph, text: omnigraph.open(f"{graph.uri}{text}"),
    "init": lambda graph, text: omnigraph.init(f"{graph.uri}{text}", SCHEMA),
    "init actor": lambda graph, text: omnigraph.init(f"{graph.uri}-new", SCHEMA, actor=text),
    "init source": lambda graph, text: omnigraph.init(f"{graph.uri}-new", SCHEMA, schema_source=text),
}
VALUES: dict[str, Callable[[Graph, str], object]] = {
    "a key": lambda graph, text: graph.write().insert("Person", [{"name": text}]),
    "a value": lambda graph, text: graph.write().insert("Person", [{"name": "Bo", "note": text}]),
    "a property": lambda graph, text: graph.write().insert("Person", [{"name": "Bo", text: 1}]),
    "an id to delete": lambda graph, text: graph.write().delete("Person", ids=[text]),
    "a value to compare with": lambda graph, text: graph.write().delete("Person", where=[("name", "=", text)]),
    "schema text": lambda graph, text: lone(graph).apply_schema(f"{SCHEMA}// {text}"),
}


def state(graph: Graph) -> tuple[object, ...]:
    """What a refused call must not change."""
    root = Path(graph.uri)
    return (
        [commit.graph_commit_id for commit in graph.commits()],
        [summary.name for summary in graph.branches.list()],
        sorted(path.name for path in root.parent.iterdir() if path.name != "records.jsonl"),
        sorted(path.name for path in root.glob("__recovery/*")),
    )


def refuse(graph: Graph, call: Callable[[Graph, str], object], text: str) -> None:
    before = state(graph)

    with pytest.raises(errors.OmniError) as caught:
        call(graph, text)

    json.dumps(caught.value.document(), ensure_ascii=True)
    assert not isinstance(caught.value, errors.Internal)
    assert caught.value.effect == "none"
    assert state(graph) == before


@pytest.mark.parametrize("door", NAMES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=nasty)
def test_no_door_lets_in_a_name_that_cannot_be_listed(graph: Graph, door: str, text: str) -> None:
    refuse(graph, NAMES[door], text)


@pytest.mark.parametrize("door", VALUES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=halves)
def test_no_door_lets_in_a_value_that_is_no_unicode(graph: Graph, door: str, text: str) -> None:
    refuse(graph, VALUES[door], text)


@pytest.mark.parametrize("wrong", [7, b"Ana", object()])
@pytest.mark.parametrize("door", ["write actor", "merge message", "branch name", "snapshot branch", "schema source"])
def test_other_things_than_text_are_typed_errors_too(graph: Graph, door: str, wrong: object) -> None:
    with pytest.raises((errors.InvalidName, errors.InvalidTarget), match="text"):
        NAMES[door](graph, wrong)  # type: ignore[arg-type]


def test_an_actor_may_be_called_what_people_are_called(graph: Graph) -> None:
    with graph.write(actor="Zoë 李 👩‍🚀") as batch:
        batch.upsert("Person", [{"name": "Zoë"}])

    assert graph.commits()[0].actor_id == "Zoë 李 👩‍🚀"


def test_a_key_that_is_no_utf8_is_a_bad_record_wherever_it_comes_from(graph: Graph) -> None:
    names = pa.array([b"ok", b"\xff\xfe"], pa.binary()).view(pa.utf8())
    rows = pa.table({"name": names})

    for load in (
        lambda: graph.load_table(rows, type="Person", mode="merge"),
        lambda: graph.write().insert("Person", rows),
        lambda: graph.load_table(rows.rename_columns(["id"]), type="Person", mode="merge"),
    ):
        with pytest.raises(errors.InvalidRecord) as caught:
            load()
        assert caught.value.details["errors"][0]["code"] in {"invalid_utf8", "missing_required"}
        assert "invalid_utf8" in caught.value.details["by_code"]
