"""`policy validate`, `policy test` and `policy explain` as people type them."""

import pytest

from support.program import POLICY

pytestmark = pytest.mark.usefixtures("workplace", "seed_files")
SERVER_BUNDLE = """\
version: 1
groups: { keepers: [act-ines] }
rules: [{ id: lists, allow: { actors: { group: keepers }, actions: [graph_list] } }]
"""


def save(workplace, name: str, text: str) -> str:
    workplace.joinpath(name).write_text(text, encoding="utf-8")
    return name


def test_a_valid_bundle_is_described(run, workplace):
    server = save(workplace, "front.yaml", SERVER_BUNDLE)

    assert run("policy", "validate", "--policy", "art.policy.yaml").out == (
        "policy valid: bundle 'art' (graph, 3 actors, 4 rules)\n"
    )
    assert run("policy", "validate", "--policy", server).out == (
        "policy valid: bundle 'front' (server, 1 actor, 1 rule)\n"
    )
    assert run("policy", "validate", "--policy", "art.policy.yaml", "--graph", "artworks", "--json").document == {
        "ok": True,
        "bundles": [{"name": "art", "kind": "graph", "applies_to": [], "actors": 3, "rules": 4, "error": None}],
    }


def test_an_invalid_bundle_ends_with_1_and_says_why(run, workplace):
    path = save(workplace, "bad.policy.yaml", POLICY.replace("branch_scope: unp", "branch_scpoe: unp"))

    ran = run("policy", "validate", "--policy", path)

    assert ran.code == 1
    assert ran.out.startswith("policy invalid: bundle 'bad': ")
    assert "branch_scpoe" in ran.out
    assert ran.err.startswith("error: policy bundle 'bad': ")
    document = run("policy", "validate", "--policy", path, "--json").document
    assert document["ok"] is False
    (bundle,) = document["bundles"]
    assert "branch_scpoe" in bundle["error"]
    assert (bundle["kind"], bundle["actors"], bundle["rules"]) == (None, None, None)


@pytest.mark.parametrize("words", [("test", "--tests", "art.policy-tests.yaml"), ("explain", "--actor", "a")])
def test_nothing_is_decided_by_an_invalid_bundle(words, run, workplace):
    path = save(workplace, "bad.yaml", "version: 2\n")
    action = ("--action", "read") if words[0] == "explain" else ()

    ran = run("policy", *words, *action, "--policy", path, "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "policy_invalid"


def test_tests_that_pass(run):
    line = ("policy", "test", "--policy", "art.policy.yaml", "--tests", "art.policy-tests.yaml")

    assert run(*line).out == "policy tests passed: 3 cases\n"
    document = run(*line, "--json").document
    assert (document["ok"], document["passed"], document["failed"]) == (True, 3, 0)
    assert document["cases"][0] == {
        "id": "lee-writes-side",
        "expected": "allow",
        "actual": "allow",
        "matched_rule": "interns-write-side-branches",
    }


def test_every_mismatch_is_named_and_ends_with_1(run, workplace):
    wrong = workplace.joinpath("art.policy-tests.yaml").read_text().replace("expect: allow", "expect: x")
    wrong = wrong.replace("expect: deny", "expect: allow").replace("expect: x", "expect: deny")
    path = save(workplace, "wrong.yaml", wrong)

    ran = run("policy", "test", "--policy", "art.policy.yaml", "--tests", path)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "lee-writes-side: expected deny, got allow (rule interns-write-side-branches)",
        "lee-not-on-main: expected allow, got deny",
        "ines-merges: expected deny, got allow (rule keepers-merge)",
    ]
    assert "3 policy tests failed" in ran.err
    document = run("policy", "test", "--policy", "art.policy.yaml", "--tests", path, "--json").document
    assert (document["ok"], document["passed"], document["failed"]) == (False, 0, 3)


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        ("{ id: a, actor: x, action: read, expect: maybe }", ["'a'", "maybe"]),
        ("{ id: a, actor: x, action: reed, expect: deny }", ["'a'", "reed"]),
        ("{ id: a, actor: x, action: read, expect: deny, brunch: main }", ["brunch", "branch"]),
        ("{ id: ' ', actor: x, action: read, expect: deny }", ["id", "blank"]),
        ("{ id: a, action: read, expect: deny }", ["actor", "'a'"]),
        ("{ id: a, actor: x, action: read, expect: deny }, { id: a, actor: x, action: read, expect: deny }", ["dupl"]),
        ("{ id: a, actor: x, action: read, expect: deny, branch: }", ["branch", "'a'"]),
    ],
)
def test_a_file_of_tests_is_read_as_strictly(case, parts, run, workplace):
    path = save(workplace, "cases.yaml", f"version: 1\ncases: [{case}]\n")

    ran = run("policy", "test", "--policy", "art.policy.yaml", "--tests", path)

    assert ran.code == 1
    assert [part for part in (*parts, "cases.yaml") if part not in ran.err] == []


def test_an_explanation_for_people(run):
    line = ("policy", "explain", "--policy", "art.policy.yaml", "--actor", "act-lee", "--action", "change")

    denied, allowed = run(*line, "--branch", "main"), run(*line, "--branch", "draft")

    assert (denied.code, allowed.code) == (0, 0)
    assert denied.out.splitlines() == [
        "decision: deny",
        "actor: act-lee",
        "action: change",
        "branch: main",
        "message: policy denied action 'change' on branch 'main' for actor 'act-lee'",
    ]
    assert allowed.out.splitlines() == [
        "decision: allow",
        "actor: act-lee",
        "action: change",
        "branch: draft",
        "matched_rule: interns-write-side-branches",
        "message: policy allowed action 'change' for actor 'act-lee'",
    ]


def test_a_question_of_the_other_kind_has_no_bundle(run, workplace):
    server = save(workplace, "front.yaml", SERVER_BUNDLE)
    empty = save(workplace, "empty.yaml", "version: 1\n")

    def explain(path: str, action: str):
        return run("policy", "explain", "--policy", path, "--actor", "act-ines", "--action", action)

    for path, action in (("art.policy.yaml", "graph_list"), (server, "read")):
        ran = explain(path, action)
        assert ran.code == 2
        assert "No bundle" in ran.err
        assert action in ran.err
    assert "decision: allow" in explain(server, "graph_list").out
    assert "decision: deny" in explain(empty, "graph_list").out
    assert "decision: deny" in explain(empty, "read").out


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("validate",), "--policy"),
        (("test", "--policy", "art.policy.yaml"), "--tests"),
        (("explain", "--actor", "a", "--action", "read"), "--policy"),
        (("explain", "--policy", "art.policy.yaml", "--action", "read"), "--actor"),
        (("explain", "--policy", "art.policy.yaml", "--actor", " ", "--action", "read"), "--actor"),
        (("explain", "--policy", "art.policy.yaml", "--actor", "a"), "--action"),
        (("explain", "--policy", "art.policy.yaml", "--actor", "a", "--action", "reed"), "--action"),
    ],
)
def test_what_is_missing_is_named(words, flag, run):
    ran = run("policy", *words)

    assert ran.code == 2
    assert flag in ran.err


@pytest.mark.parametrize("flag", ["--policy", "--tests"])
def test_a_file_that_is_not_there_is_named(flag, run):
    files = {"--policy": "art.policy.yaml", "--tests": "art.policy-tests.yaml", flag: "nowhere.yaml"}

    ran = run("policy", "test", *(word for pair in files.items() for word in pair))

    assert ran.code == 1
    assert "nowhere.yaml" in ran.err
