"""The truth table of the contract, asked in Python and on the command line, and what Cedar may answer besides."""

import cedarpy
import pytest

import omnigraph
from omnigraph.errors import InvalidName, InvalidTarget, PolicyEvaluation
from support.keepers import apply_policies
from support.program import POLICY

ALLOWED, DENIED = "allow", "deny"
CASES = [
    ("act-ines", "read", "main", None, ALLOWED, "keepers-read"),
    ("act-ines", "read", None, None, ALLOWED, "keepers-read"),
    ("act-lee", "read", "main", None, DENIED, None),
    ("act-lee", "read", None, None, DENIED, None),
    ("act-lee", "change", "draft", None, ALLOWED, "interns-write-side-branches"),
    ("act-lee", "change", " main ", None, DENIED, None),
    ("act-lee", "change", "  ", None, DENIED, None),
    ("act-lee", "change", "Main", None, ALLOWED, "interns-write-side-branches"),
    ("act-ines", "change", "draft", None, DENIED, None),
    ("act-ines", "branch_merge", "draft", "main", ALLOWED, "keepers-merge"),
    ("act-ines", "branch_create", "main", "draft", ALLOWED, "keepers-merge"),
    ("act-ines", "schema_apply", None, "main", ALLOWED, "keepers-merge"),
    ("act-ines", "branch_delete", None, "draft", DENIED, None),
    ("act-ines", "invoke_query", None, None, ALLOWED, "keepers-invoke"),
    ("act-lee", "invoke_query", None, None, DENIED, None),
    ("act-ines", "admin", None, None, DENIED, None),
    ("act-zoe", "read", "main", None, DENIED, None),
    ("Act-Ines", "read", "main", None, DENIED, None),
    (" act-ines", "read", "main", None, DENIED, None),
]
truth_table = pytest.mark.parametrize(("actor", "action", "branch", "target", "expected", "rule"), CASES)


@pytest.fixture(scope="module")
def keepers() -> omnigraph.PolicyEngine:
    return omnigraph.PolicyEngine.from_source(POLICY, "artworks")


@truth_table
def test_a_decision_is_that_of_the_table(actor, action, branch, target, expected, rule, keepers):
    decision = keepers.decide(action, actor=actor, branch=branch, target_branch=target)

    assert (decision.word, decision.matched_rule) == (expected, rule)
    assert decision.is_allowed is (expected == ALLOWED)
    assert ("denied" in decision.message) is (expected == DENIED)


@truth_table
def test_the_command_line_explains_the_same_of_a_file_and_of_a_cluster(
    actor, action, branch, target, expected, rule, run, seed_files
):
    apply_policies(str(seed_files / "museum"))
    branches = [*(("--branch", branch) if branch else ()), *(("--target-branch", target) if target else ())]

    for source, bundle in ((("--policy", "art.policy.yaml"), "art"), (("--cluster", "museum"), "keepers")):
        ran = run(
            *("policy", "explain", *source, "--graph", "artworks", "--json"),
            *("--actor", actor, "--action", action, *branches),
        )

        assert ran.code == 0, ran.err
        asked = {"actor": actor, "action": action, "bundle": bundle, "target_branch": target}
        asked["branch"] = branch and (branch.strip() or None)
        message = ran.document["message"]
        assert ran.document == {"decision": expected, "matched_rule": rule, "message": message, **asked}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"action": "change", "actor": "act-lee", "branch": "main"},
            "policy denied action 'change' on branch 'main' for actor 'act-lee'",
        ),
        (
            {"action": "branch_merge", "actor": "act-lee", "branch": "draft", "target_branch": "main"},
            "policy denied action 'branch_merge' on branch 'draft' targeting branch 'main' for actor 'act-lee'",
        ),
        ({"action": "read", "actor": "act-zoe"}, "policy denied action 'read' for unknown actor 'act-zoe'"),
        (
            {"action": "change", "actor": "act-lee", "branch": "draft"},
            "policy allowed action 'change' for actor 'act-lee'",
        ),
    ],
)
def test_a_decision_says_what_and_for_whom(asked, message, keepers):
    assert keepers.decide(**asked).message == message


