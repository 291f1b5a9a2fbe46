"""Every code that a cluster command can report is reported by some state of the world.

Those of a configuration are in `test_config.py`. Here files below `__cluster/` are lost, cut, swapped for directories,
or changed while a command runs.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph import errors
from omnigraph.cluster import applying
from omnigraph.cluster.applying import ApplyRequest, apply_cluster
from omnigraph.cluster.commands import ApproveRequest, approve_change, cluster_status, force_unlock, plan_cluster
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.intents import read_intents
from omnigraph.cluster.ledger import cluster_graph_ids
from omnigraph.cluster.observing import import_cluster, refresh_cluster
from omnigraph.cluster.results import ClusterResult
from omnigraph.cluster.site import ClusterSite
from support.failpoints import armed, once_at
from support.faulty_s3 import FaultyS3, IgnoreConditions
from support.museums import GROWN_SCHEMA, ONE_GRAPH, TWO_GRAPHS, declare, write_museum

PROVIDER = "providers: {embedding: {p: {kind: mock}}}\n"
LOCK = {"version": 1, "lock_id": "01JB", "operation": "apply", "created_at": "2026-01-01T00:00:00Z", "pid": 1}
SIDECAR = {
    "schema_version": 1,
    "operation_id": "01OP",
    "started_at": "2026-01-01T00:00:00Z",
    "actor": None,
    "kind": "graph_create",
    "graph_id": "artworks",
    "graph_uri": "/nowhere/graphs/artworks.omni",
    "observed_manifest_version": None,
    "expected_manifest_version": None,
    "desired_schema_digest": None,
    "state_cas_base": None,
    "approval_id": None,
}


class Cluster:
    """A cluster directory whose control files a test may spoil."""

    def __init__(self, directory: Path, body: str) -> None:
        self.directory = directory
        self.control = directory / "__cluster"
        write_museum(directory, body)

    def begin(self) -> "Cluster":
        assert import_cluster(str(self.directory)).ok
        assert self.apply().ok
        return self

    def apply(self) -> ClusterResult:
        return apply_cluster(ApplyRequest(config_dir=str(self.directory)))

    def plan(self) -> ClusterResult:
        return plan_cluster(str(self.directory))

    def refresh(self) -> ClusterResult:
        return refresh_cluster(str(self.directory))

    def status(self) -> ClusterResult:
        return cluster_status(str(self.directory))

    def unlock(self, lock_id: str = "01JB") -> ClusterResult:
        return force_unlock(str(self.directory), lock_id)

    def approve(self, address: str) -> ClusterResult:
        return approve_change(ApproveRequest(resource=address, actor="ines", config_dir=str(self.directory)))

    def put(self, name: str, content: object) -> None:
        path = self.control / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def swap_for_directory(self, name: str) -> None:
        """Put a directory where a file belongs: it can be neither read nor replaced, whoever runs the test."""
        path = self.control / name
        path.unlink(missing_ok=True)
        path.joinpath("inside").mkdir(parents=True)

    def swap_for_file(self, name: str) -> None:
        path = self.control / name
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def edit_state(self, edit: Callable[[dict], object]) -> None:
        document = json.loads(self.control.joinpath("state.json").read_text())
        edit(document)
        self.put("state.json", document)

    def without_archive(self) -> None:
        declare(self.directory, ONE_GRAPH)


def state_missing(bare: Cluster) -> ClusterResult:
    return bare.apply()


def state_already_exists(bare: Cluster) -> ClusterResult:
    bare.begin()
    return import_cluster(str(bare.directory))


def state_read_error(bare: Cluster) -> ClusterResult:
    bare.swap_for_directory("state.json")
    return bare.status()


def state_write_error(bare: Cluster) -> ClusterResult:
    import_cluster(str(bare.directory))
    with armed("cluster_apply.before_state_write:error"):
        return bare.apply()


def state_cas_mismatch(bare: Cluster) -> ClusterResult:
    import_cluster(str(bare.directory))

    def edit() -> None:
        bare.edit_state(lambda document: document.update(state_revision=9))

    with once_at("cluster_apply.before_state_write", edit):
        return bare.apply()


def invalid_state_json(bare: Cluster) -> ClusterResult:
    bare.put("state.json", "{")
    return bare.plan()


def unsupported_state_version(bare: Cluster) -> ClusterResult:
    bare.put("state.json", {"version": 2})
    return bare.plan()


def conflicting_graph_manifest_observation(bare: Cluster) -> ClusterResult:
    seen = {"graph.g": {"manifest_version": 1, "graph_manifest_version": 2}}
    bare.put("state.json", {"version": 1, "applied_revision": {}, "observations": seen})
    return bare.plan()


def state_lock_held(bare: Cluster) -> ClusterResult:
    bare.put("lock.json", LOCK)
    return bare.plan()


def state_lock_error(bare: Cluster) -> ClusterResult:
    bare.control.write_text("")
    return bare.plan()


def state_lock_read_error(bare: Cluster) -> ClusterResult:
    bare.swap_for_directory("lock.json")
    return bare.unlock()


def state_lock_missing(bare: Cluster) -> ClusterResult:
    return bare.unlock()


def state_lock_id_mismatch(bare: Cluster) -> ClusterResult:
    bare.put("lock.json", LOCK)
    return bare.unlock("01JX")


def invalid_state_lock(bare: Cluster) -> ClusterResult:
    bare.put("lock.json", {**LOCK, "more": 1})
    return bare.unlock()


def unsupported_state_lock_version(bare: Cluster) -> ClusterResult:
    bare.put("lock.json", {**LOCK, "version": 2})
    return bare.unlock()


def state_lock_disabled(bare: Cluster) -> ClusterResult:
    declare(bare.directory, "state: {lock: false}\n")
    bare.put("lock.json", LOCK)
    return bare.plan()


def apply_unsupported_change(bare: Cluster) -> ClusterResult:
    bare.begin()
    bare.edit_state(
        lambda document: document["applied_revision"]["resources"].update({"pipeline.nightly": {"digest": "0" * 64}})
    )
    return bare.apply()


def approval_not_required(bare: Cluster) -> ClusterResult:
    bare.begin()
    return bare.approve("graph.none")


def invalid_recovery_sidecar(bare: Cluster) -> ClusterResult:
    bare.put("recoveries/01OP.json", "{")
    return bare.status()


def unsupported_recovery_sidecar_version(bare: Cluster) -> ClusterResult:
    bare.put("recoveries/01OP.json", {**SIDECAR, "schema_version": 2})
    return bare.status()


def recovery_sidecar_read_error(bare: Cluster) -> ClusterResult:
    bare.swap_for_file("recoveries")
    return bare.plan()


def cluster_recovery_pending(bare: Cluster) -> ClusterResult:
    bare.put("recoveries/01OP.json", SIDECAR)
    return bare.plan()


def resource_payload_write_error(museum: Cluster) -> ClusterResult:
    import_cluster(str(museum.directory))
    museum.swap_for_file("resources")
    return museum.apply()


def graph_create_failed(museum: Cluster) -> ClusterResult:
    import_cluster(str(museum.directory))
    museum.directory.joinpath("graphs").write_text("")
    return museum.apply()


def schema_preview_unavailable(museum: Cluster) -> ClusterResult:
    museum.begin()
    shutil.rmtree(museum.directory / "graphs" / "artworks.omni")
    museum.directory.joinpath("art.pg").write_text(GROWN_SCHEMA, encoding="utf-8")
    return museum.plan()


def resource_content_changed(museum: Cluster, monkeypatch: pytest.MonkeyPatch) -> ClusterResult:
    import_cluster(str(museum.directory))
    _after_planning(monkeypatch, lambda: museum.directory.joinpath("art.pg").write_text(GROWN_SCHEMA))
    return museum.apply()


def recovery_sidecar_write_error(museum: Cluster, monkeypatch: pytest.MonkeyPatch) -> ClusterResult:
    import_cluster(str(museum.directory))
    _after_planning(monkeypatch, lambda: museum.swap_for_file("recoveries"))
    return museum.apply()


def schema_apply_failed(museum: Cluster) -> ClusterResult:
    museum.begin()
    museum.directory.joinpath("art.pg").write_text(GROWN_SCHEMA.replace("born: I32?", "born: String"), encoding="utf-8")
    return museum.apply()


def graph_create_skipped(museum: Cluster) -> ClusterResult:
    museum.begin()
    museum.directory.joinpath("graphs", "aaa.omni").write_text("")
    declare(museum.directory, f"{TWO_GRAPHS}  aaa: {{ schema: loans.pg }}\n  bbb: {{ schema: loans.pg }}\n")
    return museum.apply()


def schema_apply_skipped(museum: Cluster) -> ClusterResult:
    museum.begin()
    museum.directory.joinpath("graphs", "aaa.omni").write_text("")
    museum.directory.joinpath("art.pg").write_text(GROWN_SCHEMA, encoding="utf-8")
    declare(museum.directory, f"{TWO_GRAPHS}  aaa: {{ schema: loans.pg }}\n")
    return museum.apply()


def graph_delete_skipped(museum: Cluster) -> ClusterResult:
    museum.begin()
    museum.directory.joinpath("graphs", "aaa.omni").write_text("")
    declare(museum.directory, f"{ONE_GRAPH}  aaa: {{ schema: loans.pg }}\n")
    museum.approve("graph.archive")
    return museum.apply()


def graph_delete_failed(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.approve("graph.archive")
    with armed("cluster_apply.after_graph_delete:error"):
        return museum.apply()


def graph_delete_incomplete(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.approve("graph.archive")
    with armed("cluster_apply.before_graph_delete:error"):
        museum.apply()
    return museum.apply()


def apply_dependency_blocked(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    return museum.apply()


def apply_approval_invariant_violation(museum: Cluster, monkeypatch: pytest.MonkeyPatch) -> ClusterResult:
    museum.begin().without_archive()
    museum.approve("graph.archive")
    make_plan = applying.make_plan
    monkeypatch.setattr(applying, "make_plan", lambda *a, **k: replace(make_plan(*a, **k), approvals={}))
    return museum.apply()


def approval_stale(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.approve("graph.archive")
    declare(museum.directory, f"metadata: {{name: other}}\n{ONE_GRAPH}")
    return museum.plan()


def approval_write_error(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.swap_for_file("approvals")
    return museum.approve("graph.archive")


def approval_read_error(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.swap_for_file("approvals")
    return museum.plan()


def invalid_approval_artifact(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.put("approvals/01AP.json", "{")
    return museum.plan()


def unsupported_approval_version(museum: Cluster) -> ClusterResult:
    museum.begin().without_archive()
    museum.put("approvals/01AP.json", {"schema_version": 2})
    return museum.plan()


def cluster_recovery_rolled_forward(museum: Cluster) -> ClusterResult:
    import_cluster(str(museum.directory))
    with armed("cluster_apply.after_graph_create:error"):
        museum.apply()
    return museum.apply()


def graph_create_incomplete(museum: Cluster) -> ClusterResult:
    import_cluster(str(museum.directory))
    with armed("cluster_apply.after_graph_create:error"):
        museum.apply()
    shutil.rmtree(museum.directory / "graphs" / "archive.omni" / "__manifest")
    return museum.apply()


def recovery_sidecar_cleanup_failed(museum: Cluster) -> ClusterResult:
    import_cluster(str(museum.directory))

    def swap() -> None:
        for sidecar in museum.control.joinpath("recoveries").iterdir():
            museum.swap_for_directory(f"recoveries/{sidecar.name}")

    with once_at("cluster_apply.before_state_write", swap):
        return museum.apply()


def catalog_payload_missing(museum: Cluster) -> ClusterResult:
    museum.begin()
    shutil.rmtree(museum.control / "resources")
    return museum.status()


def catalog_payload_mismatch(museum: Cluster) -> ClusterResult:
    museum.begin()
    for blob in museum.control.joinpath("resources").rglob("*.gq"):
        blob.write_text("else")
    return museum.status()


def catalog_payload_read_error(museum: Cluster) -> ClusterResult:
    museum.begin()
    for blob in list(museum.control.joinpath("resources").rglob("*.gq")):
        museum.swap_for_directory(str(blob.relative_to(museum.control)))
    return museum.refresh()


def graph_observation_error(museum: Cluster) -> ClusterResult:
    museum.begin()
    shutil.rmtree(museum.directory / "graphs" / "artworks.omni" / "__manifest")
    return museum.refresh()


def external_blob_policy_digest_mismatch(museum: Cluster) -> ClusterResult:
    museum.begin()
    museum.edit_state(
        lambda document: document["applied_revision"]["resources"]["schema.artworks"].update(digest="0" * 64)
    )
    return museum.apply()


def _after_planning(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Do something between what a command reads and what it applies."""
    make_plan = applying.make_plan

    def plan_and_act(*arguments: object, **named: object) -> object:
        planned = make_plan(*arguments, **named)
        action()
        return planned

    monkeypatch.setattr(applying, "make_plan", plan_and_act)


