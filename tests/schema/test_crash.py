"""Schema changes that die or break where no other writer passes; the common points are in `tests/writes`."""

import signal
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.errors import HistoricalVersionReclaimed, RecoveryRequired, SchemaApplyLocked
from omnigraph.graph import Graph
from omnigraph.storage.removal import dropped_at
from support import harbor
from support.crash_cases import SCHEMA_CASES, Case
from support.writer_child import EVOLVED, SCHEMA_KINDS, apply_schema
from support.writers import paused_child, resume, run_child

# An identity depends on the schemas alone, so these tables have one place in every graph of the fixture.
NEW_TABLES = ("node:Port", "edge:CallsAt")


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """The fixture graph after the change, when nothing goes wrong."""
    graph = harbor.new_graph(str(tmp_path_factory.mktemp("evolved") / "graph.omni"))
    apply_schema(graph)
    return graph


@pytest.fixture(scope="module")
def expected_after(evolved: Graph) -> str:
    """What the change makes of the data."""
    return harbor.content(evolved)


@pytest.fixture(scope="module")
def new_locations(evolved: Graph) -> list[str]:
    """Where the tables are that the change adds."""
    return [pin.location for pin in evolved.snapshot().tables if pin.table_key in NEW_TABLES]


def files_below(graph: Graph, locations: list[str]) -> list[str]:
    return [path for location in locations for path in graph._context.store.objects.list(f"{location}/")]


def apply_when_unlocked(graph: Graph) -> None:
    """Apply; on S3 the lease of a dead apply has to run out first."""

    def is_applied() -> bool:
        try:
            apply_schema(graph)
        except SchemaApplyLocked:
            return False
        return True

    assert clock.wait_until(is_applied, timeout_seconds=30, pause_seconds=0.2)


def settle(graph: Graph) -> list[str]:
    """Recover until nothing is in use; return what was done."""
    outcomes: list[str] = []

    def nothing_in_use() -> bool:
        swept = graph.recover()
        outcomes.extend(settled.outcome for settled in swept.recovered)
        assert swept.blocked == []
        return not swept.in_use

    assert clock.wait_until(nothing_in_use, timeout_seconds=30, pause_seconds=0.2)
    return outcomes


@pytest.mark.parametrize("case", SCHEMA_CASES, ids=lambda case: case.id)
def test_a_schema_change_that_dies_leaves_the_old_schema_or_the_new_one(
    local_root: str, case: Case, expected_after: str, new_locations: list[str]
) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)

    status, said = run_child(local_root, "schema_apply", case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    if case.action == "error":
        assert (said["ok"], bool(said.get("warnings"))) == (case.succeeds, case.warns), said
    reader = omnigraph.open(local_root, read_only=True)
    files = harbor.files_of(reader)
    assert harbor.content(reader) == (before if case.outcome == "old" else expected_after)
    assert ("Mariner" in reader.schema_source) is (case.outcome == "new")
    assert harbor.files_of(reader) == files
    assert settle(graph) == ([case.settled] if case.settled else [])
    assert harbor.content(graph) == (before if case.outcome == "old" else expected_after)
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    assert bool(files_below(graph, new_locations)) is (case.outcome == "new")
    assert ("Mariner" in Path(local_root, "_schema.pg").read_text()) is (case.outcome == "new")
    apply_schema(graph)
    assert harbor.content(graph) == expected_after


@pytest.mark.s3
@pytest.mark.parametrize(
    ("point", "outcome"),
    [
        ("write.between_tables:kill:2", "rolled_back"),
        ("write.after_effects:kill", "rolled_forward"),
        ("write.after_publish:kill", "finished"),
    ],
)
def test_a_schema_change_that_dies_on_s3_is_settled_and_can_be_repeated(
    s3_root: str, point: str, outcome: str, expected_after: str
) -> None:
    before = harbor.content(harbor.new_graph(s3_root))

    status, _ = run_child(s3_root, "schema_apply", point)

    graph = harbor.open_with_short_leases(s3_root)
    assert status == -signal.SIGKILL
    assert settle(graph) == [outcome]
    assert harbor.content(graph) == (before if outcome == "rolled_back" else expected_after)
    assert harbor.pins_equal_heads(graph)
    apply_when_unlocked(graph)
    assert harbor.content(graph) == expected_after
    assert harbor.pending(graph) == []


@pytest.mark.parametrize("point", ["schema.before_drop_mark:kill", "schema.before_drop_mark:error"])
def test_a_drop_that_dies_before_it_is_dated_is_dated_by_whoever_settles_it(local_root: str, point: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "schema_apply", point)

    dropped = [row for row in graph._context.manifest.load("main").rows.to_pylist() if "tombstone" in row["object_id"]]
    assert dropped
    assert settle(graph) == ["finished"]
    for row in dropped:
        assert dropped_at(graph._context.store.objects, row["location"]) is not None
    assert harbor.pending(graph) == []


def test_row_46_a_change_without_table_effects_is_rolled_forward(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)

    run_child(local_root, "schema_describe", "write.after_arm:kill")

    assert "for the log" not in graph.schema_source
    assert settle(graph) == ["rolled_forward"]
    assert "for the log" in graph.schema_source
    assert harbor.content(graph) == before
    assert SCHEMA_KINDS["schema_describe"](graph) is None


def test_row_48_a_foreign_table_at_the_place_of_a_new_one_blocks_and_is_left_alone(
    local_root: str, new_locations: list[str]
) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)
    foreign = Path(local_root, new_locations[-1])

    with paused_child(local_root, "schema_apply", "write.after_arm") as child:
        lance.write_dataset(pa.table({"theirs": [1, 2]}), foreign)
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "recovery_required")
    (blocked,) = graph.recover().blocked
    assert "somebody else's table" in blocked.reason
    assert lance.dataset(foreign).to_table().to_pydict() == {"theirs": [1, 2]}
    assert harbor.content(graph) == before
    with pytest.raises(RecoveryRequired):
        graph.load(harbor.lines([harbor.sailor("Flo")]), mode="append")


