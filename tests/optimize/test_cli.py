"""`omnigraph optimize` as a user meets it."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import RecoveryRequired
from omnigraph.maintenance.admission import sole_maintainer
from support import harbor, library

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return library.library(str(tmp_path / "library.omni"), loads=2)


def test_the_document_has_the_run_and_one_row_per_table(run, graph):
    ran = run("optimize", graph.uri, "--json")

    assert ran.code == 0
    document = ran.document
    assert (document["uri"], document["branch"], document["dry_run"]) == (graph.uri, "main", False)
    assert document["commit"] == graph.snapshot().commit_id
    assert document["graph_version_after"] == document["graph_version_before"] + 1
    assert (document["engine"], document["bytes_left"]) == ("local", 0)
    assert [row["table_key"] for row in document["tables"]] == [
        "edge:Cites",
        "node:Book",
        "node:Shelf",
        "__manifest",
        "_graph_commits",
        "_graph_commit_actors",
    ]
    book = document["tables"][1]
    assert book["pending_indexes"] == [{"column": "vec", "reason": "no non-null vectors yet"}]
    assert set(book) == {
        "table_key",
        "fragments_removed",
        "fragments_added",
        "committed",
        "skipped",
        "error",
        "manifest_version",
        "lance_head_version",
        "pending_indexes",
        "rows",
        "bytes_read",
        "bytes_written",
        "indexes_built",
        "indexes_updated",
        "coverage_before",
        "coverage_after",
        "pause_ms",
        "duration_ms",
    }
    assert document["tables"][3]["manifest_version"] is None


def test_a_preview_names_the_work_and_its_cost_and_changes_nothing(run, graph):
    files = harbor.files_of(graph)

    ran = run("optimize", graph.uri, "--dry-run", "--verbose")

    assert ran.code == 0
    assert ran.err.splitlines()[0] == f"omnigraph optimize → {graph.uri} (direct, local)"
    assert "node:Book frags 3 → 1 (built id, slug, title, year)" in ran.out
    assert "index on vec pending: no non-null vectors yet" in ran.out
    assert "nothing was changed; a run would rewrite" in ran.out
    assert harbor.files_of(graph) == files


def test_all_branches_come_one_after_the_other(run, graph):
    graph.branches.create("review")
    graph.load(harbor.lines([library.book(77)]), mode="append", branch="review")

    ran = run("optimize", graph.uri, "--all-branches", "--json")

    assert [part["branch"] for part in ran.document["runs"]] == ["main", "review"]
    assert all(part["commit"] for part in ran.document["runs"])


def test_another_run_is_named_with_its_holder(run, graph):
    with sole_maintainer(graph._context, "cleanup"):
        ran = run("optimize", graph.uri)

    assert ran.code == 8
    assert "cleanup in process" in ran.err


def test_a_pending_recovery_is_refused_before_anything_is_touched(run, graph):
    graph._context.store.objects.create("__recovery/01JABANDONED0000000000000000.json", b"{}")

    ran = run("optimize", graph.uri)

    assert ran.code == 7
    assert "01JABANDONED" in ran.err
    assert "omnigraph recover" in ran.err
    assert graph.snapshot().graph_version == 4


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--server", "prod"), "--cluster <dir> --graph <id>"),
        (("--branch", "b", "--all-branches"), "exclude each other"),
        (("--max-bytes", "12 apples"), "--max-bytes"),
        (("--deleted-ratio", "7"), "between 0 and 1"),
    ],
)
def test_flags_that_cannot_work_are_refused(run, graph, flags, words):
    ran = run("optimize", *([] if "--server" in flags else [graph.uri]), *flags)

    assert ran.code == 2
    assert words in ran.err


def test_a_served_graph_is_refused_before_any_request(run):
    ran = run("optimize", "https://graphs.example/kb")

    assert ran.code == 2
    assert "direct (storage-native)" in ran.err


def test_a_graph_of_a_cluster_is_found_through_its_ledger(run, tmp_path):
    library.library(str(tmp_path / "graphs" / "kb.omni"), loads=1)
    ledger = {"version": 1, "applied_revision": {"resources": {"graph.kb": {}}}}
    (tmp_path / "__cluster").mkdir()
    (tmp_path / "__cluster" / "state.json").write_text(json.dumps(ledger))

    ran = run("optimize", "--cluster", str(tmp_path), "--json")

    assert ran.code == 0, ran.err
    assert ran.document["uri"].endswith("/graphs/kb.omni")


@pytest.mark.parametrize("seconds", ["nan", "-5"])
def test_a_time_that_is_none_is_refused(run, graph, seconds):
    ran = run("optimize", graph.uri, "--max-seconds", seconds)

    assert (ran.code, ran.out) == (2, "")
    assert f"--max-seconds is {seconds}; it must be 0 or more" in ran.err


@pytest.mark.parametrize("seconds", ["inf", "1e308"])
def test_a_time_without_end_is_no_bound(run, graph, seconds):
    ran = run("optimize", graph.uri, "--max-seconds", seconds, "--json")

    assert ran.code == 0, ran.err
    assert (ran.document["bytes_left"], ran.document["indexes_left"]) == (0, 0)


def test_a_run_without_time_says_what_is_left_and_touches_nothing(run, graph):
    files = harbor.files_of(graph)

    ran = run("optimize", graph.uri, "--max-seconds", "0")

    summary = ran.out.splitlines()[-1]
    assert summary.startswith("nothing was published, took")
    assert "and 7 indexes left to the next run" in summary
    assert "pending: left to the next run: it was not built in time" in ran.out
    data = {path for path in harbor.files_of(graph) if not path.startswith("__")} - {
        path for path in files if not path.startswith("__")
    }
    assert data == set(), "the graph's own tables are not rewritten after the time is up either"


def test_all_branches_share_the_budgets_of_the_run(run, graph):
    graph.branches.create("review")
    for number in (77, 78, 79):
        graph.load(harbor.lines([library.book(number)]), mode="append", branch="review")
    main = run("optimize", graph.uri, "--dry-run", "--json").document
    size = sum(row["bytes_read"] for row in main["tables"] if row["manifest_version"] is not None)

    ran = run("optimize", graph.uri, "--all-branches", "--max-bytes", str(size), "--json")

    on_main, on_review = ran.document["runs"]
    assert (on_main["bytes_left"], on_review["bytes_left"] > 0) == (0, True)


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_what_earlier_branches_published_is_printed_before_the_error_of_a_later_one(run, graph, flags, monkeypatch):
    graph.branches.create("review")
    graph.load(harbor.lines([library.book(77)]), mode="append", branch="review")
    run_optimize = omnigraph.maintenance.optimize.run.run_optimize

    def fail_on_review(context, request, **more):
        if request.branch == "review":
            raise RecoveryRequired("A write on branch 'review' was interrupted.", operation_ids=[])
        return run_optimize(context, request, **more)

    monkeypatch.setattr("omnigraph.maintenance.optimize.run.run_optimize", fail_on_review)

    ran = run("optimize", graph.uri, "--all-branches", *flags)

    assert ran.code == 7
    assert "optimizing branch 'review' failed: A write on branch" in ran.err
    if flags:
        assert [part["branch"] for part in json.loads(ran.out)["runs"]] == ["main"]
    else:
        assert "published graph version 5" in ran.out


def test_the_history_says_how_long_a_run_took_and_what_it_gained(run, graph):
    run("optimize", graph.uri)

    listed = run("commit", "list", graph.uri, "--limit", "1", "--json").document["commits"][0]
    shown = run("commit", "show", "--uri", graph.uri, listed["graph_commit_id"])

    assert listed["stats"]["duration_ms"] > 0
    assert listed["stats"]["tables"]["node:Book"]["fragments_removed"] == 3
    assert "gained: 5 → 2 fragments, took" in shown.out
