"""The control plane as an operator types it: from files to a running cluster, and back to nothing."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from omnigraph.cli.app import build_app
from support.museums import KEEPERS, ONE_GRAPH, TWO_GRAPHS, declare, write_museum

pytestmark = pytest.mark.usefixtures("workplace")


def test_the_worked_example_of_the_contract(run, workplace: Path) -> None:
    write_museum(workplace / "museum")

    assert run("cluster", "validate", "--config", "museum").out == (
        "cluster config valid: 4 resource(s), 4 dependency edge(s)\n"
    )
    early = run("cluster", "apply", "--config", "museum", "--json")
    assert (early.code, early.document["diagnostics"][0]["code"]) == (1, "state_missing")
    assert "omnigraph cluster import" in early.document["diagnostics"][0]["message"]
    assert (
        run("cluster", "import", "--config", "museum", "--json").document["state_observations"]["state_revision"] == 1
    )
    planned = run("cluster", "plan", "--config", "museum", "--json").document
    assert [f"{change['operation']} {change['resource']} {change['disposition']}" for change in planned["changes"]] == [
        "create graph.artworks applied",
        "create policy.keepers applied",
        "create query.artworks.by_artist applied",
        "create schema.artworks applied",
    ]
    applied = run("cluster", "apply", "--config", "museum", "--as", "act-ines", "--json").document
    assert (applied["converged"], applied["state_written"], applied["applied_count"]) == (True, True, 4)
    assert applied["actor"] == "act-ines"
    again = run("cluster", "apply", "--config", "museum", "--json").document
    assert (again["converged"], again["state_written"], again["applied_count"]) == (True, False, 0)

    declare(workplace / "museum", "graphs: {}\n")
    waiting = run("cluster", "apply", "--config", "museum", "--json")
    reasons = {change["resource"]: change.get("reason") for change in waiting.document["changes"]}
    assert (waiting.code, waiting.document["converged"]) == (0, False)
    assert reasons["graph.artworks"] == "approval_required"
    assert run("cluster", "approve", "graph.artworks", "--config", "museum").code == 2
    approved = run("cluster", "approve", "graph.artworks", "--config", "museum", "--as", "act-ines", "--json").document
    assert approved["approved_by"] == "act-ines"
    assert run("cluster", "apply", "--config", "museum", "--as", "act-ines", "--json").document["converged"] is True
    assert not (workplace / "museum" / "graphs" / "artworks.omni").exists()


def test_people_read_a_summary_each_change_and_where_the_state_is(run, workplace: Path) -> None:
    write_museum(workplace, ONE_GRAPH)
    run("cluster", "import")

    applied = run("cluster", "apply")

    assert applied.out.splitlines() == [
        "cluster apply: 3 of 3 change(s) applied",
        "  Create graph.artworks [applied]",
        "  Create query.artworks.by_artist [applied]",
        "  Create schema.artworks [applied]",
        "  state: revision 2, converged: true, written: true",
        "  Running servers pick the change up when they restart.",
    ]
    assert run("cluster", "status").out.splitlines()[1:3] == [
        "  state: revision 2, 3 resource(s)",
        "  graph.artworks [applied]",
    ]


def test_a_finding_is_one_line_and_the_exit_code_says_error(run, workplace: Path) -> None:
    write_museum(workplace, ONE_GRAPH + "pipelines: {}\n")

    ran = run("cluster", "validate")

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "cluster config invalid",
        "ERROR future_phase_field pipelines: `pipelines` is reserved for a later version of omnigraph; remove it.",
    ]


def test_a_held_lock_is_named_with_the_way_out(run, workplace: Path) -> None:
    write_museum(workplace, ONE_GRAPH)
    lock = {"version": 1, "lock_id": "01JB", "operation": "apply", "created_at": "2026-01-01T00:00:00Z", "pid": 4242}
    workplace.joinpath("__cluster").mkdir()
    workplace.joinpath("__cluster", "lock.json").write_text(json.dumps(lock), encoding="utf-8")

    ran = run("cluster", "plan", "--json")

    seen = ran.document["state_observations"]
    assert (ran.code, seen["locked"], seen["lock_acquired"], seen["lock_id"]) == (1, True, False, "01JB")
    assert "omnigraph cluster force-unlock 01JB" in ran.document["diagnostics"][0]["message"]
    assert run("cluster", "force-unlock", "01JX", "--json").document["diagnostics"][0]["code"] == (
        "state_lock_id_mismatch"
    )
    assert run("cluster", "force-unlock", "01JB", "--json").document["lock_removed"] is True
    assert run("cluster", "plan").code == 0


def test_addresses_of_graphs_do_not_apply_to_the_control_plane(run, workplace: Path) -> None:
    write_museum(workplace, ONE_GRAPH + KEEPERS)

    refused = run("cluster", "plan", "--store", "art.omni")

    assert refused.code == 2
    assert "is a cluster control command: --store picks one graph's storage and does not apply" in refused.err
    assert "--config <dir>" in refused.err
    assert "does not apply" in run("cluster", "status", "--as", "act-ines").err


def test_maintenance_and_loads_find_an_applied_graph_while_the_catalog_is_lost(run, workplace: Path) -> None:
    write_museum(workplace / "museum")
    run("cluster", "import", "--config", "museum")
    run("cluster", "apply", "--config", "museum")
    shutil.rmtree(workplace / "museum" / "__cluster" / "resources")
    workplace.joinpath("museum", "cluster.yaml").write_text("version: 1\ngraphs: nonsense\n", encoding="utf-8")

    optimized = run("optimize", "--cluster", "museum", "--graph", "artworks", "--json")
    unknown = run("optimize", "--cluster", "museum", "--graph", "artworkz")

    assert optimized.code == 0
    assert unknown.code == 1
    assert "Applied: [artworks]" in unknown.err
    assert "`omnigraph cluster apply`" in unknown.err
    assert run("init", "--schema", "museum/art.pg", "museum/graphs/new.omni").code == 1


def example(words: str) -> list[str]:
    """Return the example that the help of a command prints, as it is typed behind the name of the program."""
    (line,) = build_app().get_command(None, "cluster").get_command(None, words).examples
    return shlex.split(line)[1:]


def test_every_example_of_help_runs_in_the_order_in_which_a_cluster_lives(run, workplace: Path) -> None:
    museum = workplace / "museum"
    write_museum(museum, TWO_GRAPHS.replace("archive:", "scratch:"))
    codes = {words: run(*example(words)).code for words in ("validate", "import", "plan", "apply", "status", "refresh")}
    declare(museum, ONE_GRAPH)
    codes["approve"] = run(*example("approve")).code
    lock_id = example("force-unlock")[2]
    lock = {"version": 1, "lock_id": lock_id, "operation": "apply", "created_at": "2026-01-01T00:00:00Z", "pid": 1}
    museum.joinpath("__cluster", "lock.json").write_text(json.dumps(lock), encoding="utf-8")
    codes["force-unlock"] = run(*example("force-unlock")).code

    assert codes == dict.fromkeys(codes, 0)
    assert len(codes) == 8