def test_a_foreign_table_that_was_there_before_is_refused_with_nothing_armed(
    local_root: str, new_locations: list[str]
) -> None:
    graph = harbor.new_graph(local_root)
    foreign = Path(local_root, new_locations[0])
    lance.write_dataset(pa.table({"theirs": [1, 2]}), foreign)

    with pytest.raises(omnigraph.errors.DriftNeedsRepair, match="holds a table that the graph does not know"):
        apply_schema(graph)

    assert harbor.pending(graph) == []
    assert lance.dataset(foreign).count_rows() == 2


@pytest.mark.parametrize("skip", [0, 1])
def test_a_hard_drop_that_dies_after_the_publish_is_completed_by_recovery(
    local_root: str, skip: int, expected_after: str
) -> None:
    graph = harbor.new_graph(local_root)

    status, _ = run_child(local_root, "schema_apply_hard", f"schema.before_purge:kill:{skip}")

    assert status == -signal.SIGKILL
    assert harbor.content(graph) == expected_after
    assert settle(graph) == ["finished"]
    for dropped in ("Note", "Sailor"):
        with pytest.raises(HistoricalVersionReclaimed):
            graph.snapshot(version=2).table(dropped).to_arrow()
    assert harbor.content(graph) == expected_after
    assert graph.snapshot(version=2).table("Ship").count_rows() == 2
    assert harbor.pending(graph) == []


def test_a_purge_that_fails_is_a_warning_and_the_next_writer_completes_it(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    _, said = run_child(local_root, "schema_apply_hard", "schema.before_purge:error")

    assert (said["ok"], len(said["warnings"])) == (True, 1)
    assert len(harbor.pending(graph)) == 1
    graph.load(harbor.lines([harbor.ship("S9")]), mode="append")
    assert harbor.pending(graph) == []
    with pytest.raises(HistoricalVersionReclaimed):
        graph.snapshot(version=2).table("Note").to_arrow()


def test_a_recovery_that_dies_after_dropping_a_new_table_is_finished_by_the_next(
    local_root: str, expected_after: str
) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)
    run_child(local_root, "schema_apply", "write.between_tables:kill:2")

    status, _ = run_child(local_root, "recover", "recover.after_table_drop:kill")

    assert status == -signal.SIGKILL
    assert settle(graph) == ["rolled_back"]
    assert harbor.content(graph) == before
    assert harbor.pins_equal_heads(graph)
    apply_schema(graph)
    assert harbor.content(graph) == expected_after


def test_schema_objects_that_are_damaged_make_recovery_go_back(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)
    known = set(Path(local_root, "_schemas").iterdir())
    run_child(local_root, "schema_apply", "write.after_effects:kill")
    for stored in set(Path(local_root, "_schemas").iterdir()) - known:
        stored.unlink()

    assert settle(harbor.open_with_short_leases(local_root)) == ["rolled_back"]
    assert harbor.content(graph) == before


def test_a_branch_is_created_only_after_a_pending_schema_change_is_settled(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "schema_apply", "write.after_effects:kill")

    graph.branches.create("review")

    assert harbor.pending(graph) == []
    assert graph.snapshot("review").schema_source == EVOLVED
