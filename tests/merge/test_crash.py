"""Crash matrix rows of merges: killed anywhere, a merge is on the target as a whole or not at all."""

import signal

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.manifest.snapshot import TablePin
from support import harbor
from support.crash_cases import Case
from support.failpoints import Died, armed
from support.leftovers import clean_up, find_leftovers
from support.raw_tables import publish_note
from support.writer_child import BRANCH_KINDS, CHANGES
from support.writers import paused_child, resume, run_child, sweep_until_free

TARGETS = {
    "branch_merge": "main",
    "branch_merge_bulk": "main",
    "branch_merge_bulk_first_touch": "trial",
    "branch_merge_first_touch": "trial",
    "branch_merge_pointer": "review",
    "branch_merge_steps": "main",
    "branch_merge_steps_first_touch": "trial",
}
"""Which branch each kind of merge changes."""

KILLED = [
    ("local", "branch_merge", Case(row=1, point="write.after_stage", action="kill", outcome="old")),
    ("local", "branch_merge", Case(row=5, point="write.after_arm", action="kill", outcome="old", settled="dropped")),
    (
        "local",
        "branch_merge",
        Case(row=49, point="write.between_tables", action="kill", skip=1, outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge",
        Case(row=50, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
    (
        "local",
        "branch_merge_first_touch",
        Case(row=32, point="fork.after_commit", action="kill", skip=1, outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_pointer",
        Case(row=51, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
    (
        "local",
        "branch_merge_bulk",
        Case(row=49, point="write.between_tables", action="kill", skip=1, outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_bulk",
        Case(row=50, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
    (
        "local",
        "branch_merge_bulk_first_touch",
        Case(row=32, point="fork.after_commit", action="kill", skip=1, outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_steps",
        Case(row=49, point="write.between_steps", action="kill", outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_steps",
        Case(row=7, point="write.commit_ack_lost", action="kill", skip=2, outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_steps",
        Case(row=50, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
    (
        "local",
        "branch_merge_steps_first_touch",
        Case(row=49, point="write.between_steps", action="kill", outcome="old", settled="rolled_back"),
    ),
    (
        "local",
        "branch_merge_steps_first_touch",
        Case(row=50, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
    (
        "s3",
        "branch_merge_steps",
        Case(row=49, point="write.between_steps", action="kill", outcome="old", settled="rolled_back"),
    ),
    (
        "s3",
        "branch_merge",
        Case(row=49, point="write.between_tables", action="kill", skip=2, outcome="old", settled="rolled_back"),
    ),
    (
        "s3",
        "branch_merge",
        Case(row=50, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    ),
]

BROKEN = [
    ("branch_merge_bulk", Case(row=2, point="write.after_gates", action="error", outcome="old")),
    ("branch_merge_bulk", Case(row=49, point="write.between_tables", action="error", skip=1, outcome="old")),
    ("branch_merge", Case(row=2, point="write.after_gates", action="error", outcome="old")),
    ("branch_merge", Case(row=49, point="write.between_tables", action="error", outcome="old")),
    ("branch_merge", Case(row=49, point="write.between_tables", action="error", skip=2, outcome="old")),
    ("branch_merge", Case(row=7, point="write.commit_ack_lost", action="error", outcome="new", succeeds=True, times=1)),
    ("branch_merge", Case(row=50, point="write.after_effects", action="error", outcome="new", succeeds=True)),
    ("branch_merge", Case(row=50, point="merge.after_log_import", action="error", outcome="old")),
    ("branch_merge_steps", Case(row=49, point="write.between_steps", action="error", outcome="old")),
    (
        "branch_merge_steps",
        Case(row=7, point="write.commit_ack_lost", action="error", skip=2, outcome="new", succeeds=True, times=1),
    ),
    ("branch_merge_steps_first_touch", Case(row=49, point="write.between_steps", action="error", outcome="old")),
    ("branch_merge_first_touch", Case(row=30, point="fork.after_create", action="error", outcome="old")),
    ("branch_merge_pointer", Case(row=51, point="write.after_arm", action="error", outcome="old")),
    ("branch_merge_pointer", Case(row=51, point="write.after_effects", action="error", outcome="new", succeeds=True)),
]


def two_sides(uri: str) -> Graph:
    """A graph whose branch `review` changed four tables, and whose main changed two since; `trial` did nothing."""
    graph = harbor.new_graph(uri)
    graph.branches.create("trial")
    graph.branches.create("review")
    graph.load(harbor.lines(CHANGES), mode="merge", branch="review")
    with graph.write() as batch:
        batch.update("Sailor", {"age": 20}, ids=["Cy"])
        batch.insert("Note", [{"id": "n1", "text": "written on main"}])
    return graph


@pytest.fixture(scope="module")
def expected_after(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    contents = {}
    for kind, target in TARGETS.items():
        graph = two_sides(str(tmp_path_factory.mktemp(kind) / "graph.omni"))
        BRANCH_KINDS[kind](graph)
        contents[kind] = harbor.content(graph, branch=target)
    return contents


@pytest.mark.parametrize(
    ("store", "kind", "case"), KILLED, ids=lambda part: part.id if isinstance(part, Case) else part
)
def test_a_merge_that_is_killed_is_there_as_a_whole_or_not_at_all(
    request: pytest.FixtureRequest, store: str, kind: str, case: Case, expected_after: dict[str, str]
) -> None:
    uri = str(request.getfixturevalue(f"{store}_root"))
    graph = two_sides(uri)
    before = harbor.content(graph, branch=TARGETS[kind])
    source = graph.snapshot("main" if kind == "branch_merge_pointer" else "review").commit_id

    status, said = run_child(uri, kind, case.failpoint)

    assert status == -signal.SIGKILL, said
    reader = omnigraph.open(uri, read_only=True)
    assert harbor.content(reader, branch=TARGETS[kind]) in {before, expected_after[kind]}
    settled = sweep_until_free(harbor.open_with_short_leases(uri))
    assert [operation.outcome for operation in settled] == ([case.settled] if case.settled else [])
    _check(graph, kind, case, before=before, after=expected_after[kind], source=source)


@pytest.mark.parametrize(("kind", "case"), BROKEN, ids=lambda part: part.id if isinstance(part, Case) else part)
def test_a_merge_that_breaks_ends_itself(
    local_root: str, kind: str, case: Case, expected_after: dict[str, str]
) -> None:
    graph = two_sides(local_root)
    before = harbor.content(graph, branch=TARGETS[kind])
    source = graph.snapshot("main" if kind == "branch_merge_pointer" else "review").commit_id

    with armed(case.failpoint):
        try:
            BRANCH_KINDS[kind](graph)
        except OSError:
            succeeded = False
        else:
            succeeded = True

    assert succeeded is case.succeeds
    _check(graph, kind, case, before=before, after=expected_after[kind], source=source)


def _check(graph: Graph, kind: str, case: Case, *, before: str, after: str, source: str) -> None:
    """The target is old or new, nothing is pending, the merge can be repeated and knows both its parents then."""
    target = TARGETS[kind]
    assert harbor.content(graph, branch=target) == (before if case.outcome == "old" else after)
    assert harbor.pending(graph) == []
    assert harbor.pins_equal_heads(graph)
    repeated = BRANCH_KINDS[kind](harbor.open_with_short_leases(graph.uri))
    assert (repeated is None) is (case.outcome == "new")
    assert harbor.content(graph, branch=target) == after
    (merge,) = [commit for commit in graph.commits(target) if commit.kind == "branch_merge"]
    assert merge.merged_parent_commit_id == source
    assert merge.actor_id == "act-test"


def test_row_1_files_of_a_bulk_merge_that_was_killed_belong_to_nobody_and_cleanup_removes_them(local_root: str) -> None:
    graph = two_sides(local_root)
    before = set(find_leftovers(graph))

    status, said = run_child(local_root, "branch_merge_bulk", "write.after_stage:kill:0")

    assert status == -signal.SIGKILL, said
    written = set(find_leftovers(graph)) - before
    assert any("/data/" in path for path in written)
    assert harbor.pending(graph) == []
    graph.branches.delete("trial")
    graph.branches.delete("review")
    clean_up(graph)
    assert find_leftovers(graph) == []


@pytest.mark.parametrize(
    "point",
    ["recover.after_rollback_recorded:kill", "recover.after_restore:kill", "recover.restore_ack_lost:kill"],
)
def test_row_49_a_recovery_that_dies_while_it_undoes_a_table_half_done_is_finished_by_the_next(
    local_root: str, point: str
) -> None:
    graph = two_sides(local_root)
    before, sailors = harbor.content(graph), _pin_of(graph, "Sailor")
    run_child(local_root, "branch_merge_steps", "write.between_steps:kill")
    assert graph._context.store.tables.head(sailors.address).version == sailors.version + 1, "the first of two commits"

    status, said = run_child(local_root, "recover", point)

    assert status == -signal.SIGKILL, said
    (settled,) = sweep_until_free(harbor.open_with_short_leases(local_root))
    assert settled.outcome == "rolled_back"
    assert harbor.content(graph) == before
    assert harbor.pins_equal_heads(graph)
    assert BRANCH_KINDS["branch_merge_steps"](graph) is not None


def test_row_51_pins_that_only_move_are_published_with_the_changed_tables(local_root: str) -> None:
    graph = two_sides(local_root)

    BRANCH_KINDS["branch_merge_pointer"](graph)

    refs = {pin.type_name: pin.ref is None for pin in graph.snapshot("review").tables}
    assert refs == {"Sailor": False, "Mentors": False, "Ship": False, "ServesOn": False, "Note": True}
    assert graph.snapshot("review").table("Note").count_rows() == 1


def test_row_52_a_table_whose_edits_cancel_out_is_never_touched(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.insert("Ship", [{"hull": "S7", "title": "passing"}])
        batch.update("Sailor", {"age": 1}, ids=["Bo", "Cy"])
        batch.delete("Mentors", ids=["m2"])
    with graph.write(branch="review") as batch:
        batch.delete("Ship", ids=["S7"])
    before, ships = harbor.content(graph), _pin_of(graph, "Ship")

    with pytest.raises(Died), armed("write.between_tables:die"):
        graph.branches.merge("review")
    (settled,) = sweep_until_free(graph)

    assert settled.outcome == "rolled_back"
    assert harbor.content(graph) == before
    merged = graph.branches.merge("review")
    assert {table.table_key for table in merged.tables} == {"node:Sailor", "edge:Mentors"}
    assert _pin_of(graph, "Ship") == ships


def test_row_52_a_merge_that_nets_to_nothing_is_carried_forward(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    with graph.write(branch="review") as batch:
        batch.insert("Ship", [{"hull": "S7", "title": "passing"}])
    with graph.write(branch="review") as batch:
        batch.delete("Ship", ids=["S7"])
    before, pins = harbor.content(graph), graph.snapshot().tables

    with pytest.raises(Died), armed("write.after_arm:die"):
        graph.branches.merge("review")
    (settled,) = sweep_until_free(graph)

    assert settled.outcome == "rolled_forward"
    assert settled.commit.merged_parent_commit_id == graph.snapshot("review").commit_id
    assert (harbor.content(graph), graph.snapshot().tables) == (before, pins)
    assert graph.branches.merge("review").outcome == "already_up_to_date"


def _pin_of(graph: Graph, type_name: str) -> TablePin:
    return next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)


def test_row_53_a_target_that_moves_after_the_effects_wins(local_root: str) -> None:
    graph = two_sides(local_root)
    with paused_child(local_root, "branch_merge", "write.after_effects") as child:
        winner = publish_note(graph)

        said = resume(child)

    assert said["ok"] is False
    assert winner.graph_commit_id in [commit.graph_commit_id for commit in graph.commits()]
    assert graph.commits(limit=1)[0].kind == "rollback"
    assert harbor.pending(graph) == []
    assert graph.branches.merge("review").outcome == "merged"
    assert graph.snapshot().table("Note").count_rows() == 2


def test_row_53_a_target_that_moves_before_the_gates_is_left_to_the_caller(local_root: str) -> None:
    graph = two_sides(local_root)
    with paused_child(local_root, "branch_merge", "write.after_stage") as child:
        with graph.write() as batch:
            batch.insert("Ship", [{"hull": "S9", "title": "first"}])

        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert harbor.pending(graph) == []
    assert graph.branches.merge("review").outcome == "merged"
    assert graph.snapshot().table("Ship").count_rows() == 4


def test_row_54_a_source_that_advances_is_merged_as_it_was_captured(local_root: str) -> None:
    graph = two_sides(local_root)
    captured = graph.snapshot("review").commit_id
    with paused_child(local_root, "branch_merge", "write.after_stage") as child:
        with graph.write(branch="review") as batch:
            batch.insert("Sailor", [{"name": "Late", "rank": "mate"}])

        said = resume(child)

    assert said["ok"] is True
    assert graph.commit(said["commit"]).merged_parent_commit_id == captured
    assert graph.snapshot().table("Sailor").count_rows() == 4
    assert graph.branches.merge("review").outcome == "merged"
    assert graph.snapshot().table("Sailor").count_rows() == 5


@pytest.mark.parametrize("is_made_anew", [False, True], ids=["deleted", "deleted and made anew"])
def test_row_20_a_source_that_is_deleted_meanwhile_is_never_mistaken_for_a_namesake(
    local_root: str, is_made_anew: bool
) -> None:
    graph = two_sides(local_root)
    before = harbor.content(graph)
    with paused_child(local_root, "branch_merge", "merge.after_capture") as child:
        graph.branches.delete("review")
        if is_made_anew:
            graph.branches.create("review")
            graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review")

        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict"), said
    assert harbor.content(graph) == before
    assert harbor.pending(graph) == []


def test_row_55_a_merge_that_dies_before_its_branch_is_deleted_leaves_the_branch(local_root: str) -> None:
    graph = two_sides(local_root)

    with pytest.raises(Died), armed("write.after_publish:die"):
        BRANCH_KINDS["branch_merge_delete"](graph)
    (settled,) = sweep_until_free(graph)

    assert settled.outcome == "finished"
    assert "review" in [branch.name for branch in graph.branches.list()]
    assert graph.branches.merge("review", delete_branch=True).branch_deleted is True
    assert "review" not in [branch.name for branch in graph.branches.list()]
