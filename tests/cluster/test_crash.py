"""An apply that dies or breaks anywhere: the ledger is as before, nothing is half done, and the next one converges."""

import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.cluster.applying import ApplyRequest, apply_cluster
from omnigraph.cluster.commands import ApproveRequest, approve_change, force_unlock, plan_cluster
from omnigraph.cluster.config import read_header
from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.lock import read_lock
from omnigraph.cluster.observing import import_cluster, refresh_cluster
from omnigraph.cluster.results import AppliedCluster
from omnigraph.cluster.site import ClusterSite
from omnigraph.errors import GraphNotFound
from support.failpoints import armed
from support.museums import GROWN_SCHEMA, TWO_GRAPHS, declare, write_museum
from support.processes import child_environment
from support.program import SEED

AFTER = """\
graphs:
  artworks: { schema: art.pg, queries: queries/ }
  loans: { schema: loans.pg }
"""
POINTS = [
    "cluster_apply.before_graph_create",
    "cluster_apply.after_graph_create",
    "cluster_apply.before_schema_apply",
    "cluster_apply.after_schema_apply",
    "cluster_apply.after_payload_phase",
    "cluster_apply.before_graph_delete",
    "cluster_apply.after_graph_delete",
    "cluster_apply.before_state_write",
]
MOVED_BY = {
    "cluster_apply.after_graph_create": "loans",
    "cluster_apply.after_schema_apply": "artworks",
    "cluster_apply.after_graph_delete": "archive",
}


