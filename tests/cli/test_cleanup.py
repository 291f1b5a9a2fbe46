"""`omnigraph cleanup`: a preview by default, consent for what is not local, documents for programs."""

from typing import Any

import pytest

from support import harbor


@pytest.fixture
def graph_uri(local_root: str) -> str:
    graph = harbor.new_graph(local_root)
    for age in range(4):
        with graph.write() as batch:
            batch.update("Sailor", {"age": 60 + age}, ids=["Bo"])
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


def test_the_longest_durations_mean_for_ever(run: Any, graph_uri: str) -> None:
    longest = str(2**63 - 1)

    ran = run("cleanup", graph_uri, "--older-than", longest, "--confirm", "--wait", longest, "--json")

    assert ran.code == 0
    assert sum(table["old_versions_removed"] for table in ran.document["tables"]) == 0


@pytest.mark.parametrize("wrong", [("--keep", "0"), ("--keep", "many"), ("--older-than", "3y"), ("--older-than", "")])
def test_a_wrong_policy_is_a_wrong_invocation(run: Any, graph_uri: str, wrong: tuple[str, str]) -> None:
    assert run("cleanup", graph_uri, *wrong).code == 2


def test_a_target_that_is_not_local_needs_consent_before_it_is_opened(run: Any) -> None:
    ran = run("cleanup", "s3://no-such-bucket/g.omni", "--confirm", "--json")

    assert ran.code == 3
    assert "refusing destructive `cleanup`" in ran.err + ran.out
