"""Migrations that are killed at every commit boundary, run twice at once, or meet a publisher that missed them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph.base import clock
from support import harbor, old_graphs
from support.forks import run_module
from support.old_graphs import MARKER, STAMP
from support.processes import child_environment
from support.writer_child import KINDS

# Every boundary between two commits on the way from stamp 1 to stamp 4: the point, and how often it is passed before.
BOUNDARIES = [
    *(("migrate.after_stamp", passed) for passed in range(3)),
    *(("migrate.after_ref", passed) for passed in range(4)),
    ("migrate.after_columns", 0),
    ("migrate.after_schemas", 0),
    *(("migrate.after_persist", passed) for passed in range(3)),
    *(("migrate.after_step", passed) for passed in range(3)),
]
INSIDE_A_STEP = ["migrate.after_stamp:pause:2", "migrate.after_columns:pause", "migrate.after_schemas:pause"]

# Migrates under a lock that keeps nobody else out: a migrator whose lease ran out while it was paused.
MIGRATE_ANYWAY = """
import sys
from omnigraph.engine.local import LocalEngine
from omnigraph.manifest.migrations.migration import Site
from omnigraph.manifest.migrations.run import carry_out
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.store import GraphStore
from omnigraph.graphs.context import GraphContext

uri, name = sys.argv[1:]
context = GraphContext.over(GraphStore.open(uri), LocalEngine())
with context.store.locks.acquire(f"branch/{name}", operation="migrate", wait_seconds=0) as lock:
    carry_out(Site(store=context.store, schemas=context.schemas, branch="main", address=MANIFEST, lock=lock))
"""

# Publishes an empty commit without any lock, as a writer does whose lease ran out before its publish.
PUBLISH_ANYWAY = """
import sys
from omnigraph.base import clock, ids
from omnigraph.engine.local import LocalEngine
from omnigraph.manifest.commits import Commit, CommitKind
from omnigraph.manifest.publish import ManifestChanges, Preconditions
from omnigraph.storage.store import GraphStore
from omnigraph.graphs.context import GraphContext

context = GraphContext.over(GraphStore.open(sys.argv[1]), LocalEngine())
head = context.manifest.load("main").head
draft = Commit(
    graph_commit_id=ids.new_ulid(), parent_commit_id=None, graph_branch="main", graph_version=0,
    kind=CommitKind.MUTATION, actor_id="act-late", created_at_us=clock.now_us(),
)
exact = Preconditions(incarnation="main", exact_head=head.graph_commit_id, ir_hash=None)
context.publisher.publish("main", ManifestChanges(), draft, exact)
"""


def start(code: str, *arguments: str, failpoint: str | None = None) -> subprocess.Popen[bytes]:
    environment = child_environment()
    if failpoint is not None:
        environment["OMNIGRAPH_FAILPOINT"] = failpoint
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment)


def run_writer(uri: str, failpoint: str) -> int:
    """Load into the graph from a process of its own, and return how it ended."""
    environment = child_environment(OMNIGRAPH_FAILPOINT=failpoint)
    return run_module("support.writer_child", [uri, "load_append"], environment).returncode


def wait_until_stopped(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process stops itself at its fail point."""

    def is_stopped() -> bool:
        assert process.poll() is None, "the process ended before it reached its fail point"
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    assert clock.wait_until(is_stopped, timeout_seconds=60, pause_seconds=0.02)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that do not outlive the test, however it ends."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The content of the fixture graph, before and after the writer of these tests."""
    uri = str(tmp_path_factory.mktemp("expected") / "graph.omni")
    old_graphs.build(uri, stamp=3)
    before = harbor.content(omnigraph.open(uri, read_only=True))
    graph = omnigraph.open(uri)
    KINDS["load_append"](graph)
    return before, harbor.content(graph)


