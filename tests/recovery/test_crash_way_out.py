"""Whatever is wrong with a sidecar, nobody is locked out: readers read, writers are told its id and how to give it up,
and giving it up works."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.base.events import Event, Warned
from omnigraph.errors import DriftNeedsRepair, OmniError, RecoveryRequired
from support import harbor
from support.writers import run_child

NEW_NOTE = [{"type": "Note", "data": {"text": "works again"}}]
Leaf = tuple[Any, ...]


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph whose last load died when all its tables were committed and nothing was published; for copies."""
    root = str(tmp_path_factory.mktemp("interrupted") / "harbor.omni")
    harbor.new_graph(root)
    run_child(root, "load_append", "write.after_effects:kill")
    return root


def sidecar_of(root: str) -> Path:
    (path,) = Path(root, "__recovery").glob("*.json")
    return path


def leaves(value: object, place: Leaf = ()) -> Iterator[Leaf]:
    """Yield every place inside a JSON document."""
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*place, key))


def replaced(document: Any, place: Leaf, value: object) -> Any:
    copied = json.loads(json.dumps(document))
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copied


def expect_way_out(root: str, operation: str) -> None:
    """Open, read, try to write, give up what stayed, and write."""
    opened = omnigraph.open(root)
    assert harbor.pending(opened) in ([], [operation])
    assert opened.snapshot().table("Sailor").pin.row_count >= 3
    if harbor.pending(opened):
        with pytest.raises(RecoveryRequired) as refusal:
            opened.load(harbor.lines(NEW_NOTE), mode="append")
        assert refusal.value.details["operation_id"] == operation
        assert f"--abandon {operation} --confirm" in str(refusal.value)
        assert [blocked.operation_id for blocked in opened.recover().blocked] == [operation]
        opened.abandon(operation)
    assert harbor.pending(opened) == []
    try:
        opened.load(harbor.lines(NEW_NOTE), mode="append")
    except DriftNeedsRepair:
        # What was given up stays as drift of the tables that it touched, and `repair` knows what to do about it.
        opened.repair(confirm=True, discard=True)
        opened.load(harbor.lines(NEW_NOTE), mode="append")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_of_a_sidecar_may_be_nonsense(interrupted: str, tmp_path: Path, data: st.DataObject) -> None:
    document = json.loads(sidecar_of(interrupted).read_bytes())
    place = data.draw(st.sampled_from(sorted(leaves(document), key=str)))
    nonsense = data.draw(st.sampled_from([None, -5, 7, "\udcff", "a\nb", "../..", "", [], {}, [[]], True, 1e300]))
    root = str(tmp_path / "copy.omni")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(interrupted, root)
    sidecar_of(root).write_text(json.dumps(replaced(document, place, nonsense)), encoding="utf-8")

    expect_way_out(root, document["operation_id"])


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"null", b"[]", b'"text"', b"[" * 100_000, b"9" * 5000, b'{"schema_version": 1}']
)
def test_a_sidecar_may_be_anything_at_all(interrupted: str, tmp_path: Path, content: bytes) -> None:
    root = shutil.copytree(interrupted, tmp_path / "copy.omni")
    path = sidecar_of(str(root))
    path.write_bytes(content)

    expect_way_out(str(root), path.stem)


def test_an_actor_of_older_days_that_is_no_unicode_is_recovered_in_a_readable_spelling(
    interrupted: str, tmp_path: Path
) -> None:
    root = str(shutil.copytree(interrupted, tmp_path / "copy.omni"))
    document = json.loads(sidecar_of(root).read_bytes())
    sidecar_of(root).write_text(json.dumps({**document, "actor_id": "\udcff\nforged"}), encoding="ascii")

    graph = omnigraph.open(root)

    assert harbor.pending(graph) == []
    assert [record.recovery_kind for record in graph.recoveries()] == ["rolled_forward"]
    assert graph.commits()[0].actor_id == "\\udcff\\nforged"
    graph.load(harbor.lines(NEW_NOTE), mode="append")


def test_other_files_beside_the_sidecars_hold_nobody_up(interrupted: str, tmp_path: Path) -> None:
    root = str(shutil.copytree(interrupted, tmp_path / "copy.omni"))
    for name in (b"notes.txt", b"\xff.json", b"a\nb.json"):
        Path(root, "__recovery", name.decode(errors="surrogateescape")).write_bytes(b"mine")

    graph = omnigraph.open(root)

    assert harbor.pending(graph) == []
    graph.load(harbor.lines(NEW_NOTE), mode="append")


def test_an_operation_whose_tables_are_gone_can_be_given_up(interrupted: str, tmp_path: Path) -> None:
    root = str(shutil.copytree(interrupted, tmp_path / "copy.omni"))
    operation = sidecar_of(root).stem
    for effect in json.loads(sidecar_of(root).read_bytes())["effects"]:
        shutil.rmtree(Path(root, effect["location"]))
    graph = omnigraph.open(root)

    with pytest.raises(OmniError) as refusal:
        graph.load(harbor.lines(NEW_NOTE), mode="append")
    assert f"--abandon {operation} --confirm" in str(refusal.value)
    graph.abandon(operation)

    graph.load(harbor.lines(NEW_NOTE), mode="append")


def test_an_audit_that_cannot_be_written_does_not_keep_the_sidecar(interrupted: str, tmp_path: Path) -> None:
    root = str(shutil.copytree(interrupted, tmp_path / "copy.omni"))
    operation = sidecar_of(root).stem
    sidecar_of(root).write_bytes(b"garbage")
    audit = Path(root, "_graph_commit_recoveries")
    audit.write_bytes(b"not a directory")
    heard: list[Event] = []

    omnigraph.open(root).abandon(operation, events=heard.append)

    assert [type(event) for event in heard] == [Warned]
    assert operation in heard[0].message
    assert not list(Path(root, "__recovery").glob("*.json"))
