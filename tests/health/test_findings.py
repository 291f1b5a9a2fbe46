"""Each finding where it belongs and nowhere else, with the exact command that settles it."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.cli.main import main
from omnigraph.errors import StorageError
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.health import judging
from omnigraph.maintenance.health.judging import Finding, Severity, Status
from omnigraph.maintenance.optimize import table_commits
from omnigraph.storage.scratch import SCRATCH_DIRECTORY
from support import failpoints, harbor
from support.ages import age

DAY_US = 86_400 * 1_000_000
NOTES = "node Sailor { name: String @key }\nnode Note { slug: String @key  text: String? }\n"


def of(graph: Graph, code: str) -> list[Finding]:
    return [finding for finding in graph.health().findings if finding.code == code]


def load(graph: Graph, *names: str, branch: str = "main") -> None:
    for name in names:
        graph.load(harbor.lines([harbor.sailor(name)]), mode="append", branch=branch)


def run(fix: str) -> int:
    return main(shlex.split(fix)[1:])


@contextmanager
def days_from_now(days: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        now = clock.now_us
        patch.setattr(clock, "now_us", lambda: now() + days * DAY_US)
        yield


# --- branches ---


def test_a_new_branch_of_an_old_state_is_not_stale(local_root: str) -> None:
    with days_from_now(-40):
        graph = harbor.new_graph(local_root)
    graph.branches.create("fresh")
    load(graph, "Kim")

    (branch,) = graph.health().health.branches

    assert branch.old_versions_kept == 1
    assert of(graph, "stale_branch") == []


def test_a_resting_branch_that_keeps_nothing_alive_is_not_stale(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("resting")

    with days_from_now(40):
        assert of(graph, "stale_branch") == []


def test_a_resting_branch_without_commits_of_its_own_can_be_deleted(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("resting")
    load(graph, "Kim")

    with days_from_now(40):
        (finding,) = of(graph, "stale_branch")

    assert "nothing happened for 40 days, and it keeps 1 old version alive" in finding.message
    assert finding.fix == f"omnigraph branch delete --store {graph.uri} resting"
    assert run(finding.fix) == 0


def test_a_resting_branch_with_unmerged_commits_is_merged_and_not_deleted(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("resting")
    load(graph, "Zed", branch="resting")
    load(graph, "Kim")

    with days_from_now(40):
        (finding,) = of(graph, "stale_branch")

    assert "merge its 1 commit, or give them up with `omnigraph branch delete" in finding.message
    assert finding.fix == f"omnigraph branch merge --store {graph.uri} resting --delete-branch"
    assert run(finding.fix) == 0
    assert "Zed" in harbor.content(graph)


def test_a_merged_branch_has_nothing_to_lose_and_a_grandchild_goes_to_its_parent(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("merged")
    load(graph, "Zed", branch="merged")
    graph.branches.merge("merged")
    graph.branches.create("child", source="merged")
    load(graph, "Lou", branch="child")
    load(graph, "Moe", branch="merged")

    merged, child = sorted(graph.health().health.branches, key=lambda branch: branch.name, reverse=True)

    assert (merged.unmerged_commits, merged.parent) == (1, "main")
    assert (child.unmerged_commits, child.parent) == (1, "merged")
    with days_from_now(40):
        fix = next(finding.fix for finding in of(graph, "stale_branch") if finding.branch == "child")
    assert fix == f"omnigraph branch merge --store {graph.uri} child --into merged --delete-branch"


def test_a_type_that_only_a_branch_still_has_is_kept_alive_by_it(local_root: str) -> None:
    graph = omnigraph.init(local_root, NOTES)
    graph.apply_schema(NOTES.splitlines()[0])
    graph.branches.create("older", source="main@1")

    (branch,) = graph.health().health.branches

    assert branch.old_versions_kept == 1


def test_many_branches_that_need_optimizing_are_one_finding_with_one_command(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    for name in ("a", "b", "c"):
        graph.branches.create(name)
        load(graph, "Kim", branch=name)

    (finding,) = [found for found in graph.health().findings if found.needs_something]

    assert (finding.code, finding.branch) == ("never_optimized", None)
    assert {"node:Sailor on a", "node:Sailor on c", "node:Ship"} <= set(finding.places)
    assert finding.fix == f"omnigraph optimize {graph.uri} --all-branches"
    assert run(finding.fix) == 0
    assert graph.health().status is Status.HEALTHY


# --- commands ---


def test_commands_are_quoted_for_a_shell(tmp_path: Path) -> None:
    uri = str(tmp_path / "my graph.omni")
    graph = harbor.new_graph(uri)

    (fix,) = {finding.fix for finding in graph.health().findings if finding.severity is not Severity.INFO}

    assert fix == f"omnigraph optimize '{uri}'"
    assert run(fix) == 0
    assert graph.health().status is Status.HEALTHY


def test_vectors_that_a_branch_lacks_are_embedded_on_that_branch(local_root: str) -> None:
    graph = omnigraph.init(local_root, "node Doc { slug: String @key  title: String  vec: Vector(4)? @embed(title) }")
    graph.branches.create("review")
    record = {"type": "Doc", "data": {"slug": "a", "title": "A"}}
    graph.load(harbor.lines([record]), mode="append", branch="review")

    (finding,) = of(graph, "vectors_pending")

    assert finding.fix == f"omnigraph embed {graph.uri} --type Doc --branch review"


# --- internal tables, settings, locks ---


def test_internal_tables_grow_on_main_and_on_branches(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "INTERNAL_FRAGMENTS_MAX", 4)
    graph = harbor.new_graph(local_root)
    graph.branches.create("long")
    load(graph, "Kim", "Lou", "Moe", "Ned", branch="long")
    graph.optimize()

    (grown,) = of(graph, "internal_growth")

    assert (grown.table_key, grown.branch) == ("__manifest", "long")
    assert grown.fix == f"omnigraph optimize {graph.uri} --branch long"
    assert run(grown.fix) == 0
    assert of(graph, "internal_growth") == []


@pytest.mark.parametrize("internal", [False, True])
def test_a_setting_that_would_make_lance_delete_versions_needs_action(local_root: str, internal: bool) -> None:
    graph = harbor.new_graph(local_root)
    location = "__manifest" if internal else next(iter(graph.snapshot().tables)).location
    lance.dataset(f"{local_root}/{location}").update_config({"lance.auto_cleanup.interval": "1"})
    if not internal:
        assert main(["repair", local_root, "--confirm", "--force"]) == 0

    (finding,) = of(graph, "auto_cleanup")

    assert finding.severity is Severity.ACTION
    assert run(finding.fix) == 0
    assert of(graph, "auto_cleanup") == []


def test_locks_are_shown_with_their_holders(local_root: str, capsys: pytest.CaptureFixture[str]) -> None:
    graph = harbor.new_graph(local_root)

    with graph._context.store.locks.acquire("branch/main", operation="a long load", wait_seconds=0):
        locks = graph.health().health.locks
        main(["health", local_root])

    assert locks["branch/main"].operation == "a long load"
    assert "locked: branch/main by a long load in process" in capsys.readouterr().out
    assert graph.health().health.locks == {}


def test_a_write_under_way_is_no_interrupted_write(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    with failpoints.armed("write.after_arm:die"), pytest.raises(failpoints.Died):
        load(graph, "Kim")

    with graph._context.store.locks.acquire("branch/main", operation="load", wait_seconds=0):
        (under_way,) = of(graph, "recovery_in_use")
    (interrupted,) = of(graph, "recovery_pending")

    assert (under_way.severity, interrupted.severity) == (Severity.INFO, Severity.ACTION)


# --- space ---


def test_what_cleanup_would_remove_is_told_when_it_is_much(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "RECLAIMABLE_BYTES_MIN", 1)
    graph = harbor.new_graph(local_root)
    load(graph, *(f"S{number}" for number in range(12)))
    graph.optimize()

    (finding,) = of(graph, "reclaimable")

    assert finding.fix == f"omnigraph cleanup {graph.uri} --confirm"
    assert run(finding.fix) == 0
    assert of(graph, "reclaimable") == []


def test_a_dropped_type_and_its_successor_are_counted_apart(local_root: str) -> None:
    graph = omnigraph.init(local_root, NOTES)
    graph.apply_schema(NOTES.splitlines()[0])
    graph.apply_schema(NOTES)
    for number in range(15):
        record = {"type": "Note", "data": {"slug": "a", "text": str(number)}}
        graph.load(harbor.lines([record]), mode="merge")

    age(local_root)
    health = graph.health().health
    rows = graph.cleanup(CleanupPolicy(keep_versions=10)).rows

    (table,) = [table for table in health.tables if table.table_key == "node:Note"]
    (dropped,) = [left for left in health.leftovers if left.is_dropped]
    assert table.reclaimable_bytes == sum(
        row.removed.bytes for row in rows if row.table_key == "node:Note" and not row.dropped
    )
    assert dropped.bytes == sum(row.removed.bytes for row in rows if row.dropped) > 0
    assert health.reclaimable_bytes == sum(row.removed.bytes for row in rows)


def test_what_dead_operations_left_counts(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    left = Path(local_root, SCRATCH_DIRECTORY, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "part.arrow")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x" * 1000)
    age(left.parent)

    health = graph.health().health

    assert [(found.name, found.bytes) for found in health.leftovers] == [(SCRATCH_DIRECTORY, 1000)]
    assert health.reclaimable_bytes == 1000


# --- maintenance ---


def test_runs_say_how_long_they_took_and_what_they_gained(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    load(graph, "Kim", "Lou")
    graph.optimize()
    graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)
    pin = next(iter(graph.snapshot().tables))
    lance.dataset(f"{local_root}/{pin.location}").update_config({"owner": "somebody"})
    assert main(["repair", local_root, "--confirm", "--force"]) == 0

    optimize, cleanup, repair = graph.health().health.runs

    assert (optimize.verb, optimize.branch) == ("optimize", "main")
    assert optimize.fragments_removed > optimize.fragments_added > 0
    assert optimize.duration_us is not None
    assert cleanup.verb == "cleanup"
    assert cleanup.versions_removed > 0
    assert cleanup.bytes_removed > 0
    assert (repair.verb, repair.tables_repaired) == ("repair", 1)


def test_what_fails_again_and_again_becomes_urgent_until_it_works(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = harbor.new_graph(local_root)

    def fail(*_: object, **__: object) -> None:
        raise StorageError("the disk is full", storage_kind="unknown", uri=local_root)

    severities = []
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr("omnigraph.maintenance.optimize.run.carry_out_tasks", fail)
            with pytest.raises(StorageError):
                graph.optimize()
        (finding,) = of(graph, "maintenance_failing")
        severities.append(finding.severity)

    assert severities == [Severity.ATTENTION, Severity.ATTENTION, Severity.ACTION]
    assert finding.message == "optimize failed 3 times in a row: the disk is full"
    assert run(finding.fix) == 0
    assert of(graph, "maintenance_failing") == []


def test_a_table_that_fails_again_and_again_is_named(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = harbor.new_graph(local_root)
    take = table_commits._Steps.take

    def fail_on_sailors(steps: table_commits._Steps) -> None:
        if steps._found.pin.table_key == "node:Sailor":
            raise StorageError("the disk is full", storage_kind="unknown", uri=local_root)
        take(steps)

    with monkeypatch.context() as patch:
        patch.setattr(table_commits._Steps, "take", fail_on_sailors)
        for _ in range(3):
            assert graph.optimize().failure is not None
        (finding,) = of(graph, "maintenance_failing")

    assert (finding.table_key, finding.severity) == ("node:Sailor", Severity.ACTION)
    assert finding.message == "optimize failed 3 times in a row: the disk is full"
    graph.optimize()
    assert of(graph, "maintenance_failing") == []