def assert_survives(uri: str, failpoint: str, expected: tuple[str, str]) -> None:
    """Kill a migrating writer, look, write again, look again."""
    before, after = expected

    assert run_writer(uri, failpoint) == -signal.SIGKILL

    untouched = old_graphs.contents_of(uri)
    assert harbor.content(omnigraph.open(uri, read_only=True)) == before
    assert old_graphs.contents_of(uri) == untouched
    graph = harbor.open_with_short_leases(uri)
    KINDS["load_append"](graph)
    assert harbor.content(graph) == after
    assert [commit.graph_version for commit in graph.commits()] == [6, 5, 4, 3, 2, 1]
    assert_migrated(uri)


def assert_migrated(uri: str) -> None:
    metadata = old_graphs.metadata_of(uri)
    object_ids = lance.dataset(f"{uri}/__manifest").to_table(columns=["object_id"])["object_id"].to_pylist()
    assert metadata[STAMP] == "4"
    assert MARKER not in metadata
    assert len(set(object_ids)) == len(object_ids)
    assert old_graphs.refs_of(uri, "__manifest") == ["review"]
    assert old_graphs.refs_of(uri, "nodes/Sailor.lance") == ["review"]


@pytest.mark.parametrize(("point", "passed"), BOUNDARIES)
def test_a_migration_killed_between_two_commits_is_readable_and_resumed(
    local_root: str, expected: tuple[str, str], point: str, passed: int
):
    old_graphs.build(local_root, stamp=1)

    assert_survives(local_root, f"{point}:kill:{passed}", expected)


def test_a_migration_killed_after_it_stripped_the_cleanup_settings_is_resumed(
    local_root: str, expected: tuple[str, str]
):
    old_graphs.build(local_root, stamp=1)
    settings = {"lance.auto_cleanup.interval": "100", "lance.auto_cleanup.older_than": "1d"}
    lance.dataset(f"{local_root}/__manifest").update_config(settings)

    assert_survives(local_root, "migrate.after_strip:kill", expected)


@pytest.mark.s3
@pytest.mark.parametrize(
    "failpoint",
    [
        "migrate.after_stamp:kill",
        "migrate.after_ref:kill:2",
        "migrate.after_columns:kill",
        "migrate.after_persist:kill:2",
    ],
)
def test_a_migration_killed_on_an_object_store_is_readable_and_resumed(
    s3_root: str, expected: tuple[str, str], failpoint: str
):
    old_graphs.build(s3_root, stamp=1)

    assert_survives(s3_root, failpoint, expected)


def test_a_migration_killed_at_every_boundary_in_turn_still_ends(local_root: str, expected: tuple[str, str]):
    """Kill each resuming writer at the first boundary it reaches, as a machine would that runs out of memory."""
    old_graphs.build(local_root, stamp=1)
    for point in ("migrate.after_stamp", "migrate.after_ref", "migrate.after_columns", "migrate.after_step"):
        run_writer(local_root, f"{point}:kill")
        assert harbor.content(omnigraph.open(local_root, read_only=True)) == expected[0]

    graph = omnigraph.open(local_root)
    KINDS["load_append"](graph)
    assert harbor.content(graph) == expected[1]
    assert_migrated(local_root)


@pytest.mark.parametrize("stamp", [1, 3])
def test_two_processes_that_open_an_old_graph_at_once_both_succeed(store_root: str, stamp: int):
    old_graphs.build(store_root, stamp=stamp)
    code = "import sys, omnigraph; omnigraph.open(sys.argv[1])"

    racing = [start(code, store_root) for _ in range(2)]

    assert [process.wait(timeout=120) for process in racing] == [0, 0]
    assert_migrated(store_root)


@pytest.mark.parametrize("stamp", [1, 3])
def test_two_migrators_without_a_common_lock_both_succeed(local_root: str, stamp: int, expected: tuple[str, str]):
    old_graphs.build(local_root, stamp=stamp)

    racing = [start(MIGRATE_ANYWAY, local_root, name) for name in ("first", "second")]

    assert [process.wait(timeout=120) for process in racing] == [0, 0]
    assert harbor.content(omnigraph.open(local_root, read_only=True)) == expected[0]
    assert_migrated(local_root)


