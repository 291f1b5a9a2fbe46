"""Diffs and the change feed as a user meets them: words and flags in, text or one document out."""

import json
from pathlib import Path

import pytest

from support.program import Run

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def review(art: str, run: Run) -> str:
    """A branch on which one artist changed and one is new."""
    Path("more.jsonl").write_text(
        '{"type": "Artist", "data": {"name": "Ines", "born": 1908}}\n{"type": "Artist", "data": {"name": "Zoe"}}\n'
    )
    assert run("branch", "create", "review", "--store", art).code == 0
    assert run("load", art, "--data", "more.jsonl", "--mode", "merge", "--branch", "review", "--as", "zoe").code == 0
    return art


def head(run: Run, uri: str, branch: str = "main") -> str:
    return str(run("commit", "list", uri, "--branch", branch, "--json").document["commits"][0]["graph_commit_id"])


def test_branch_diff_shows_what_a_merge_would_bring(review: str, run: Run):
    shown = run("branch", "diff", "review", "--store", review)
    document = run("branch", "diff", "review", "--store", review, "--json").document

    assert shown.out == '~ Artist Ines born=1907→1908\n+ Artist Zoe name="Zoe"\n'
    assert document["to"] == head(run, review, "review")
    assert document["from"] == head(run, review)
    assert [(change["op"], change["id"]) for change in document["changes"]] == [("update", "Ines"), ("insert", "Zoe")]
    assert document["changes"][0]["before"] == {"properties": {"born": 1907, "name": "Ines"}}


def test_branch_diff_counts_filters_and_compares_any_two_states(review: str, run: Run):
    counts = run("branch", "diff", "review", "--store", review, "--stat", "--json").document["tables"]
    backwards = run("branch", "diff", "main", "--from", "review", "--store", review, "--op", "delete")
    nothing = run("branch", "diff", "main", "--from", "main", "--store", review)
    other_way = run("branch", "diff", "main", "--into", "review", "--store", review)
    itself = run("branch", "diff", "review", "--into", "review", "--store", review)
    torn = run("branch", "diff", "review", "--into", "main", "--from", "main", "--store", review)
    paged = run("branch", "diff", "review", "--stat", "--limit", "3", "--store", review)

    assert counts == [{"table_key": "node:Artist", "inserted": 1, "updated": 1, "deleted": 0}]
    assert backwards.out == '- Artist Zoe name="Zoe"\n'
    assert nothing.out == other_way.out == itself.out == "nothing changed\n"
    assert (torn.code, paged.code) == (2, 2)


def test_every_command_about_changes_leaves_a_type_out_and_tells_what_came_before_a_property(art: str, run: Run):
    start = f"after:{head(run, art)}"
    grown = run("schema", "show", art).out.replace("born: I32?", "born: I32?\n  died: I32?")
    Path("grown.pg").write_text(grown)
    Path("died.jsonl").write_text('{"type": "Artist", "data": {"name": "Ines", "born": 1907, "died": 1990}}\n')
    assert run("schema", "apply", art, "--schema", "grown.pg").code == 0
    assert run("load", art, "--data", "died.jsonl", "--mode", "merge").code == 0
    shown = {
        "poll": run("changes", "poll", art, "--start", start).out,
        "diff": run("branch", "diff", "main", "--from", "main~2", "--store", art).out,
        "commit": run("commit", "changes", head(run, art), "--store", art).out,
    }
    left_out = {
        "poll": run("changes", "poll", art, "--start", start, "--exclude-type", "node:Artist").out,
        "diff": run("branch", "diff", "main", "--from", "main~2", "--store", art, "--exclude-type", "Artist").out,
        "commit": run("commit", "changes", head(run, art), "--store", art, "--exclude-type", "Artist").out,
    }
    misspelled = run("changes", "poll", art, "--exclude-type", "Artits")

    assert all("~ Artist Ines died=null→1990" in text for text in shown.values()), shown
    assert not any("Ines" in text for text in left_out.values()), left_out
    assert misspelled.code == 1
    assert "did you mean Artist?" in misspelled.err


def test_commit_changes_has_cause_images_and_endpoints(art: str, run: Run):
    document = run("commit", "changes", head(run, art), "--store", art, "--kind", "edge", "--json").document

    assert set(document) == {"cause", "changes"}
    assert set(document["cause"]) == {
        *("graph_commit_id", "parent_commit_id", "authored_branch", "authored_at"),
        *("kind", "manifest_version", "graph_manifest_version"),
    }
    (change,) = document["changes"]
    assert (change["kind"], change["type"]["name"], change["op"]) == ("edge", "CreatedBy", "insert")
    assert change["after"] == {"properties": {}, "endpoints": {"from": "Still Life", "to": "Ines"}}
    assert "before" not in change