CASES = {
    name: function
    for name, function in list(globals().items())
    if name in {code.value for code in DiagnosticCode} and callable(function)
}


@pytest.mark.parametrize("code", CASES)
def test_a_code_is_reported_where_it_belongs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[code]
    wanted = case.__code__.co_varnames[: case.__code__.co_argcount]
    cluster = Cluster(tmp_path / "museum", TWO_GRAPHS if "museum" in wanted else PROVIDER)
    more = {"monkeypatch": monkeypatch} if "monkeypatch" in wanted else {}

    result = case(cluster, **more)

    assert code in {found.code for found in result.diagnostics}
    assert all(found.message and found.path for found in result.diagnostics)
    lock = cluster.control / "lock.json" if cluster.control.is_dir() else None
    assert lock is None or not lock.is_file() or json.loads(lock.read_text())["pid"] == 1, "our lock was left"


def test_a_lock_that_nobody_can_name_is_not_to_be_removed_by_its_name(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, PROVIDER)
    cluster.put("lock.json", "")

    (held,) = cluster.plan().diagnostics

    assert held.code == "state_lock_held"
    assert "force-unlock" not in held.message
    assert "by hand" in held.message


@pytest.mark.parametrize("graph_id", [5, "../../elsewhere"])
def test_a_sidecar_of_no_graph_is_left_and_reported(tmp_path: Path, graph_id: object) -> None:
    cluster = Cluster(tmp_path, PROVIDER)
    cluster.put("recoveries/01OP.json", {**SIDECAR, "graph_id": graph_id})

    found = cluster.status().diagnostics

    assert "invalid_recovery_sidecar" in {finding.code for finding in found}


