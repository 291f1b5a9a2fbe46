"""`omnigraph cleanup`: a preview by default, consent for what is not local, documents for programs."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from support import harbor
from support.ages import age

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def graph_uri(local_root: str) -> str:
    graph = harbor.new_graph(local_root)
    for years in range(4):
        with graph.write() as batch:
            batch.update("Sailor", {"age": 60 + years}, ids=["Bo"])
    return local_root


def test_without_confirm_it_says_what_would_go_and_changes_nothing(run: Any, graph_uri: str) -> None:
    ran = run("cleanup", graph_uri, "--keep", "1")

    assert ran.code == 0
    assert "would remove" in ran.out
    assert "--confirm" in ran.out
    assert run("cleanup", graph_uri, "--keep", "1").out == ran.out


def test_with_confirm_the_document_says_what_went(run: Any, graph_uri: str) -> None:
    preview = run("cleanup", graph_uri, "--keep", "1", "--json").document

    ran = run("cleanup", graph_uri, "--keep", "1", "--confirm", "--json")

    assert ran.code == 0
    assert (preview["executed"], preview["run_id"]) == (False, None)
    assert ran.document["executed"]
    assert ran.document["run_id"]
    assert ran.document["tables"] == preview["tables"]
    assert "nothing to remove" in run("cleanup", graph_uri, "--keep", "1", "--confirm").out


def test_the_newest_ten_stay_by_default(run: Any, graph_uri: str) -> None:
    document = run("cleanup", graph_uri, "--json").document

    assert (document["keep_versions"], document["older_than_secs"]) == (10, None)
    assert sum(row["old_versions_removed"] for row in document["tables"]) == 0


@pytest.mark.parametrize(("keep", "warns"), [("2", True), ("3", False)])
def test_fewer_than_three_versions_are_warned_about(run: Any, graph_uri: str, keep: str, warns: bool) -> None:
    ran = run("cleanup", graph_uri, "--keep", keep)

    assert ran.code == 0
    assert ("rollback target" in ran.err) == warns


@pytest.mark.parametrize(
    ("flags", "reason"),
    [((), "removing versions moves no data"), (("--engine", "local"), "--engine local")],
)
def test_it_says_where_it_runs(run: Any, graph_uri: str, flags: tuple[str, ...], reason: str) -> None:
    preview = run("cleanup", graph_uri, "--keep", "1", "--json", "--verbose", *flags)
    ran = run("cleanup", graph_uri, "--keep", "1", "--confirm", "--json", "--verbose", *flags)

    assert "engine:" not in preview.err
    assert f"engine: local ({reason})" in ran.err
    assert (ran.document["engine"], ran.document["engine_reason"]) == ("local", reason)


def test_the_longest_durations_mean_for_ever(run: Any, graph_uri: str) -> None:
    longest = f"{2**63 - 1}s"

    ran = run("cleanup", graph_uri, "--older-than", longest, "--confirm", "--wait", longest, "--json")

    assert ran.code == 0
    assert sum(table["old_versions_removed"] for table in ran.document["tables"]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--keep", "0"),
        ("--keep", "many"),
        ("--older-than", "3y"),
        ("--older-than", ""),
        ("--older-than", "7"),
        ("--wait", "10"),
    ],
)
def test_a_wrong_policy_is_a_wrong_invocation(run: Any, graph_uri: str, wrong: tuple[str, str]) -> None:
    assert run("cleanup", graph_uri, *wrong).code == 2


def test_a_target_that_is_not_local_needs_consent_before_it_is_opened(run: Any) -> None:
    ran = run("cleanup", "s3://no-such-bucket/g.omni", "--confirm", "--json")

    assert ran.code == 3
    assert "refusing destructive `cleanup`" in ran.err + ran.out


def damage(graph_uri: str, *, branch: str | None = None) -> None:
    """Make an old version of the sailors unreadable, on the main line or on a branch of its own."""
    graph = omnigraph.open(graph_uri)
    if branch is not None:
        graph.branches.create(branch)
        for years in range(4):
            with graph.write(branch=branch) as batch:
                batch.update("Sailor", {"age": years}, ids=["Bo"])
    pin = next(pin for pin in graph.snapshot(branch).tables if pin.type_name == "Sailor")
    versions = Path(graph_uri, pin.address.path, "_versions")
    (versions / f"{2**64 - 1 - (pin.version - 2):020d}.manifest").write_bytes(b"no manifest")


def test_a_table_that_fails_is_named_with_its_branch_and_the_document_is_printed(run: Any, graph_uri: str) -> None:
    for number in range(4):
        with omnigraph.open(graph_uri).write() as batch:
            batch.upsert("Ship", [{"hull": "S1", "title": f"title {number}"}])
    damage(graph_uri, branch="review")

    ran = run("cleanup", graph_uri, "--keep", "3", "--confirm", "--json")

    assert ran.code == 1
    assert [(row["table_key"], row["branch"]) for row in ran.document["tables"] if row["error"]] == [
        ("node:Sailor", "review")
    ]
    removed = {(row["table_key"], row["branch"]): row["old_versions_removed"] for row in ran.document["tables"]}
    assert removed["node:Ship", None] > 0
    assert removed["node:Sailor", None] == removed["node:Sailor", "review"] == 0, "its refs share files"
    warning, error = (line for line in ran.err.splitlines() if not line.startswith(("omnigraph cleanup", "engine:")))
    assert warning.startswith("warning: cleaning node:Sailor on review failed: ")
    assert error.startswith("error: node:Sailor on review could not be cleaned, or not as a whole; the rest was.")


def test_a_preview_that_cannot_see_a_table_does_not_claim_to_have_cleaned_others(run: Any, graph_uri: str) -> None:
    damage(graph_uri)

    ran = run("cleanup", graph_uri, "--keep", "3")

    assert ran.code == 1
    assert "warning: looking at node:Sailor failed: " in ran.err
    assert "error: node:Sailor could not be looked at, so this preview is not complete. Nothing was removed." in ran.err
    assert "Nothing was changed" in ran.out


def test_trees_without_a_ref_are_named(run: Any, graph_uri: str) -> None:
    pin = next(pin for pin in omnigraph.open(graph_uri).snapshot().tables if pin.type_name == "Sailor")
    staged = Path(graph_uri, pin.location, "tree", "gone.0123456789ab", "data")
    staged.mkdir(parents=True)
    (staged / "file.lance").write_bytes(b"x" * 100)
    age(staged)

    preview = run("cleanup", graph_uri)
    ran = run("cleanup", graph_uri, "--confirm", "--json")

    assert "node:Sailor: reclaims trees without a ref: gone.0123456789ab" in preview.out
    rows = {row["table_key"]: row for row in ran.document["tables"]}
    assert rows["node:Sailor"]["trees_reclaimed"] == ["gone.0123456789ab"]
    assert rows["node:Sailor"]["bytes_removed"] == 100
