"""`omnigraph branch merge`, as a user would."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def review(art, run):
    """A branch of the art graph that changed one artist and added another."""
    run("branch", "create", "--store", art, "review")
    load(run, art, {"name": "Ines", "born": 1908}, {"name": "Zoe"}, branch="review")
    return art


def load(run, store, *artists, branch="main"):
    lines = [json.dumps({"type": "Artist", "data": artist}) for artist in artists]
    Path("change.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ran = run("load", "--store", store, "--branch", branch, "--data", "change.jsonl", "--mode", "merge")
    assert ran.code == 0, ran.err


def test_the_document_says_what_changed_and_names_both_parents(review, run):
    source = run("commit", "list", review, "--branch", "review", "--json").document["commits"][0]
    target = run("commit", "list", review, "--json").document["commits"][0]

    ran = run("branch", "merge", "--store", review, "review", "--as", "ines", "--message", "October", "--json")

    assert ran.code == 0
    commit = ran.document["commit"]
    assert ran.document == {
        "source": "review",
        "target": "main",
        "outcome": "fast_forward",
        "dry_run": False,
        "tables": [{"table_key": "node:Artist", "inserted": 1, "updated": 1, "deleted": 0}],
        "actor_id": "ines",
        "engine": "local",
        "engine_reason": ran.document["engine_reason"],
        "commit": commit,
    }
    assert ran.document["engine_reason"].endswith(", below 32 MiB")
    assert commit["kind"] == "branch_merge"
    assert commit["message"] == "October"
    assert (commit["parent_commit_id"], commit["merged_parent_commit_id"]) == (
        target["graph_commit_id"],
        source["graph_commit_id"],
    )


def test_a_dry_run_prints_the_same_tables_and_writes_nothing(review, run):
    before = run("commit", "list", review).out

    ran = run("branch", "merge", "--store", review, "review", "--dry-run", "--json")

    assert ran.code == 0
    assert (ran.document["dry_run"], ran.document["commit"]) == (True, None)
    assert run("commit", "list", review).out == before
    assert run("branch", "merge", "--store", review, "review", "--json").document["tables"] == ran.document["tables"]


def test_conflicts_are_listed_for_people_and_end_with_exit_code_5(review, run):
    load(run, review, {"name": "Ines", "born": 1909})
    before = run("export", review).out

    ran = run("branch", "merge", "--store", review, "review", "--show-values")

    assert ran.code == 5
    assert ran.out.splitlines()[:2] == [
        "conflict          table        entity  what",
        "divergent_update  node:Artist  Ines    Artist 'Ines' was changed differently on both sides",
    ]
    assert '"born": 1908' in ran.out
    assert "meets 1 conflict; nothing was written" in ran.err
    assert run("export", review).out == before


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize("show_values", [(), ("--show-values",)])
def test_conflicts_are_one_document_for_programs(review, run, dry_run, show_values):
    load(run, review, {"name": "Ines", "born": 1909})

    ran = run("branch", "merge", "--store", review, "review", "--json", *dry_run, *show_values)

    assert ran.code == 5
    assert (ran.document["kind"], ran.document["code"]) == ("merge_conflicts", "conflict")
    assert ran.document["merge_conflicts_total"] == 1
    (conflict,) = ran.document["merge_conflicts"]
    images = {side: conflict.pop(side)["data"]["born"] for side in ("base", "source", "target") if side in conflict}
    assert images == ({"base": 1907, "source": 1908, "target": 1909} if show_values else {})
    assert conflict == {
        "table_key": "node:Artist",
        "entity_kind": "node",
        "type_name": "Artist",
        "row_id": "Ines",
        "entity_id": "Ines",
        "kind": "divergent_update",
        "message": "Artist 'Ines' was changed differently on both sides",
    }


def test_the_source_is_deleted_on_request_and_a_failure_of_that_is_a_warning(review, run):
    run("branch", "create", "--store", review, "child", "--from", "review")

    kept = run("branch", "merge", "--store", review, "review", "--delete-branch", "--json")
    run("branch", "delete", "--store", review, "child")
    gone = run("branch", "merge", "--store", review, "review", "--delete-branch", "--json")

    assert (kept.code, kept.document["branch_deleted"]) == (0, False)
    assert "child" in kept.document["branch_delete_error"]
    assert "warning: branch review was merged but not deleted" in kept.err
    assert (gone.code, gone.document["outcome"], gone.document["branch_deleted"]) == (0, "already_up_to_date", True)
    assert "branch_delete_error" not in gone.document
    assert run("branch", "list", review, "--json").document["branches"] == ["main"]


def test_deleting_the_source_of_a_remote_graph_needs_consent(run):
    ran = run("branch", "merge", "--store", "s3://x/g.omni", "review", "--delete-branch")

    assert ran.code == 3
    assert "--yes" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("nowhere",), 1, "branch_not_found"),
        (("review", "--into", "nowhere"), 1, "branch_not_found"),
        (("main", "--into", "main"), 1, "invalid_target"),
        (("-x-",), 2, "usage"),
        (("rev..iew",), 2, "invalid_name"),
    ],
)
def test_a_merge_that_makes_no_sense_says_why(review, run, words, code, kind):
    ran = run("branch", "merge", "--store", review, *words, "--json")

    assert (ran.code, ran.document["kind"]) == (code, kind)


def test_main_can_be_merged_into_a_branch(review, run):
    load(run, review, {"name": "Rémy", "born": 1950})

    ran = run("branch", "merge", "--store", review, "main", "--into", "review")

    assert ran.code == 0
    assert [line.split() for line in ran.out.splitlines()[1:]] == [
        ["table", "inserted", "updated", "deleted"],
        ["node:Artist", "0", "1", "0"],
    ]
    assert run("branch", "merge", "--store", review, "review").out.startswith(
        "merged review into main as a fast-forward"
    )
