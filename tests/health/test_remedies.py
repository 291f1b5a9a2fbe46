"""Health names what is wrong with the command that fixes it; running the commands makes the graph healthy again."""

import shlex
from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph.cli.main import main
from omnigraph.graph import Graph
from omnigraph.maintenance.health.judging import Status
from support import harbor, old_graphs

EMBEDDED = "node Doc { slug: String @key  title: String  vec: Vector(4)? @embed(title) }"


def codes(graph: Graph) -> set[tuple[str, str | None]]:
    """What was found about which table, however it was put together."""
    findings = [finding for finding in graph.health().findings if finding.severity != "info"]
    return {(each.code, each.table_key) for finding in findings for each in finding.members or (finding,)}


def fixes(graph: Graph) -> list[str]:
    return list(dict.fromkeys(finding.fix for finding in graph.health().findings if finding.severity != "info"))


def several_fragments(uri: str) -> Graph:
    graph = harbor.new_graph(uri)
    for name in ("Kim", "Lou"):
        graph.load(harbor.lines([harbor.sailor(name)]), mode="append")
    return graph


def test_a_fragmented_graph_without_indexes_becomes_healthy_by_the_command_that_health_names(store_root: str) -> None:
    graph = several_fragments(store_root)

    assert graph.health().status is Status.ATTENTION
    assert {("fragmented", "node:Sailor"), ("index_missing", "node:Ship")} <= codes(graph)
    assert [found.code for found in graph.health().findings if found.needs_something] == ["never_optimized"]
    (fix,) = fixes(graph)
    assert fix == f"omnigraph optimize {graph.uri}"
    assert main(shlex.split(fix)[1:]) == 0

    assert graph.health().status is Status.HEALTHY


def test_rows_that_an_index_does_not_know_are_found(local_root: str) -> None:
    graph = several_fragments(local_root)
    graph.optimize()

    graph.load(harbor.lines([harbor.sailor("Moe")]), mode="append")

    assert ("index_stale", "node:Sailor") in codes(graph)


def test_drift_needs_action_and_names_repair(local_root: str) -> None:
    graph = several_fragments(local_root)
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    lance.dataset(graph._context.store.tables.uri(pin.address)).delete("id = 'Ana'")

    report = graph.health()

    assert report.status is Status.ACTION
    assert (report.findings[0].code, report.findings[0].table_key) == ("drift", "node:Sailor")
    assert report.findings[0].fix == f"omnigraph repair {graph.uri}"


def test_a_table_that_lost_its_pinned_version_is_reported_and_the_others_are_still_judged(local_root: str) -> None:
    graph = several_fragments(local_root)
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    (Path(graph.uri) / pin.location / "_versions" / f"{2**64 - 1 - pin.version:020d}.manifest").unlink()

    found = codes(omnigraph.open(graph.uri, read_only=True))

    assert ("table_behind", "node:Sailor") in found
    assert ("index_missing", "node:Ship") in found


def test_an_interrupted_write_needs_action_and_names_recover(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    sidecar = Path(graph.uri) / "__recovery" / "01JZZZZZZZZZZZZZZZZZZZZZZZ.json"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_text("not a sidecar")

    report = graph.health()

    assert (report.status, report.findings[0].code) == (Status.ACTION, "recovery_pending")
    assert report.findings[0].fix == f"omnigraph recover {graph.uri}"


def test_vectors_that_are_still_to_be_embedded_are_counted(local_root: str) -> None:
    graph = omnigraph.init(local_root, EMBEDDED)
    graph.load(harbor.lines([{"type": "Doc", "data": {"slug": "a", "title": "A"}}]), mode="append")

    (table,) = graph.health().health.tables

    assert table.pending_vectors == 1
    assert ("vectors_pending", "node:Doc") in codes(graph)


def test_the_tables_that_a_branch_owns_are_judged_too(local_root: str) -> None:
    graph = several_fragments(local_root)
    graph.branches.create("review")
    for name in ("Moe", "Ned"):
        graph.load(harbor.lines([harbor.sailor(name)]), mode="append", branch="review")

    found = [finding for finding in graph.health().findings if finding.branch == "review"]

    assert {finding.table_key for finding in found} == {"node:Sailor"}
    assert found[0].fix == f"omnigraph optimize {graph.uri} --branch review"


def test_looking_writes_nothing(local_root: str) -> None:
    graph = several_fragments(local_root)
    before = old_graphs.contents_of(local_root)

    omnigraph.open(local_root, read_only=True).health()

    assert old_graphs.contents_of(local_root) == before
    assert graph.health().health.runs == ()


@pytest.mark.parametrize("verb", ["optimize", "cleanup"])
def test_the_last_maintenance_is_remembered(local_root: str, verb: str) -> None:
    graph = several_fragments(local_root)

    assert main([verb, local_root, *(["--confirm"] if verb == "cleanup" else [])]) == 0

    health = graph.health().health
    if verb == "optimize":
        assert health.last_maintenance is not None
        assert health.last_maintenance.actor_id == "omnigraph:maintenance"
    else:
        assert [run.verb for run in health.runs] == ["cleanup"]


def test_indexes_that_wait_for_the_same_thing_are_one_finding(local_root: str) -> None:
    graph = omnigraph.init(local_root, "node Note { text: String @key @index }")

    found = [finding for finding in graph.health().findings if finding.code == "index_pending"]

    assert [finding.message for finding in found] == ["no index on id, text yet: no rows yet"]


def test_a_repair_that_takes_drift_back_counts_as_one(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    graph._context.store.tables.fresh_head(pin.address).dataset.delete("name = 'Bo'")

    graph.repair(confirm=True, discard=True)

    (run,) = [run for run in graph.health().health.runs if run.verb == "repair"]
    assert run.tables_repaired == 1
