"""Crash matrix rows of cleanup: it reclaims what killed branch operations left, and may itself be killed anywhere."""

import signal
from pathlib import Path

import pytest

from omnigraph.errors import RecoveryRequired
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.cleanup.report import CleanupReport
from omnigraph.storage.file_references import files_of_version, lost_files
from omnigraph.storage.retention import stored_versions
from omnigraph.storage.tables import TableAddress
from support import harbor
from support.ages import age
from support.raw_tables import refs_of_tables
from support.writer_child import BRANCH_KINDS
from support.writers import paused_child, resume, run_child, sweep_until_free

NEWEST_ONLY = CleanupPolicy(keep_versions=1)
PATIENCE_SECONDS = 30.0


def clean(graph: Graph) -> CleanupReport:
    """Clean as late as cleanup needs: on S3 the leases of the dead must run out, on disk files can be made old."""
    if not graph.uri.startswith("s3://"):
        age(graph.uri)
    late = harbor.open_with_short_leases(graph.uri)
    return late.cleanup(NEWEST_ONLY, confirm=True, wait_seconds=PATIENCE_SECONDS)


def trees_of(graph: Graph) -> list[str]:
    """List the files of all trees."""
    return [path for path in graph._context.store.objects.list("") if "/tree/" in path]


def lose_branch(graph: Graph) -> None:
    """Leave a branch like a deletion that died: its refs on tables are there, the branch itself is not."""
    graph.branches.create("review")
    BRANCH_KINDS["branch_load"](graph)
    run_child(graph.uri, "branch_delete", "branch.delete.after_ref:kill")


@pytest.mark.parametrize(
    "point", ["branch.create.before_ref", "branch.delete.after_ref", "branch.delete.after_some_forks"]
)
@pytest.mark.parametrize("action", ["kill"])
def test_rows_56_58_59_cleanup_reclaims_what_a_killed_branch_operation_left(
    store_root: str, point: str, action: str
) -> None:
    graph = harbor.new_graph(store_root)
    is_deletion = point.startswith("branch.delete.")
    if is_deletion:
        graph.branches.create("review")
        BRANCH_KINDS["branch_load"](graph)
    content = harbor.content(graph)
    run_child(store_root, "branch_delete" if is_deletion else "branch_create", f"{point}:{action}")

    assert clean(graph).failed == ()

    assert refs_of_tables(graph) == set()
    assert trees_of(graph) == []
    assert harbor.content(graph) == content
    harbor.open_with_short_leases(store_root).branches.create("review")
    assert harbor.content(graph, branch="review") == content


@pytest.mark.parametrize("point", ["cleanup.after_plan", "cleanup.after_choice", "cleanup.after_ref_delete"])
@pytest.mark.parametrize("action", ["kill", "error"])
def test_row_60_a_cleanup_that_dies_while_it_reclaims_is_finished_by_the_next(
    store_root: str, point: str, action: str
) -> None:
    graph = harbor.new_graph(store_root)
    lose_branch(graph)
    content = harbor.content(graph)
    assert refs_of_tables(graph)

    run_child(store_root, "cleanup", f"{point}:{action}")

    assert harbor.content(graph) == content
    assert clean(graph).failed == ()
    assert refs_of_tables(graph) == set()
    assert trees_of(graph) == []
    assert harbor.content(graph) == content
    assert clean(graph).failed == ()


@pytest.mark.parametrize("point", ["cleanup.between_files"])
@pytest.mark.parametrize("action", ["kill", "error"])
def test_row_60_a_cleanup_that_dies_inside_a_tree_is_finished_by_the_next(
    local_root: str, point: str, action: str
) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    run_child(local_root, "branch_load", "write.after_stage:kill")
    (Path(local_root) / next(path for path in trees_of(graph) if "/data/" in path)).with_name("more.lance").touch()
    age(local_root)
    before = trees_of(graph)

    run_child(local_root, "cleanup", f"{point}:{action}")

    left = [path for path in trees_of(graph) if "/data/" in path]
    assert 0 < len(left) < len(before)
    assert clean(graph).failed == ()
    assert [path for path in trees_of(graph) if "/data/" in path and "__manifest" not in path] == []
    BRANCH_KINDS["branch_load"](graph)
    assert graph.snapshot("review").table("Sailor").count_rows() == 4


@pytest.mark.parametrize("point", ["cleanup.between_steps"])
@pytest.mark.parametrize("action", ["kill", "error"])
def test_row_60_a_cleanup_that_dies_between_versions_and_files_leaves_no_version_without_its_files(
    store_root: str, point: str, action: str
) -> None:
    graph = harbor.new_graph(store_root)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    content = harbor.content(graph)
    addresses = [pin.address for pin in graph.snapshot().tables]
    objects = graph._context.store.objects

    def versions_of(address: TableAddress) -> list[int]:
        return [stored.version for stored in stored_versions(objects, address)]

    before = sum(len(versions_of(address)) for address in addresses)
    status, said = run_child(store_root, "cleanup", f"{point}:{action}")

    assert status == (-signal.SIGKILL if action == "kill" else 0), said
    assert sum(len(versions_of(address)) for address in addresses) < before
    for address in addresses:
        assert lost_files(objects, address, versions_of(address), objects.sizes(f"{address.location}/")) == {}
    assert harbor.content(harbor.open_with_short_leases(store_root)) == content
    assert clean(graph).failed == ()
    for address in addresses if not store_root.startswith("s3://") else ():  # there nothing can be made a week old
        (newest,) = versions_of(address)
        needed = {file.path for file in files_of_version(objects, address, newest)}
        assert {path for path in objects.list(f"{address.location}/") if "/data/" in path} <= needed
    assert harbor.content(harbor.open_with_short_leases(store_root)) == content


def test_a_write_that_dies_between_the_checks_of_a_cleanup_is_rolled_forward(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    for number in range(3):
        with graph.write() as batch:
            batch.update("Sailor", {"age": number}, ids=["Bo"])
    with paused_child(local_root, "cleanup", "cleanup.after_plan") as cleaning:
        run_child(local_root, "load_append", "write.after_effects:kill")
        said = resume(cleaning)

    assert said["ok"], said
    with pytest.raises(RecoveryRequired):
        graph.cleanup(NEWEST_ONLY, confirm=True)
    assert [operation.outcome for operation in sweep_until_free(graph)] == ["rolled_forward"]
    assert graph.snapshot().table("Sailor").count_rows() == 4
    assert harbor.pins_equal_heads(graph)


def test_a_write_that_dies_between_the_checks_keeps_the_orphans_of_its_branch(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    lose_branch(graph)
    orphans = refs_of_tables(graph)
    with paused_child(local_root, "cleanup", "cleanup.after_plan") as cleaning:
        graph.branches.create("review")
        run_child(local_root, "branch_load", "write.after_effects:kill")
        said = resume(cleaning)

    assert any("was interrupted while `cleanup` was at work" in str(warning) for warning in said["warnings"]), said
    assert orphans <= refs_of_tables(graph)
    assert [operation.outcome for operation in sweep_until_free(graph)] == ["rolled_forward"]
    assert graph.snapshot("review").table("Sailor").count_rows() == 4
    assert graph.cleanup(NEWEST_ONLY, confirm=True).failed == ()
    assert not orphans & refs_of_tables(graph)
