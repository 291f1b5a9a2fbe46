"""What an apply comes to after the world has changed: lost blobs, lost roots, edited schemas, stale approvals."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cluster.applying import ApplyRequest, apply_cluster
from omnigraph.cluster.commands import ApproveRequest, approve_change, cluster_status, plan_cluster
from omnigraph.cluster.looking import open_context
from omnigraph.cluster.observing import import_cluster, refresh_cluster
from omnigraph.cluster.results import AppliedCluster, ClusterResult
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import Ledger
from omnigraph.evolution.plan import SchemaRequest
from omnigraph.evolution.run import apply_schema
from support.museums import GROWN_SCHEMA, KEEPERS, ONE_GRAPH, declare, write_museum
from support.program import SCHEMA


@pytest.fixture
def museum(tmp_path: Path) -> Path:
    """A cluster of one graph, one query and one policy, applied."""
    directory = tmp_path / "museum"
    write_museum(directory)
    assert import_cluster(str(directory)).ok
    assert apply(directory).converged
    return directory


def apply(directory: Path) -> AppliedCluster:
    return apply_cluster(ApplyRequest(config_dir=str(directory)))


def ledger_of(directory: Path) -> Ledger:
    stored = ClusterSite.open(str(directory)).read_ledger()
    assert stored is not None
    return stored.ledger


def codes(result: ClusterResult) -> set[str]:
    return {found.code for found in result.diagnostics}


def blob(directory: Path, kind: str) -> Path:
    (found,) = [path for path in (directory / "__cluster" / "resources" / kind).rglob("*") if path.is_file()]
    return found


def test_what_is_applied_is_what_serving_and_maintenance_need(museum: Path) -> None:
    ledger = ledger_of(museum)

    assert ledger.resources["policy.keepers"].applies_to == ("graph.artworks",)
    assert ledger.composite("artworks") == ledger.resources["graph.artworks"].digest
    assert blob(museum, "query").read_bytes() == museum.joinpath("queries", "art.gq").read_bytes()
    assert omnigraph.open(str(museum / "graphs" / "artworks.omni"), read_only=True).schema_source == SCHEMA


@pytest.mark.parametrize("kind", ["query", "policy"])
@pytest.mark.parametrize("damage", ["lost", "altered"])
def test_a_damaged_blob_is_seen_written_down_and_published_again(museum: Path, kind: str, damage: str) -> None:
    content = blob(museum, kind).read_bytes()
    blob(museum, kind).unlink() if damage == "lost" else blob(museum, kind).write_bytes(b"else")
    code, condition = {
        "lost": ("catalog_payload_missing", "payload_missing"),
        "altered": ("catalog_payload_mismatch", "payload_mismatch"),
    }[damage]

    seen = cluster_status(str(museum))
    refreshed = refresh_cluster(str(museum))

    assert (seen.ok, refreshed.ok) == (True, True)
    assert code in codes(seen)
    (drifted,) = [status for status in refreshed.resource_statuses.values() if status.conditions]
    assert (drifted.status.value, drifted.conditions) == ("drifted", (condition,))
    assert apply(museum).converged
    assert blob(museum, kind).read_bytes() == content


def test_a_policy_whose_blob_is_lost_still_says_whom_it_binds(museum: Path) -> None:
    blob(museum, "policy").unlink()

    refresh_cluster(str(museum))

    entry = ledger_of(museum).resources["policy.keepers"]
    assert (entry.digest, entry.applies_to) == (None, ("graph.artworks",))
    assert ledger_of(museum).policies_of("graph.artworks") == ("policy.keepers",)


def test_a_root_deleted_by_hand_is_made_anew_and_empty(museum: Path) -> None:
    shutil.rmtree(museum / "graphs" / "artworks.omni")

    refreshed = refresh_cluster(str(museum))
    planned = plan_cluster(str(museum))

    assert refreshed.resource_statuses["graph.artworks"].conditions == ("graph_missing",)
    assert "graph.artworks" not in refreshed.resource_digests
    assert ("graph.artworks", "create") in {(change.resource, change.operation.value) for change in planned.changes}
    assert apply(museum).converged
    made = omnigraph.open(str(museum / "graphs" / "artworks.omni"), read_only=True)
    assert made.query("match { $a: Artist } return { $a.name }").rows() == []


def test_a_schema_changed_behind_the_cluster_is_taken_back(museum: Path) -> None:
    request = SchemaRequest(schema=GROWN_SCHEMA)
    apply_schema(open_context(str(museum / "graphs" / "artworks.omni")), request, events=lambda _: None)

    refreshed = refresh_cluster(str(museum))
    (change,) = [change for change in plan_cluster(str(museum)).changes if change.resource == "schema.artworks"]

    assert refreshed.resource_statuses["schema.artworks"].conditions == ("schema_mismatch",)
    assert change.migration is not None
    assert change.migration["supported"] is True
    assert apply(museum).converged
    assert omnigraph.open(str(museum / "graphs" / "artworks.omni"), read_only=True).schema_source == SCHEMA


def test_a_schema_that_differs_in_a_comment_converges_and_stays_so(museum: Path) -> None:
    museum.joinpath("art.pg").write_text(f"{SCHEMA}// and no more\n", encoding="utf-8")

    assert apply(museum).converged
    assert refresh_cluster(str(museum)).resource_statuses["schema.artworks"].conditions == ()
    assert (apply(museum).changes, plan_cluster(str(museum)).changes) == ((), ())


def test_an_approval_is_stale_as_soon_as_the_config_is_edited(museum: Path) -> None:
    declare(museum, "graphs: {}\n")
    approve_change(ApproveRequest(resource="graph.artworks", actor="ines", config_dir=str(museum)))
    declare(museum, "metadata: {name: other}\ngraphs: {}\n")

    applied = apply(museum)

    assert applied.ok
    assert not applied.converged
    assert "approval_stale" in codes(applied)
    assert (museum / "graphs" / "artworks.omni").exists()


def test_layout_and_comments_change_nothing(museum: Path) -> None:
    declare(museum, f"# a note\n{KEEPERS}\n\n{ONE_GRAPH}")

    applied = apply(museum)

    assert (applied.converged, applied.state_written, applied.changes) == (True, False, ())


def test_a_binding_moves_without_a_change_of_the_file(museum: Path) -> None:
    loans = "  loans: { schema: loans.pg }\n"
    declare(museum, f"{ONE_GRAPH}{loans}{KEEPERS.replace('[artworks]', '[artworks, loans]')}")

    (change,) = [change for change in plan_cluster(str(museum)).changes if change.resource == "policy.keepers"]

    assert change.document()["binding_change"] is True
    assert change.before_digest == change.after_digest
    assert apply(museum).converged
    assert ledger_of(museum).resources["policy.keepers"].applies_to == ("graph.artworks", "graph.loans")


def test_a_refused_schema_change_leaves_no_work_behind_and_the_rest_is_applied(museum: Path) -> None:
    omnigraph.open(str(museum / "graphs" / "artworks.omni")).branches.create("review")
    museum.joinpath("art.pg").write_text(GROWN_SCHEMA, encoding="utf-8")
    declare(museum, f"{ONE_GRAPH}providers: {{embedding: {{p: {{kind: mock}}}}}}\n")

    applied = apply(museum)

    assert not applied.ok
    assert "schema_apply_failed" in codes(applied)
    reasons = {change.resource: change.reason for change in applied.changes}
    assert reasons["schema.artworks"] == "schema_apply_failed"
    assert reasons["provider.embedding.p"] is None
    assert list((museum / "__cluster" / "recoveries").iterdir()) == []
    assert "provider.embedding.p" in ledger_of(museum).resources
    omnigraph.open(str(museum / "graphs" / "artworks.omni")).branches.delete("review")
    assert apply(museum).converged


def test_a_provider_and_blobs_bind_a_graph_through_its_digest(museum: Path) -> None:
    scans = "    external_blobs: {allow: [{base: 's3://scans/originals', scope: server_safe}]}\n"
    bound = f"{ONE_GRAPH}    embedding_provider: p\n{scans}providers: {{embedding: {{p: {{kind: mock}}}}}}\n"
    declare(museum, bound + KEEPERS)
    dispositions = {change.resource: change.disposition.value for change in plan_cluster(str(museum)).changes}

    assert dispositions == {"graph.artworks": "derived", "provider.embedding.p": "applied"}
    assert apply(museum).converged
    entry = ledger_of(museum).resources["graph.artworks"]
    assert entry.embedding_provider == "provider.embedding.p"
    assert entry.external_blob_policy is not None
    assert [base.uri for base in entry.external_blob_policy.bases] == ["s3://scans/originals/"]


def test_a_provider_stays_while_a_graph_that_waits_for_its_deletion_is_bound_to_it(museum: Path) -> None:
    declare(museum, f"{ONE_GRAPH}    embedding_provider: p\nproviders: {{embedding: {{p: {{kind: mock}}}}}}\n")
    assert apply(museum).converged
    declare(museum, "graphs: {}\n")

    applied = apply(museum)

    reasons = {change.resource: change.reason for change in applied.changes}
    assert reasons["provider.embedding.p"] == "dependency_not_applied"
    assert "provider.embedding.p" in ledger_of(museum).resources


def test_an_import_counts_what_exists_as_applied(museum: Path) -> None:
    museum.joinpath("__cluster", "state.json").unlink()

    imported = import_cluster(str(museum))

    assert set(imported.resource_digests) == {"graph.artworks", "schema.artworks"}
    assert ledger_of(museum).config_digest is None
    assert apply(museum).converged


def test_a_graph_that_cannot_be_opened_is_an_error_that_refresh_writes_down(museum: Path) -> None:
    shutil.rmtree(museum / "graphs" / "artworks.omni" / "__manifest")

    refreshed = refresh_cluster(str(museum))

    assert not refreshed.ok
    assert refreshed.resource_statuses["graph.artworks"].conditions == ("graph_observation_error",)
    assert "graph.artworks" in ledger_of(museum).resources
    museum.joinpath("__cluster", "state.json").unlink()
    assert not import_cluster(str(museum)).ok
    assert not museum.joinpath("__cluster", "state.json").exists()


def test_a_source_that_changes_under_way_is_not_applied(museum: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.cluster import applying

    query = museum / "queries" / "art.gq"
    query.write_text(f"{query.read_text()}\n// more\n")
    make_plan = applying.make_plan

    def plan_while_somebody_types(*args: object, **kwargs: object) -> object:
        planned = make_plan(*args, **kwargs)
        query.write_text("query other() { match { $a: Artist } return { $a.name } }\n")
        return planned

    monkeypatch.setattr(applying, "make_plan", plan_while_somebody_types)
    before = museum.joinpath("__cluster", "state.json").read_bytes()

    applied = apply(museum)

    assert codes(applied) == {"resource_content_changed"}
    assert museum.joinpath("__cluster", "state.json").read_bytes() == before
    assert all(not change.is_settled for change in applied.changes)


def test_an_edited_ledger_is_not_written_over(museum: Path) -> None:
    state = museum / "__cluster" / "state.json"
    ledger = ledger_of(museum)
    edited = {**ledger.resources, "schema.artworks": replace(ledger.resources["schema.artworks"], digest="0" * 64)}
    state.write_bytes(replace(ledger, resources=edited).to_bytes())
    content = state.read_bytes()

    assert codes(apply(museum)) == {"external_blob_policy_digest_mismatch"}
    assert codes(refresh_cluster(str(museum))) == {"external_blob_policy_digest_mismatch"}
    assert state.read_bytes() == content


def test_a_graph_that_is_there_already_is_taken_in_by_refresh_and_never_made_anew(museum: Path) -> None:
    """Somebody made a graph at a derived root before it was declared, with another schema."""
    loans = str(museum / "graphs" / "loans.omni")
    shutil.copytree(museum / "__cluster", museum / "aside")
    shutil.rmtree(museum / "__cluster")
    omnigraph.init(loans, "node Loan {\n  number: String @key\n  due: Date?\n}\n")
    shutil.move(museum / "aside", museum / "__cluster")
    declare(museum, f"{ONE_GRAPH}  loans: {{ schema: loans.pg }}\n{KEEPERS}")

    refused = apply(museum)

    assert "graph_create_failed" in codes(refused)
    assert "omnigraph cluster refresh" in next(
        found.message for found in refused.diagnostics if found.code == "graph_create_failed"
    )
    assert list((museum / "__cluster" / "recoveries").iterdir()) == []
    assert refresh_cluster(str(museum)).ok
    assert apply(museum).converged
    assert len(omnigraph.open(loans, read_only=True).commits()) == 2


def test_what_a_newer_version_wrote_is_shown_and_never_written_over(museum: Path) -> None:
    state = museum / "__cluster" / "state.json"
    state.write_text(state.read_text().replace('"version": 1,', '"version": 1, "weather": "fine",', 1))
    content = state.read_bytes()

    shown = cluster_status(str(museum))

    assert (shown.ok, "graph.artworks" in shown.resource_digests) == (True, True)
    assert codes(apply(museum)) == {"invalid_state_json"}
    assert state.read_bytes() == content