@pytest.mark.parametrize(
    "failpoint", [*INSIDE_A_STEP, "migrate.after_persist:pause:2", "write.publish_contended:pause"]
)
def test_a_paused_migrator_takes_nothing_back_when_it_resumes(
    local_root: str, expected: tuple[str, str], processes: list[subprocess.Popen[bytes]], failpoint: str
):
    """Another process finishes the migration and publishes meanwhile; the head must stay its commit."""
    old_graphs.build(local_root, stamp=1)
    paused = start(MIGRATE_ANYWAY, local_root, "elsewhere", failpoint=failpoint)
    processes.append(paused)
    wait_until_stopped(paused)

    head = KINDS["load_append"](omnigraph.open(local_root))
    paused.send_signal(signal.SIGCONT)

    assert paused.wait(timeout=60) == 0
    graph = omnigraph.open(local_root, read_only=True)
    assert graph.commits()[0] == head
    assert harbor.content(graph) == expected[1]
    assert_migrated(local_root)


@pytest.mark.parametrize("passed", [0, 1])
def test_a_late_end_of_one_step_does_not_remove_the_marker_of_the_next(
    local_root: str, processes: list[subprocess.Popen[bytes]], passed: int
):
    old_graphs.build(local_root, stamp=1)
    paused = start(MIGRATE_ANYWAY, local_root, "elsewhere", failpoint=f"migrate.after_persist:pause:{passed}")
    processes.append(paused)
    wait_until_stopped(paused)

    killed = start(MIGRATE_ANYWAY, local_root, "other", failpoint="migrate.after_stamp:kill")
    assert killed.wait(timeout=60) == -signal.SIGKILL
    # The step after the paused one is begun and marked; the paused migrator must finish it, not forget it.
    marked = old_graphs.metadata_of(local_root)
    paused.send_signal(signal.SIGCONT)
    stops = _resume_until_done(paused)

    assert marked[MARKER] == str(passed + 2)
    assert stops == 2 - passed
    assert_migrated(local_root)


def _resume_until_done(process: subprocess.Popen[bytes]) -> int:
    """Let a process run that stops at each further passage of its fail point; return how often it did."""
    stops = 0
    while process.poll() is None:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "T":
            stops += 1
            process.send_signal(signal.SIGCONT)
        clock.sleep_seconds(0.02)
    assert process.returncode == 0
    return stops


def test_a_publisher_paused_across_a_migration_reads_again(local_root: str, processes: list[subprocess.Popen[bytes]]):
    """Its first attempt must be lost: a new stamp alone would let it land on what it read before."""
    old_graphs.build(local_root, stamp=3)
    omnigraph.open(local_root)
    publisher = start(PUBLISH_ANYWAY, local_root, failpoint="write.publish_contended:pause")
    processes.append(publisher)
    wait_until_stopped(publisher)

    lance.dataset(f"{local_root}/__manifest").update_schema_metadata({MARKER: "3"})
    omnigraph.open(local_root)
    migrated = lance.dataset(f"{local_root}/__manifest").version
    publisher.send_signal(signal.SIGCONT)
    wait_until_stopped(publisher)

    assert lance.dataset(f"{local_root}/__manifest").version == migrated
    publisher.send_signal(signal.SIGCONT)
    assert publisher.wait(timeout=60) == 0
    head, parent = omnigraph.open(local_root, read_only=True).commits()[:2]
    assert (head.actor_id, head.graph_version) == ("act-late", 6)
    assert parent.graph_commit_id == old_graphs.UNLOGGED


def test_a_publisher_refuses_a_branch_that_is_not_migrated(local_root: str):
    old_graphs.build(local_root, stamp=3)
    before = old_graphs.contents_of(local_root)

    assert start(PUBLISH_ANYWAY, local_root).wait(timeout=60) != 0

    assert old_graphs.contents_of(local_root) == before
