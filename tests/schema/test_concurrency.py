"""A schema change beside other writers: in this process, in another one, and over handles that are older than it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import omnigraph
from omnigraph.errors import SchemaApplyLocked, StaleView
from omnigraph.graph import Graph
from support import harbor
from support.raw_tables import publish_note
from support.writer_child import EVOLVED
from support.writers import paused_child, resume, run_child

SAILOR = [harbor.sailor("Flo")]
MORE = harbor.SCHEMA.replace("node Note { text: String }", "node Note { text: String  day: Date? }")


def test_a_change_whose_head_moved_is_stale_and_changes_nothing(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "schema_apply", "write.after_stage") as child:
        graph.load(harbor.lines(SAILOR), mode="append")
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert graph.schema_source == harbor.SCHEMA
    assert harbor.pending(graph) == []
    assert graph.apply_schema(EVOLVED).applied
    assert graph.snapshot().table("Mariner").count_rows() == 4


def test_a_load_that_was_prepared_with_the_old_schema_is_stale_and_stores_nothing(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "load_append", "write.after_stage") as child:
        graph.apply_schema(EVOLVED)
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert graph.snapshot().table("Mariner").count_rows() == 3
    assert harbor.pending(graph) == []
    assert harbor.pins_equal_heads(graph)


def test_a_handle_that_is_older_than_the_change_follows_it(local_root: str) -> None:
    old = harbor.new_graph(local_root)
    pinned = old.snapshot()
    omnigraph.open(local_root).apply_schema(EVOLVED)

    assert pinned.table("Sailor").count_rows() == 3
    assert "age" in pinned.table("Sailor").schema.names
    assert old.snapshot().table("Mariner").count_rows() == 3
    with pytest.raises(omnigraph.errors.InvalidRecord):
        old.load(harbor.lines(SAILOR), mode="append")
    with old.write() as batch:
        batch.insert("Mariner", [{"name": "Flo", "grade": "pilot"}])
    assert old.snapshot().table("Mariner").count_rows() == 4


def test_a_batch_that_began_before_the_change_is_stale(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    batch = graph.write()
    batch.upsert("Ship", [{"hull": "S9", "title": "late"}])
    omnigraph.open(local_root).apply_schema(EVOLVED)

    with pytest.raises(StaleView):
        batch.commit()

    assert graph.snapshot().table("Ship").count_rows() == 2


def test_another_process_is_told_at_once_that_a_change_is_running(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "schema_apply", "write.after_stage") as child:
        with pytest.raises(SchemaApplyLocked, match="OG-LK-101") as refusal:
            graph.apply_schema(MORE)
        said = resume(child)

    assert refusal.value.exit_code == 5
    assert said["ok"] is True
    assert graph.schema_source == EVOLVED


def test_changes_of_one_process_take_turns(local_root: str) -> None:
    harbor.new_graph(local_root)
    handles = [omnigraph.open(local_root) for _ in range(3)]
    start = threading.Barrier(len(handles))

    def apply(graph: Graph) -> bool:
        start.wait()
        return graph.apply_schema(MORE).applied

    with ThreadPoolExecutor(len(handles)) as pool:
        applied = list(pool.map(apply, handles))

    assert sorted(applied) == [False, False, True]
    assert [commit.kind for commit in handles[0].commits()].count("schema_apply") == 1


def test_a_change_dropped_and_taken_back_between_capture_and_publish_is_noticed(local_root: str) -> None:
    """The shape returns to what it was, the identities do not: the hash that counts tells them apart."""
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "load_append", "write.after_stage") as child:
        graph.apply_schema(harbor.SCHEMA.replace("node Note { text: String }", ""))
        graph.apply_schema(harbor.SCHEMA)
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")


def test_a_change_waits_for_nobody_and_undoes_itself_when_a_publish_gets_in_between(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "schema_apply", "write.after_effects") as child:
        publish_note(graph)
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "read_set_conflict")
    assert graph.schema_source == harbor.SCHEMA
    assert graph.snapshot().table("Note").count_rows() == 1
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []


def test_a_branch_and_a_change_that_race_never_leave_a_branch_behind(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with paused_child(local_root, "schema_apply", "write.after_stage") as child:
        graph.branches.create("review")
        said = resume(child)

    assert (said["ok"], said["error"]) == (False, "schema_apply_blocked")
    assert graph.snapshot("review").schema_source == graph.schema_source == harbor.SCHEMA


def test_a_repeated_change_in_another_process_is_no_change(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.apply_schema(EVOLVED)

    status, said = run_child(local_root, "schema_apply", None)

    assert (status, said["ok"], said["commit"]) == (0, True, None)
