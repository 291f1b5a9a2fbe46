"""What has bitten systems like this one, provoked on purpose; the numbers are those of the list of lessons."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base import clock, faults, ids
from omnigraph.errors import DriftNeedsRepair, OmniError, StaleView
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.pinned_state import PinnedState
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.manifest.snapshot import TablePin
from support import harbor
from support.faulty_s3 import FaultyS3
from support.processes import Child, child
from writes.test_crash import run_child

WRITER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import omnigraph
from omnigraph.errors import OmniError
from support import harbor

graph = omnigraph.open(sys.argv[2])
print("ready")
for line in sys.stdin:
    task = json.loads(line)
    try:
        if "insert" in task:
            with graph.write() as batch:
                batch.insert("Sailor", task["insert"])
            commit = batch.result.commit
        else:
            commit = graph.load(harbor.lines(task["load"]), mode=task["mode"]).commit
        print(json.dumps({"commit": commit and commit.graph_commit_id}))
    except OmniError as error:
        print(json.dumps({"error": error.kind}))
"""


class Elsewhere:
    """A writer in another process."""

    def __init__(self, process: Child) -> None:
        self._process = process
        assert process.hear() == "ready"

    def start(self, **task: object) -> None:
        self._process.tell(json.dumps(task))

    def answer(self) -> dict[str, str | None]:
        said: dict[str, str | None] = json.loads(self._process.hear())
        return said

    def do(self, **task: object) -> dict[str, str | None]:
        self.start(**task)
        return self.answer()


@contextmanager
def elsewhere(*uris: str) -> Iterator[list[Elsewhere]]:
    with ExitStack() as stack:
        started = [stack.enter_context(child(WRITER, json.dumps(sys.path), uri)) for uri in uris]
        yield [Elsewhere(process) for process in started]


@contextmanager
def once_at(point: str, action: Callable[[], object]) -> Iterator[None]:
    """Do something the first time the write protocol passes a point."""
    passed: list[str] = []

    def reach(name: str) -> None:
        passed.append(name)
        if name == point and passed.count(name) == 1:
            action()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "reach", reach)
        yield
    assert point in passed


def pin_of(graph: Graph, type_name: str) -> TablePin:
    return next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)


def dataset_of(graph: Graph, pin: TablePin) -> lance.LanceDataset:
    """Open a table's HEAD behind the graph's back."""
    return lance.dataset(graph._context.store.tables.uri(pin.address), session=lance.Session())


def foreign_sailor(graph: Graph, name: str) -> None:
    """Append a row to a table behind the graph's back."""
    dataset = dataset_of(graph, pin_of(graph, "Sailor"))
    row = pa.Table.from_pylist([{"id": name, "name": name, "rank": "mate"}], schema=dataset.schema)
    lance.write_dataset(row, dataset.uri, mode="append")


def names(graph: Graph) -> list[str]:
    return sorted(graph.snapshot().table("Sailor").to_arrow(["id"])["id"].to_pylist())


def heads(graph: Graph) -> dict[str, int]:
    return {pin.table_key: dataset_of(graph, pin).version for pin in graph.snapshot().tables}


def test_02_of_two_processes_that_insert_one_key_exactly_one_lands(local_root: str) -> None:
    graph = harbor.new_graph(local_root, [])
    keys = [f"k{number}" for number in range(8)]

    outcomes = []
    with elsewhere(local_root, local_root) as writers:
        for key in keys:
            for age, writer in enumerate(writers):
                writer.start(insert=[{"name": key, "rank": "mate", "age": age}])
            outcomes.append([writer.answer() for writer in writers])

    for outcome in outcomes:
        assert sorted("commit" in said for said in outcome) == [False, True]
        assert [said["error"] for said in outcome if "error" in said] == ["key_conflict"]
    assert names(graph) == keys
    assert dataset_of(graph, pin_of(graph, "Sailor")).count_rows() == len(keys)
    assert harbor.pending(graph) == []


def test_03_a_foreign_append_between_revalidation_and_commit_is_no_success(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)

    with once_at("write.after_arm", lambda: foreign_sailor(graph, "Zoe")), pytest.raises(OmniError) as caught:
        graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")

    assert caught.value.kind in {"read_set_conflict", "recovery_required"}
    assert harbor.content(graph) == before
    # The foreign row is nobody's to delete: it stays in the table for an operator to judge.
    assert dataset_of(graph, pin_of(graph, "Sailor")).count_rows(filter="id = 'Zoe'") == 1


