"""`omnigraph maintain` as a user types it: addresses, settings, what it prints, and exit codes for cron."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.rhythm import pause_seconds
from support import harbor, raw_tables
from support.museum import graph_in_order, leave_work, museum, settings_file

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def cluster(workplace: Path) -> Path:
    """A cluster with two graphs in order and one with work."""
    museum(str(workplace / "museum"), ["art", "books", "coins"], due=["books"])
    return workplace / "museum"


def by_graph(document):
    return {graph["graph"]: graph for graph in document["graphs"]}


def test_a_cluster_is_maintained_and_everything_is_said(cluster, run):
    preview = run("maintain", "--cluster", "museum", "--dry-run")
    ran = run("maintain", "--cluster", "museum")
    again = run("maintain", "--cluster", "museum", "--json")

    assert (preview.code, ran.code, again.code) == (0, 0, 0)
    assert preview.out.startswith("books: optimize: node:Artist: ")
    assert preview.out.splitlines()[-1].startswith("would maintain 3 graphs of museum: 1 due, 2 in good order; took ")
    assert ran.err.startswith(f"omnigraph maintain → {cluster}: 3 graphs\nnote: books: node:Artist: ")
    assert "— done, " in ran.out
    assert {name: graph["status"] for name, graph in by_graph(again.document).items()} == {
        "art": "unchanged",
        "books": "nothing_due",
        "coins": "unchanged",
    }


def test_some_graphs_of_a_cluster_are_named_one_by_one(cluster, run):
    ran = run("maintain", "--cluster", "museum", "--graph", "art", "--graph", "books", "--json")
    unknown = run("maintain", "--cluster", "museum", "--graph", "art", "--graph", "bokos")

    assert set(by_graph(ran.document)) == {"art", "books"}
    assert unknown.code == 1
    assert "Applied: [art, books, coins]" in unknown.err


def test_whatever_is_broken_around_the_ledger_does_not_matter(cluster, run):
    control = cluster / "__cluster"
    control.joinpath("lock.json").write_text('{"version": 1, "lock_id": "somebody"}', encoding="utf-8")
    for name in ("recoveries/01.json", "resources/policy/broken/0.yaml"):
        control.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        control.joinpath(name).write_text("{", encoding="utf-8")
    cluster.joinpath("cluster.yaml").write_text("version: 99\ngraphs: {art: {schema: gone.pg}}\n", encoding="utf-8")

    ran = run("maintain", "--cluster", "museum", "--json")

    assert ran.code == 0, ran.err
    assert by_graph(ran.document)["books"]["status"] == "done"


def test_the_section_of_cluster_yaml_counts_and_mistakes_in_it_stop_the_run(cluster, run):
    yaml = cluster / "cluster.yaml"
    yaml.write_text("version: 1\nmaintenance: {graphs: {books: {enabled: false}}}\n", encoding="utf-8")
    off = run("maintain", "--cluster", "museum", "--json")
    yaml.write_text("version: 1\nmaintenance: {graphs: {boks: {}}, max_time: 5}\n", encoding="utf-8")
    wrong = run("maintain", "--cluster", "museum", "--json")
    yaml.write_text("version: [1\n", encoding="utf-8")
    unreadable = run("maintain", "--cluster", "museum")
    named = run("maintain", "--cluster", "museum", "--settings", settings_file(cluster, {}), "--json")

    assert by_graph(off.document)["books"]["status"] == "disabled"
    assert (wrong.code, wrong.document["kind"]) == (1, "cluster_diagnostics")
    assert [(found["code"], found["path"]) for found in wrong.document["cluster_diagnostics"]["diagnostics"]] == [
        ("invalid_maintenance_settings", "maintenance.max_time"),
        ("invalid_maintenance_settings", "maintenance.graphs.boks"),
    ]
    assert unreadable.code == 1
    assert "nobody knows what it says about maintenance" in unreadable.err
    assert by_graph(named.document)["books"]["status"] == "done"


def test_the_exit_code_tells_cron_what_a_person_has_to_know(workplace, run):
    graph = harbor.new_graph("harbor.omni")
    graph.optimize()
    fine = run("maintain", "harbor.omni")
    raw_tables.foreign_append(graph, "Note", id="n1", text="from nowhere")
    drifted = run("maintain", "harbor.omni", "--full", "--json")
    preview = run("maintain", "harbor.omni", "--full", "--dry-run")
    missing = run("maintain", "nowhere.omni")
    usage = run("maintain", "harbor.omni", "--every", "1h", "--once")

    assert (fine.code, drifted.code, preview.code, missing.code, usage.code) == (0, 10, 10, 1, 2)
    (needed,) = drifted.document["graphs"][0]["needs_person"]
    assert (needed["code"], needed["tables"], needed["fix"]) == (
        "drift",
        ["node:Note"],
        f"omnigraph repair {graph.uri}",
    )
    assert f"needs a person: harbor node:Note: {needed['message']}\n  {needed['fix']}" in preview.out
    assert "error: harbor needs a person" in preview.err
    assert "nowhere" in missing.err


def test_a_run_that_meets_no_graph_leaves_nothing_behind(workplace, run):
    ran = run("maintain", "nowhere.omni")

    assert ran.code == 1
    assert not (workplace / "nowhere.omni").exists()


def test_flags_say_what_a_cleanup_keeps(workplace, run):
    graph = leave_work(graph_in_order("lone.omni"), loads=5)
    graph.optimize()
    settings = settings_file(workplace, {"cleanup": {"keep": 50, "reclaimable": 1, "share": 0}})

    declared = run("maintain", "lone.omni", "--settings", settings, "--json")
    kept = len(graph.snapshot(version=2).table("Artist").to_arrow())
    given = run("maintain", "lone.omni", "--settings", settings, "--keep", "1", "--full", "--json")

    assert declared.code == 0
    assert kept == 2
    assert [step["step"] for step in given.document["graphs"][0]["steps"]] == ["cleanup"]
    with pytest.raises(omnigraph.errors.OmniError):
        omnigraph.open("lone.omni").snapshot(version=2).table("Artist").to_arrow()
    assert given.err.startswith("omnigraph maintain → lone.omni (direct, local)")


def test_flags_that_remove_something_elsewhere_need_consent_before_anything_is_opened(run):
    ran = run("maintain", "s3://nowhere/lone.omni", "--keep", "3", "--json")

    assert ran.code == 3
    assert ran.document["kind"] == "not_confirmed"


def test_the_journal_is_readable(cluster, run):
    assert run("maintain", "--cluster", "museum", "--journal").out == "no run has been recorded yet\n"
    run("maintain", "--cluster", "museum")
    run("maintain", "--cluster", "museum")

    lines = run("maintain", "--cluster", "museum", "--journal").out.splitlines()
    document = run("maintain", "--cluster", "museum", "--journal", "--limit", "1", "--json").document

    assert lines[0].split() == ["ended", "host", "took", "graphs", "what"]
    assert lines[1].endswith("1 in good order, 2 unchanged")
    assert lines[2].endswith("1 done, 2 in good order")
    assert [run["graphs"][1]["status"] for run in document["runs"]] == ["nothing_due"]


def test_every_round_is_one_line_of_json_and_sigterm_ends_between_two(cluster, program):
    process = subprocess.Popen(
        [program, "maintain", "--cluster", "museum", "--every", "1s", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        rounds = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        rest, told = process.communicate(timeout=60)
    finally:
        process.kill()

    starts = [document["started_at"] / 1e6 for document in rounds]
    assert process.returncode == 0, told
    assert by_graph(rounds[0])["books"]["status"] == "done"
    assert {graph["status"] for graph in rounds[-1]["graphs"]} == {"unchanged"}
    assert all(abs((later - starts[0] + 0.5) % 1.0 - 0.5) < 0.5 for later in starts)
    assert told.startswith(f"omnigraph maintain → {cluster}: 3 graphs\n")
    assert "next run in" in told
    assert "stopping: what is under way is finished first" in told
    assert all(json.loads(line) for line in rest.splitlines())


def test_a_signal_in_the_middle_lets_the_step_finish_and_leaves_the_rest(workplace, program):
    """The run is stopped before its first step and told to end: that step is finished, the other graph is left."""
    graphs = museum(str(workplace / "museum"), ["one", "two"], due=["one", "two"])
    process = subprocess.Popen(
        [program, "maintain", "--cluster", "museum", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMNIGRAPH_FAILPOINT": "write.after_arm:pause"},
    )
    try:
        _wait_until_stopped(process.pid)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        out, told = process.communicate(timeout=60)
    finally:
        process.kill()

    document = by_graph(json.loads(out))
    assert process.returncode == 128 + signal.SIGTERM, told
    # Of the first graph the tables are published; its internal tables and the second graph are left to the next run.
    assert [graph["status"] for graph in document.values()] == ["left", "left"]
    assert [graph["steps"][0]["commit"] is not None for graph in document.values()] == [True, False]
    assert "asked to stop" in document["two"]["reason"]
    for graph in graphs.values():
        assert not harbor.pending(graph)
        assert harbor.pins_equal_heads(graph)


def _wait_until_stopped(pid: int) -> None:
    for _ in range(600):
        if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].startswith("T"):
            return
        time.sleep(0.05)
    raise AssertionError("the process did not reach the fail point")


@pytest.mark.parametrize(
    ("elapsed", "every", "pause"), [(0.0, 60.0, 60.0), (12.5, 60.0, 47.5), (130.0, 60.0, 50.0), (60.0, 60.0, 60.0)]
)
def test_beginnings_lie_whole_intervals_apart(elapsed, every, pause):
    assert pause_seconds(elapsed, every) == pause


def test_python_does_what_the_command_does(cluster):
    preview = omnigraph.maintain_cluster(str(cluster), dry_run=True)
    report = omnigraph.maintain_cluster(str(cluster), graphs=["books"], settings={"max_time": "10m"})

    assert [graph.name for graph in preview.having("due")] == ["books"]
    assert [graph.status.value for graph in report.graphs] == ["done"]
    with pytest.raises(omnigraph.errors.ClusterDiagnostics, match=r"maintenance\.max_tme"):
        omnigraph.maintain_cluster(str(cluster), settings={"max_tme": "10m"})


def test_a_declared_cluster_is_applied_loaded_and_maintained(workplace, run):
    """From the files of a cluster to a graph in order, with the section `maintenance` beside everything else."""
    museum_files = workplace / "declared"
    museum_files.mkdir()
    museum_files.joinpath("art.pg").write_text("node Artist { name: String @key }\n", encoding="utf-8")
    museum_files.joinpath("cluster.yaml").write_text(
        "version: 1\ngraphs: { art: { schema: art.pg } }\nmaintenance: { graphs: { art: { max_time: 10m } } }\n",
        encoding="utf-8",
    )
    for words in ("import", "apply"):
        assert run("cluster", words, "--config", "declared").code == 0
    for name in ("Ines", "Remy"):
        workplace.joinpath("more.jsonl").write_text(json.dumps({"type": "Artist", "data": {"name": name}}), "utf-8")
        loaded = run("load", "--store", "declared/graphs/art.omni", "--data", "more.jsonl", "--mode", "append")
        assert loaded.code == 0, loaded.err

    ran = run("maintain", "--cluster", "declared", "--json")
    status = run("cluster", "status", "--config", "declared")

    assert ran.code == 0, ran.err
    assert by_graph(ran.document)["art"]["status"] == "done"
    assert status.code == 0, status.err
