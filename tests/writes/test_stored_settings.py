"""Settings that make Lance delete versions in a commit: a table that has them loses nothing, and does not keep them."""

from collections.abc import Callable
from unittest.mock import patch

import lance
import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.pinned_state import PinnedState
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.storage import commit_steps
from support import harbor
from support.merge_ways import IN_BULK
from support.raw_tables import dataset_of
from support.writers import run_child

INTERNAL_TABLES = ("__manifest", "_graph_commits")


def publish_pins(graph: Graph, versions: dict[str, int]) -> None:
    """Publish table versions that were made behind the graph's back, as a repair would."""
    moves = tuple(
        PinMove(
            table_key=pin.table_key,
            identity=pin.identity,
            ref=None,
            version=versions[pin.table_key],
            row_count=pin.row_count,
            state=PinnedState(transaction_uuid=ids.new_uuid()),
        )
        for pin in graph.snapshot().tables
    )
    commit = Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=CommitKind.MUTATION,
        actor_id=None,
        created_at_us=clock.now_us(),
    )
    preconditions = Preconditions(incarnation="main", exact_head=None, ir_hash=None)
    graph._context.publisher.publish("main", ManifestChanges(pins=moves), commit, preconditions)


def poison(graph: Graph) -> dict[str, set[int]]:
    """Make every table clean itself up in the commit after this; return the versions that exist."""
    versions = {pin.table_key: make_eager(dataset_of(graph, pin)) for pin in graph.snapshot().tables}
    publish_pins(graph, versions)
    for name in INTERNAL_TABLES:
        make_eager(lance.dataset(f"{graph.uri}/{name}", session=lance.Session()))
    return versions_of(graph)


def make_eager(dataset: lance.LanceDataset, *, commits_ahead: int = 1) -> int:
    # The hook fires at every multiple of the interval: not in this commit, which would already delete, but in the next.
    made = dataset.version + 1
    interval = made + commits_ahead
    dataset.update_config({"lance.auto_cleanup.interval": str(interval), "lance.auto_cleanup.older_than": "0s"})
    assert dataset.version == made
    return dataset.version


def versions_of(graph: Graph) -> dict[str, set[int]]:
    opened = {pin.table_key: dataset_of(graph, pin) for pin in graph.snapshot().tables}
    opened |= {name: lance.dataset(f"{graph.uri}/{name}", session=lance.Session()) for name in INTERNAL_TABLES}
    return {name: {entry["version"] for entry in dataset.versions()} for name, dataset in opened.items()}


def write_a_little(graph: Graph) -> None:
    with graph.write() as batch:
        batch.update("Sailor", {"age": 1}, ids=["Bo"])
        batch.delete("Ship", ids=["S2"])
        batch.insert("Note", [{"text": "n"}])
        batch.update("Mentors", {"since": "2020-01-01"}, where=[])
        batch.update("ServesOn", {"berth": 9}, where=[])


EVERY_TABLE = [
    harbor.sailor("Bo", age=77),
    harbor.sailor("New"),
    harbor.ship("New"),
    {"type": "Note", "data": {"text": "n"}},
    harbor.edge("Mentors", "New", "Bo", id="new"),
    harbor.edge("ServesOn", "New", "New", id="new"),
]


def load_into_every_table(mode: str) -> Callable[[Graph], object]:
    def act(graph: Graph) -> None:
        kept = [record for record in EVERY_TABLE if record != EVERY_TABLE[0] or mode != "append"]
        graph.load(harbor.lines(kept), mode=mode)

    return act


def merge_a_branch_in_steps(graph: Graph) -> None:
    graph.branches.create("review")
    graph.load(harbor.lines(EVERY_TABLE), mode="merge", branch="review")
    with patch.object(commit_steps, "REWRITTEN_ROWS_MAX", 1):
        graph.branches.merge("review", engine=IN_BULK)


@pytest.mark.parametrize(
    "act",
    [
        *(load_into_every_table(mode) for mode in ("append", "merge", "overwrite")),
        write_a_little,
        merge_a_branch_in_steps,
    ],
    ids=["append", "merge", "overwrite", "write", "merge of a branch"],
)
def test_stored_auto_cleanup_settings_delete_no_version_and_are_removed(
    local_root: str, act: Callable[[Graph], object]
) -> None:
    graph = harbor.new_graph(local_root)
    graph.load(harbor.lines([harbor.sailor("Early"), harbor.ship("S1", "Renamed")]), mode="merge")
    history = [harbor.content(graph, version=version) for version in (1, 2, 3)]
    existing = poison(graph)

    act(omnigraph.open(local_root))
    # The log is written before its next commit is: one more write shows that it was stripped in time.
    graph.load(harbor.lines([harbor.sailor("Later")]), mode="merge")

    kept = versions_of(graph)
    assert {name: versions - kept[name] for name, versions in existing.items()} == {name: set() for name in existing}
    assert [harbor.content(graph, version=version) for version in (1, 2, 3)] == history
    for pin in graph.snapshot().tables:
        assert not any(key.startswith("lance.auto_cleanup") for key in dataset_of(graph, pin).config()), pin.table_key
    for name in INTERNAL_TABLES:
        config = lance.dataset(f"{graph.uri}/{name}", session=lance.Session()).config()
        assert not any(key.startswith("lance.auto_cleanup") for key in config), name
    assert harbor.pins_equal_heads(graph)


def roll_back(graph: Graph) -> None:
    run_child(graph.uri, "load_append", "write.between_tables:kill:2")
    assert [settled.outcome for settled in graph.recover().recovered] == ["rolled_back"]


def roll_back_twice(graph: Graph) -> None:
    run_child(graph.uri, "load_append", "write.between_tables:kill:2")
    run_child(graph.uri, "recover", "recover.after_restore:kill")
    assert [settled.outcome for settled in graph.recover().recovered] == ["rolled_back"]


def discard_drift(graph: Graph) -> None:
    for pin in graph.snapshot().tables:
        dataset_of(graph, pin).delete("true")
    graph.repair(confirm=True, discard=True)


@pytest.mark.parametrize(("undo", "commits_ahead"), [(roll_back, 3), (roll_back_twice, 3), (discard_drift, 2)])
def test_a_restore_brings_no_auto_cleanup_settings_back(
    local_root: str, undo: Callable[[Graph], object], commits_ahead: int
) -> None:
    graph = harbor.new_graph(local_root)
    graph.load(harbor.lines([harbor.sailor("Early"), harbor.ship("S1", "Renamed")]), mode="merge")
    graph.branches.create("old")
    eager = {
        pin.table_key: make_eager(dataset_of(graph, pin), commits_ahead=commits_ahead)
        for pin in graph.snapshot().tables
    }
    publish_pins(graph, eager)
    existing, history = versions_of(graph), [harbor.content(graph, version=version) for version in (1, 2, 3)]

    undo(omnigraph.open(local_root, recover=False))

    kept = versions_of(graph)
    assert {name: versions - kept[name] for name, versions in existing.items()} == {name: set() for name in existing}
    assert [harbor.content(graph, version=version) for version in (1, 2, 3)] == history
    assert harbor.content(graph) == history[-1] == harbor.content(graph, branch="old")
    restored = [pin for pin in graph.snapshot().tables if pin.version > eager[pin.table_key]]
    assert len(restored) >= 2
    for pin in restored:
        assert not any(key.startswith("lance.auto_cleanup") for key in dataset_of(graph, pin).config()), pin.table_key
    assert harbor.pins_equal_heads(graph)
    assert graph.load(harbor.lines([harbor.sailor("Later")]), mode="append").commit is not None