def test_05_a_lost_acknowledgement_does_not_write_the_rows_twice(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    def lose() -> None:
        raise faults.FaultInjected("the answer got lost")

    with once_at("write.commit_ack_lost", lose):
        commit = graph.load(harbor.lines([harbor.sailor("Di")]), mode="append").commit

    assert commit is not None
    assert names(graph) == ["Ana", "Bo", "Cy", "Di"]
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


# --- 6: stored auto-cleanup settings

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


@pytest.mark.parametrize(
    "act",
    [*(load_into_every_table(mode) for mode in ("append", "merge", "overwrite")), write_a_little],
    ids=["append", "merge", "overwrite", "write"],
)
def test_06_stored_auto_cleanup_settings_delete_no_version_and_are_removed(
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
def test_06_a_restore_brings_no_auto_cleanup_settings_back(
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


def test_07_nothing_is_built_on_drift_and_other_tables_go_on(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    foreign_sailor(graph, "Zoe")
    before, moved = harbor.content(graph), heads(graph)

    def update() -> None:
        with graph.write() as batch:
            batch.update("Sailor", {"age": 1}, ids=["Bo"])

    attempts = [update] + [
        lambda mode=mode: graph.load(harbor.lines([harbor.sailor("Di")]), mode=mode) for mode in ("append", "merge")
    ]
    for attempt in attempts:
        with pytest.raises(DriftNeedsRepair, match="omnigraph repair") as caught:
            attempt()
        assert caught.value.details["tables"] == ["node:Sailor"]

    assert (harbor.content(graph), heads(graph), harbor.pending(graph)) == (before, moved, [])
    assert graph.load(harbor.lines([harbor.ship("S9")]), mode="append").commit is not None
    assert names(graph) == ["Ana", "Bo", "Cy"]


def test_17_an_overwrite_prepared_before_an_append_does_not_win_silently(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with elsewhere(local_root) as (other,):
        appended = {"load": [harbor.ship("S9")], "mode": "append"}
        with once_at("write.after_stage", lambda: other.do(**appended)), pytest.raises(StaleView):
            graph.load(harbor.lines([harbor.ship("S1"), harbor.ship("S2")]), mode="overwrite")

    assert sorted(graph.snapshot().table("Ship").to_arrow(["id"])["id"].to_pylist()) == ["S1", "S2", "S9"]


def test_18_a_new_key_that_comes_twice_is_one_row_or_an_error(local_root: str) -> None:
    graph = harbor.new_graph(local_root, [])
    notes = [{"type": "Note", "data": {"id": "n1", "text": text}} for text in ("first", "last")]

    for mode in ("append", "overwrite"):
        with pytest.raises(OmniError) as caught:
            graph.load(harbor.lines(notes), mode=mode)
        assert caught.value.details["by_code"] == {"duplicate_id": 1}
    graph.load(harbor.lines(notes), mode="merge")
    with graph.write() as batch:
        batch.upsert("Note", [{"id": "n2", "text": "first"}]).upsert("Note", [{"id": "n2", "text": "last"}])

    stored = graph.snapshot().table("Note").to_arrow().to_pylist()
    assert sorted((row["id"], row["text"]) for row in stored) == [("n1", "last"), ("n2", "last")]


def test_35_one_file_merged_by_two_processes_at_once_is_one_commit(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    records = [harbor.sailor("Di"), harbor.ship("S3"), harbor.edge("Mentors", "Di", "Ana")]

    with elsewhere(local_root, local_root) as writers:
        for writer in writers:
            writer.start(load=records, mode="merge")
        said = [writer.answer() for writer in writers]

    assert sorted(answer["commit"] is None for answer in said) == [False, True]
    assert graph.snapshot().graph_version == 3
    assert graph.snapshot().table("Mentors").count_rows() == 3
    assert harbor.pending(graph) == []


def insert(graph: Graph, type_name: str, row: dict[str, object], **options: str) -> None:
    with graph.write(**options) as batch:
        batch.insert(type_name, [row])


REFUSALS: dict[str, Callable[[Graph], object]] = {
    "record": lambda graph: graph.load(harbor.lines([{"type": "Ghost"}]), mode="append"),
    "key": lambda graph: graph.load(harbor.lines([harbor.sailor("Ana")]), mode="append"),
    "unique": lambda graph: graph.load(harbor.lines([harbor.sailor("Di", badge="b1")]), mode="merge"),
    "endpoint": lambda graph: graph.load(harbor.lines([harbor.edge("Mentors", "Ana", "X")]), mode="merge"),
    "retained": lambda graph: graph.load(harbor.lines([harbor.ship("S9")]), mode="overwrite"),
    "no input": lambda graph: graph.load("no-such-file.jsonl", mode="merge"),
    "branch": lambda graph: graph.load(harbor.lines([]), mode="merge", branch="nowhere"),
    "insert": lambda graph: insert(graph, "Sailor", {"name": "Ana", "rank": "mate"}),
    "cardinality": lambda graph: insert(graph, "ServesOn", {"from": "Ana", "to": "S2"}),
    "expected head": lambda graph: insert(graph, "Note", {"text": "t"}, expected_head="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "read only": lambda graph: omnigraph.open(graph.uri, read_only=True).write(),
}


@pytest.mark.parametrize("attempt", REFUSALS.values(), ids=REFUSALS)
def test_41_a_refusal_leaves_no_sidecar_and_no_new_version(local_root: str, attempt: Callable[[Graph], object]) -> None:
    graph = harbor.new_graph(local_root)
    before = heads(graph)

    with pytest.raises(OmniError) as caught:
        attempt(graph)

    assert caught.value.effect == "none"
    assert list(graph._context.store.objects.list("__recovery")) == []
    assert heads(graph) == before
    assert graph.snapshot().graph_version == 2


@pytest.mark.slow
def test_54_a_path_and_a_link_to_it_share_their_gates(local_root: str, tmp_path: Path) -> None:
    graph = harbor.new_graph(local_root, [])
    link = tmp_path / "link.omni"
    link.symlink_to(local_root, target_is_directory=True)
    rounds = 8

    with elsewhere(local_root, str(link)) as writers:
        for turn in range(rounds):
            for place, writer in enumerate(writers):
                writer.start(insert=[{"name": f"{place}-{turn}", "rank": "mate"}])
            for writer in writers:
                assert "commit" in writer.answer()

    assert names(graph) == sorted(f"{place}-{turn}" for place in (0, 1) for turn in range(rounds))
    assert len(graph.commits()) == 2 * rounds + 1
    assert omnigraph.open(str(link))._context.store.root.identity == graph._context.store.root.identity


def test_77_deleting_a_node_without_edges_leaves_the_edge_tables_alone(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = heads(graph)

    with graph.write() as batch:
        batch.delete("Ship", ids=["S2", "nobody"])

    after = heads(graph)
    assert after.pop("node:Ship") == before.pop("node:Ship") + 1
    assert after == before


@pytest.mark.s3
@pytest.mark.slow
def test_80_a_commit_costs_as_many_requests_late_as_early(s3_faults: FaultyS3, s3_root: str) -> None:
    graph = harbor.new_graph(s3_root)

    costs, manifest_reads = [], []
    for turn in range(20):
        asked = len(s3_faults.seen)
        with graph.write() as batch:
            batch.update("Sailor", {"age": turn}, ids=["Bo"])
        requests = s3_faults.seen[asked:]
        reads = [seen for seen in requests if seen.method == "GET" and "/__manifest/data/" in seen.path]
        costs.append(len(requests) - len(reads))
        manifest_reads.append(len(reads))

    print("requests per commit", costs, "and of these to join the manifest's fragments", manifest_reads)
    assert max(costs[-4:]) <= max(costs[2:6])
    # Publishing joins the keys of all fragments of the manifest: one more small read per commit until compaction.
    assert manifest_reads[-1] - manifest_reads[4] <= 15


AWKWARD: Sequence[tuple[str, str]] = [
    ("repoName", "x"),
    ("select", "y"),
    ("from", "it's"),
    ("order", 'say "x" OR 1=1 --'),
    ("value", "ünïcödé`\\"),
]


@pytest.mark.parametrize(("name", "value"), AWKWARD)
def test_32_reads_updates_and_deletes_select_by_any_name_and_value(local_root: str, name: str, value: str) -> None:
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
