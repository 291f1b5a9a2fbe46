"""`schema plan` and `schema apply`: documents, lines, exit codes and what they refuse."""

from pathlib import Path

import pytest

import omnigraph

pytestmark = pytest.mark.usefixtures("workplace")

BIGGER = """\
node Painter @rename_from("Artist") {
  name: String @key
  country: String? @default("unknown")
}
node Artwork { title: String @key  year: I32? }
edge CreatedBy: Artwork -> Painter
"""


@pytest.fixture
def bigger(art):
    Path("bigger.pg").write_text(BIGGER)
    Path("same.pg").write_text(omnigraph.open(art, read_only=True).schema_source)
    Path("refused.pg").write_text("node Artist { name: String @key  born: I32 }\nnode Artwork { title: String @key }\n")
    return art


def test_a_plan_is_one_line_per_step_and_changes_nothing(bigger, run):
    before = run("commit", "list", bigger).out

    ran = run("schema", "plan", bigger, "--schema", "bigger.pg")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "supported: yes",
        "- add property 'Artwork.year' (I32?) on node 'Artwork'",
        "- rename node 'Artist' to 'Painter'",
        "- add property 'Painter.country' (String?) on node 'Painter' with default \"unknown\"",
        "- drop property 'Painter.born' of node 'Painter' (soft mode)",
    ]
    assert run("commit", "list", bigger).out == before


def test_the_document_of_a_plan_has_every_step(bigger, run):
    document = run("schema", "plan", bigger, "--schema", "bigger.pg", "--allow-data-loss", "--json").document

    assert list(document) == ["uri", "supported", "step_count", "steps"]
    assert (document["uri"], document["supported"], document["step_count"]) == (bigger, True, 4)
    assert document["steps"][0]["kind"] == "add_property"
    assert document["steps"][1] == {"kind": "rename_type", "type_kind": "node", "from": "Artist", "to": "Painter"}
    assert document["steps"][3]["mode"] == "hard"
    assert document["steps"][3]["code"] == "OG-DS-104"


def test_an_unsupported_plan_exits_0_and_an_apply_of_it_1_with_the_code(bigger, run):
    plan = run("schema", "plan", bigger, "--schema", "refused.pg", "--json")
    apply = run("schema", "apply", bigger, "--schema", "refused.pg", "--json")

    assert (plan.code, plan.document["supported"]) == (0, False)
    assert {step.get("code") for step in plan.document["steps"]} >= {"OG-MF-104"}
    assert (apply.code, apply.document["kind"]) == (1, "unsupported_schema_change")
    assert apply.document["unsupported_schema_change"]["rule"] == "OG-MF-104"
    assert "[OG-MF-104] Artist.born" in apply.document["error"]


def test_an_apply_says_what_it_did_and_a_second_one_does_nothing(bigger, run):
    first = run("schema", "apply", bigger, "--schema", "bigger.pg", "--as", "act-ines", "--json")
    second = run("schema", "apply", bigger, "--schema", "bigger.pg", "--json")
    third = run("schema", "apply", bigger, "--schema", "bigger.pg", "--quiet")

    document = first.document
    assert list(document) == [
        "uri",
        "supported",
        "applied",
        "step_count",
        "manifest_version",
        "graph_manifest_version",
        "steps",
        "commit",
    ]
    assert (document["applied"], document["step_count"]) == (True, 4)
    assert (document["commit"]["kind"], document["commit"]["actor_id"]) == ("schema_apply", "act-ines")
    assert document["commit"]["manifest_version"] == document["manifest_version"]
    assert first.err == ""
    assert (second.code, second.document["applied"], second.document["commit"]) == (0, False, None)
    assert second.document["manifest_version"] == document["manifest_version"]
    assert "warning: @rename_from" in second.err
    assert third.out == "nothing to apply: the graph has this schema already, so there is no new commit\n"
    assert '"Painter"' in run("export", bigger, "--quiet").out


def test_other_branches_exit_5_with_the_code(bigger, run):
    run("branch", "create", "--store", bigger, "review")

    ran = run("schema", "apply", bigger, "--schema", "bigger.pg", "--json")

    assert (ran.code, ran.document["kind"]) == (5, "schema_apply_blocked")
    assert ran.document["schema_apply_blocked"]["branches"] == ["review"]
    assert "OG-NL-101" in ran.document["error"]


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_a_missing_flag_file_or_graph_says_which(bigger, run, verb):
    assert (run("schema", verb, bigger).code, "--schema FILE" in run("schema", verb, bigger).err) == (2, True)
    assert "absent.pg" in run("schema", verb, bigger, "--schema", "absent.pg").err
    ran = run("schema", verb, "absent.omni", "--schema", "same.pg", "--json")
    assert (ran.code, ran.document["kind"]) == (1, "graph_not_found")
    assert not Path("absent.omni").exists()


def test_data_loss_on_a_remote_target_needs_consent_before_anything_is_opened(bigger, run):
    ran = run("schema", "apply", "s3://no-such-bucket/g.omni", "--schema", "bigger.pg", "--allow-data-loss")

    assert ran.code == 3
    assert "refusing destructive `schema apply`" in ran.err
    assert "--yes" in ran.err


def test_a_graph_of_a_cluster_is_refused_with_its_root(bigger, run):
    Path("graphs").mkdir()
    Path(bigger).rename("graphs/art.omni")
    Path("__cluster").mkdir()
    Path("__cluster/state.json").write_text('{"version": 1, "applied_revision": {"resources": {}}}')

    ran = run("schema", "apply", "graphs/art.omni", "--schema", "bigger.pg")

    assert ran.code == 1
    assert "cluster apply" in ran.err
    assert str(Path.cwd()) in ran.err
    assert run("schema", "plan", "graphs/art.omni", "--schema", "bigger.pg").code == 0


def test_init_reports_hints_that_have_nothing_to_rename(run):
    Path("hinted.pg").write_text('node A @rename_from("B") { x: I32? @rename_from("y") }\n')

    ran = run("init", "--schema", "hinted.pg", "new.omni")

    assert ran.code == 0
    assert ran.err.splitlines() == [
        'warning: @rename_from("B") on node:A is ignored: a new graph has nothing to rename',
        'warning: @rename_from("y") on node:A.x is ignored: a new graph has nothing to rename',
    ]