def test_pages_are_printed_one_after_another_or_one_at_a_time(art: str, run: Run):
    commit = head(run, art)
    everything = run("commit", "changes", commit, "--store", art, "--limit", "1", "--json").document
    first = run("commit", "changes", commit, "--store", art, "--limit", "3", "--page-token", "start", "--json").document
    rest = run("commit", "changes", commit, "--store", art, "--page-token", first["next_page_token"], "--json").document
    misused = run(
        "commit", "changes", commit, "--store", art, "--page-token", first["next_page_token"], "--kind", "node"
    )

    assert "next_page_token" not in everything
    assert len(first["changes"]) == 3
    assert first["changes"] + rest["changes"] == everything["changes"]
    assert "next_page_token" not in rest
    assert misused.code == 1
    assert misused.err.startswith("error: change cursor rejected: it belongs to another filter.")


def test_the_first_commit_has_no_diff(art: str, run: Run):
    first = run("commit", "list", art, "--json").document["commits"][-1]["graph_commit_id"]

    refused = run("commit", "changes", first, "--store", art, "--json")

    assert refused.code == 5
    assert refused.document["kind"] == "change_diff_refusal"
    assert refused.document["change_diff_refusal"] == {"reason": "parentless_commit", "graph_commit_id": first}


def test_a_poll_goes_on_where_the_last_one_ended(review: str, run: Run):
    begun = run("changes", "poll", "--store", review, "--branch", "review", "--start", "beginning", "--json").document
    again = run("changes", "poll", "--store", review, "--branch", "review", "--cursor", begun["cursor"], "--json")
    text = run("changes", "poll", "--store", review, "--branch", "review", "--start", f"after:{head(run, review)}")

    assert [len(block["changes"]) for block in begun["blocks"]] == [4, 2]
    assert begun["caught_up"] is True
    assert again.document == {"blocks": [], "cursor": begun["cursor"], "caught_up": True}
    lines = text.out.splitlines()
    assert lines[0] == f"{head(run, review, 'review')} load branch=review actor=zoe"
    assert lines[1:3] == ["~ Artist Ines born=1907→1908", '+ Artist Zoe name="Zoe"']
    assert lines[3].startswith("cursor: ")
    assert lines[4] == "caught up"


def test_a_commit_larger_than_a_page_is_one_block(art: str, run: Run):
    document = run("changes", "poll", "--store", art, "--start", "beginning", "--limit", "1", "--json").document

    assert [len(block["changes"]) for block in document["blocks"]] == [4]
    assert document["cursor"]


def test_a_poll_refuses_what_it_cannot_follow(art: str, run: Run):
    refused = run("changes", "poll", "--store", art, "--cursor", "nonsense", "--json")
    both = run("changes", "poll", "--store", art, "--cursor", "x", "--start", "now")
    unknown = run("changes", "poll", "--store", art, "--start", "after:01K8F3Q5V0000000000000000A")
    large = run("changes", "poll", "--store", art, "--limit", "9000")

    assert (refused.code, refused.document["kind"]) == (1, "change_cursor_rejected")
    assert "reason" in refused.document["change_cursor_rejected"]
    assert (both.code, unknown.code, large.code) == (1, 1, 1)
    assert "one of them" in both.err
    assert "8192" in large.err


def test_a_baseline_is_a_state_and_a_cursor(art: str, run: Run):
    done = run("changes", "baseline", "--store", art, "--out", "state.jsonl", "--json")
    records = [json.loads(line) for line in Path("state.jsonl").read_text().splitlines()]
    exported = run("export", art).out.splitlines()

    assert set(done.document) == {"snapshot_commit_id", "resume_cursor"}
    assert records[-1] == {"baseline": done.document}
    assert records[:-1] == [json.loads(line) for line in exported]
    polled = run("changes", "poll", "--store", art, "--cursor", done.document["resume_cursor"], "--json")
    assert polled.document["blocks"] == []


def test_commit_list_all_includes_merged_ones(review: str, run: Run):
    brought = head(run, review, "review")
    before = run("commit", "list", review).out
    assert run("branch", "merge", "review", "--store", review).code == 0

    merge, *plain = run("commit", "list", review).out.splitlines(keepends=True)
    everything = run("commit", "list", review, "--all").out.splitlines(keepends=True)

    assert "".join(plain) == before
    assert everything[0] == merge
    assert everything[1].startswith(f"{brought} load branch=review")
    assert "".join(everything[2:]) == before
    assert run("commit", "list", review, "--all", "--limit", "2").out == "".join(everything[:2])


def test_a_merge_shows_what_it_brought_and_leaves_nothing_to_bring(review: str, run: Run):
    offered = run("branch", "diff", "review", "--store", review).out
    assert run("branch", "merge", "review", "--store", review).code == 0

    assert run("commit", "changes", head(run, review), "--store", review).out == offered
    assert run("branch", "diff", "review", "--store", review).out == "nothing changed\n"