class Museum:
    """A cluster that stands before an apply which creates one graph, changes one, and deletes one."""

    def __init__(self, directory: Path, storage: str | None) -> None:
        self.directory = str(directory)
        write_museum(directory, TWO_GRAPHS, storage=storage)
        assert import_cluster(self.directory).ok
        assert self.apply().converged
        omnigraph.open(self.uri("artworks")).load(io.BytesIO(SEED.encode()), mode="merge")
        directory.joinpath("art.pg").write_text(GROWN_SCHEMA, encoding="utf-8")
        queries = directory / "queries" / "art.gq"
        queries.write_text(queries.read_text() + "\nquery everybody() { match { $a: Artist } return { $a.name } }\n")
        declare(directory, AFTER, storage=storage)
        assert approve_change(ApproveRequest(resource="graph.archive", actor="ines", config_dir=self.directory)).ok
        self.before = self.state()

    @property
    def site(self) -> ClusterSite:
        header = read_header(self.directory, Diagnostics())
        assert header is not None
        return ClusterSite.open(header.root)

    def uri(self, graph_id: str) -> str:
        return self.site.graph_uri(graph_id)

    def state(self) -> bytes:
        stored = self.site.read_ledger()
        assert stored is not None
        return stored.content

    def apply(self) -> AppliedCluster:
        return apply_cluster(ApplyRequest(config_dir=self.directory, actor="ines"))

    def start(self, failpoint: str | None) -> subprocess.Popen[bytes]:
        more = {} if failpoint is None else {"OMNIGRAPH_FAILPOINT": failpoint}
        return subprocess.Popen(
            [sys.executable, "-m", "omnigraph", "cluster", "apply", "--config", self.directory, "--as", "ines"],
            env=child_environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def unlock(self) -> None:
        lock = read_lock(self.site)
        assert lock is not None, "a killed command leaves its lock"
        assert force_unlock(self.directory, lock.lock_id).lock_removed

    def assert_applied_once(self) -> None:
        """Check that everything is as declared, that no graph moved twice, and that nothing is left to do."""
        ledger = self.site.read_ledger()
        assert ledger is not None
        assert ledger.ledger.graph_ids == ("artworks", "loans")
        assert self.site.objects.list("recoveries") == ()
        assert read_lock(self.site) is None
        artworks = omnigraph.open(self.uri("artworks"), read_only=True)
        assert artworks.schema_source == GROWN_SCHEMA
        assert [commit.kind for commit in artworks.commits()] == ["schema_apply", "load", "genesis"]
        assert [row["a.name"] for row in artworks.query("match { $a: Artist } return { $a.name }").rows()] != []
        assert len(omnigraph.open(self.uri("loans"), read_only=True).commits()) == 1
        with pytest.raises(GraphNotFound):
            omnigraph.open(self.uri("archive"), read_only=True)
        approvals = [self.site.objects.read(name) for name in self.site.objects.list("approvals")]
        assert [b'"consumed_at": null' in found.content for found in approvals if found] == [False]
        again = self.apply()
        assert (again.converged, again.state_written, again.changes) == (True, False, ())
        assert plan_cluster(self.directory).changes == ()


@pytest.fixture
def s3_museum(s3_root: str, tmp_path: Path) -> Museum:
    return Museum(tmp_path / "museum", s3_root.rpartition("/")[0])


@pytest.fixture
def local_museum(tmp_path: Path) -> Museum:
    return Museum(tmp_path / "museum", None)


@pytest.mark.parametrize("failpoint", [f"{point}:kill" for point in POINTS])
def test_an_apply_that_is_killed_leaves_the_ledger_and_the_next_one_converges(
    local_museum: Museum, failpoint: str
) -> None:
    die_and_converge(local_museum, failpoint)


@pytest.mark.s3
@pytest.mark.parametrize("failpoint", [f"{point}:kill" for point in (*MOVED_BY, "cluster_apply.before_graph_delete")])
def test_the_same_on_s3(s3_museum: Museum, failpoint: str) -> None:
    die_and_converge(s3_museum, failpoint)


def die_and_converge(museum: Museum, failpoint: str) -> None:
    child = museum.start(failpoint)
    child.communicate(timeout=120)

    assert child.returncode == -signal.SIGKILL
    assert museum.state() == museum.before
    held = museum.apply()
    assert [found.code for found in held.diagnostics] == ["state_lock_held"]
    museum.unlock()
    assert museum.apply().converged
    museum.assert_applied_once()


@pytest.mark.parametrize("failpoint", [f"{point}:error" for point in POINTS])
def test_an_apply_with_an_error_says_so_and_the_next_one_converges(local_museum: Museum, failpoint: str) -> None:
    with armed(failpoint):
        broken = local_museum.apply()

    ledger = local_museum.site.read_ledger()
    assert (broken.ok, broken.converged) == (False, False)
    assert ledger is not None
    assert broken.resource_statuses == ledger.ledger.resource_statuses
    if graph_id := MOVED_BY.get(failpoint.partition(":")[0]):
        (change,) = [change for change in broken.changes if change.resource == f"graph.{graph_id}"]
        assert not change.is_settled or change.disposition.value != "applied"
    assert read_lock(local_museum.site) is None
    assert local_museum.apply().converged
    local_museum.assert_applied_once()


@pytest.mark.parametrize("point", ["cluster_apply.after_graph_create", "cluster_apply.before_state_write"])
def test_refresh_settles_what_a_killed_apply_left_and_publishes_nothing(local_museum: Museum, point: str) -> None:
    child = local_museum.start(f"{point}:kill")
    child.communicate(timeout=120)
    local_museum.unlock()

    refreshed = refresh_cluster(local_museum.directory)

    assert refreshed.ok
    assert "graph.loans" in refreshed.resource_digests
    assert "cluster_recovery_rolled_forward" in {found.code for found in refreshed.diagnostics}
    assert local_museum.apply().converged
    local_museum.assert_applied_once()


def test_a_second_apply_beside_a_paused_one_is_refused_and_both_end_well(local_museum: Museum) -> None:
    child = local_museum.start("cluster_apply.after_payload_phase:pause")
    assert clock.wait_until(lambda: _is_stopped(child.pid), timeout_seconds=60)

    beside = local_museum.apply()
    os.kill(child.pid, signal.SIGCONT)
    child.communicate(timeout=120)

    assert [found.code for found in beside.diagnostics] == ["state_lock_held"]
    assert child.returncode == 0
    local_museum.assert_applied_once()


def test_an_apply_whose_lock_was_taken_away_loses_against_the_one_that_went_first(local_museum: Museum) -> None:
    """Somebody unlocks by force while the command still works: the compare-and-swap of the ledger decides."""
    child = local_museum.start("cluster_apply.before_state_write:pause")
    assert clock.wait_until(lambda: _is_stopped(child.pid), timeout_seconds=60)
    local_museum.unlock()

    first = local_museum.apply()
    os.kill(child.pid, signal.SIGCONT)
    out, _ = child.communicate(timeout=120)

    assert first.converged
    assert child.returncode == 1
    assert b"state_cas_mismatch" in out
    local_museum.assert_applied_once()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_gives_the_lock_back(local_museum: Museum, number: signal.Signals) -> None:
    child = local_museum.start("cluster_apply.before_graph_create:pause")
    assert clock.wait_until(lambda: _is_stopped(child.pid), timeout_seconds=60)

    os.kill(child.pid, number)
    os.kill(child.pid, signal.SIGCONT)
    child.communicate(timeout=120)

    assert child.returncode == 130
    assert read_lock(local_museum.site) is None
    assert local_museum.state() == local_museum.before
    assert local_museum.apply().converged
    local_museum.assert_applied_once()


def test_a_birth_that_was_killed_halfway_waits_for_a_person(local_museum: Museum) -> None:
    child = local_museum.start("init.after_schemas:kill")
    child.communicate(timeout=120)
    local_museum.unlock()

    waiting = local_museum.apply()

    assert not waiting.ok
    assert "graph_create_incomplete" in {found.code for found in waiting.diagnostics}
    reasons = {change.resource: change.reason for change in waiting.changes}
    assert reasons["graph.loans"] == "cluster_recovery_pending"
    assert reasons["schema.loans"] == "cluster_recovery_pending"
    shutil.rmtree(local_museum.uri("loans"))
    assert local_museum.apply().converged
    local_museum.assert_applied_once()


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