def test_the_smallest_matching_id_is_reported():
    grants = "".join(
        f"  - {{ id: {rule_id}, allow: {{ actors: {{ group: {group} }}, actions: [read] }} }}\n"
        for rule_id, group in [("zebra", "a"), ("b10", "b"), ("b9", "a"), ("aardvark", "c")]
    )
    text = f"version: 1\ngroups: {{ a: [x], b: [x], c: [y] }}\nrules:\n{grants}"

    engine = omnigraph.PolicyEngine.from_source(text, "artworks")

    assert engine.decide("read", actor="x").matched_rule == "b10"


def test_main_is_protected_only_if_it_is_listed():
    text = POLICY.replace("protected_branches: [main]", "protected_branches: [' release/1 ']")
    engine = omnigraph.PolicyEngine.from_source(text, "artworks")

    assert engine.decide("change", actor="act-lee", branch="main").is_allowed
    assert not engine.decide("change", actor="act-lee", branch="release/1").is_allowed


def test_a_protected_scope_holds_for_protected_branches_only():
    text = POLICY.replace("branch_scope: unprotected", "branch_scope: protected")
    engine = omnigraph.PolicyEngine.from_source(text, "artworks")

    answers = {branch: engine.decide("change", actor="act-lee", branch=branch).is_allowed for branch in ("main", "x")}

    assert answers == {"main": True, "x": False}
    assert not engine.decide("change", actor="act-lee").is_allowed


def test_a_target_scope_looks_at_the_target_only():
    text = POLICY.replace("target_branch_scope: any", "target_branch_scope: unprotected")
    engine = omnigraph.PolicyEngine.from_source(text, "artworks")

    def merges(source: str, target: str | None) -> bool:
        return engine.decide("branch_merge", actor="act-ines", branch=source, target_branch=target).is_allowed

    assert merges("main", "draft")
    assert not merges("draft", "main")
    assert not merges("draft", None)


@pytest.mark.parametrize("action", ["reed", "graph_list", "run_publish"])
def test_an_action_that_a_graph_bundle_does_not_know_is_no_denial(action, keepers):
    with pytest.raises(InvalidTarget, match=action):
        keepers.decide(action, actor="act-ines")


@pytest.mark.parametrize("names", [{"actor": "a\nb"}, {"actor": "act-ines", "branch": "m\x1b"}])
def test_names_that_are_no_plain_text_are_refused(names, keepers):
    with pytest.raises(InvalidName):
        keepers.decide("read", **names)


class _Answer:
    """An answer as Cedar gives it where it cannot judge, which a bundle that was checked never brings about."""

    def __init__(self, decision: cedarpy.Decision, errors: list[str], reasons: list[str]) -> None:
        self.decision = decision
        self.diagnostics = cedarpy.Diagnostics({"errors": errors, "reason": reasons, "reasons": reasons})


@pytest.mark.parametrize(
    ("decision", "problems"),
    [(cedarpy.Decision.NoDecision, []), (cedarpy.Decision.NoDecision, ["no request"]), (cedarpy.Decision.Allow, ["x"])],
)
def test_a_failed_evaluation_is_neither_an_allowance_nor_a_denial(decision, problems, keepers, monkeypatch):
    engine = omnigraph.PolicyEngine.from_source(POLICY, "artworks")
    monkeypatch.setattr(engine._cedar, "_evaluate", lambda *_: _Answer(decision, problems, ["keepers-read:read"]))

    with pytest.raises(PolicyEvaluation) as failure:
        engine.authorize("read", actor="act-ines", branch="main")

    assert (failure.value.http_status, failure.value.code, failure.value.exit_code) == (500, "internal", 1)
    assert "denied" not in failure.value.message


def test_a_request_that_cedar_cannot_build_is_a_failed_evaluation():
    engine = omnigraph.PolicyEngine.from_source(POLICY, "artworks")
    engine._cedar._resource = {"type": "Omnigraph::Server", "id": "root"}

    with pytest.raises(PolicyEvaluation, match="failed to build request"):
        engine.decide("read", actor="act-ines", branch="main")