@pytest.mark.parametrize("graph_uri", [5, "/nowhere/graphs/artworks.omni"])
def test_an_intent_is_about_the_graph_of_this_cluster_wherever_it_was_before(tmp_path: Path, graph_uri: object) -> None:
    """The directory of a cluster may have been moved; what its sidecars call a root is then somewhere else."""
    cluster = Cluster(tmp_path, PROVIDER)
    cluster.put("recoveries/01OP.json", {**SIDECAR, "graph_uri": graph_uri})

    (intent,) = read_intents(ClusterSite.open(str(tmp_path)), Diagnostics())

    assert intent.graph_uri == f"{tmp_path}/graphs/artworks.omni"


@pytest.mark.s3
def test_a_store_that_ignores_conditions_is_refused(tmp_path: Path, s3_root: str, s3_faults: FaultyS3) -> None:
    write_museum(tmp_path, PROVIDER, storage=s3_root.rpartition("/")[0])
    s3_faults.break_next(IgnoreConditions(), method="PUT", times=100)

    refused = import_cluster(str(tmp_path))

    assert [found.code for found in refused.diagnostics] == ["storage_conditional_writes_unsupported"]


def test_a_root_that_cannot_be_one_is_refused_where_it_is_named() -> None:
    with pytest.raises(errors.ClusterDiagnostics) as refused:
        cluster_graph_ids("ftp://host/cluster")

    assert refused.value.details["diagnostics"][0]["code"] == "storage_root_invalid"


def test_every_code_has_a_test() -> None:
    tested = set(CASES) | {"storage_conditional_writes_unsupported", "storage_root_invalid"}
    config = Path(__file__).with_name("test_config.py").read_text(encoding="utf-8")
    tested |= set(re.findall(r'"([a-z_]+)"', config))

    assert {code.value for code in DiagnosticCode} - tested == set()
