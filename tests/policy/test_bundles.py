"""What a bundle may say, and every way in which one is refused."""

import pytest

import omnigraph
from omnigraph.errors import Io, PolicyInvalid
from omnigraph.policy.actions import ACTIONS, BundleKind
from omnigraph.policy.engine import bundle_name
from omnigraph.policy.reading import parse_bundle
from support.program import POLICY

HEAD = "version: 1\ngroups: { keepers: [act-ines] }\n"


def rule(allow: str, *, rule_id: str = "r1", group: str = "keepers") -> str:
    return f"{HEAD}rules: [{{ id: {rule_id}, allow: {{ actors: {{ group: {group} }}, {allow} }} }}]\n"


def two_rules(*grants: str) -> str:
    lines = [
        f"  - {{ id: {rule_id}, allow: {{ actors: {{ group: keepers }}, actions: [{action}] }} }}\n"
        for rule_id, action in (grant.split(": ") for grant in grants)
    ]
    return f"{HEAD}rules:\n{''.join(lines)}"


REFUSED = {
    "unknown key of the file": (f"{HEAD}rulez: []\n", ["rulez", "rules"]),
    "unknown key of a rule": (f"{HEAD}rules: [{{ id: r, allow: {{}}, deny: {{}} }}]\n", ["deny"]),
    "unknown key of allow": (rule("actions: [read], branch_scpoe: protected"), ["branch_scpoe", "branch_scope"]),
    "unknown key of actors": (
        f"{HEAD}rules: [{{ id: r, allow: {{ actors: {{ group: keepers, user: x }}, actions: [read] }} }}]\n",
        ["user"],
    ),
    "no version": ("groups: {}\n", ["version"]),
    "another version": ("version: 2\n", ["version"]),
    "a version in quotes": ('version: "1"\n', ["version"]),
    "a version that is true": ("version: true\n", ["version"]),
    "an empty file": ("", ["version"]),
    "no mapping": ("- version\n", ["mapping"]),
    "blank group name": ('version: 1\ngroups: { " ": [a] }\n', ["group", "blank"]),
    "group name that is no text": ("version: 1\ngroups: { yes: [a] }\n", ["groups", "quote"]),
    "blank actor": ('version: 1\ngroups: { keepers: [a, " "] }\n', ["group", "keepers"]),
    "actor that is no text": ("version: 1\ngroups: { keepers: [7] }\n", ["group", "keepers", "7"]),
    "group with no actors": ("version: 1\ngroups: { keepers: [] }\n", ["group", "keepers", "no actors"]),
    "group that is null": ("version: 1\ngroups: { keepers: }\n", ["group", "keepers", "no actors"]),
    "groups that are one when trimmed": ('version: 1\ngroups: { a: [x], "a ": [y] }\n', ["group", "duplicate"]),
    "reserved actor": ("version: 1\ngroups: { keepers: ['omnigraph:repair'] }\n", ["keepers", "omnigraph:repair"]),
    "blank protected branch": ('version: 1\nprotected_branches: [" "]\n', ["protected branch"]),
    "protected branch that is no text": ("version: 1\nprotected_branches: [1]\n", ["protected branch"]),
    "blank rule id": (rule("actions: [read]", rule_id="' '"), ["rule id"]),
    "missing rule id": (f"{HEAD}rules: [{{ allow: {{}} }}]\n", ["rule id"]),
    "repeated rule id": (two_rules("r1: read", "r1: export"), ["rule id", "duplicate", "r1"]),
    "unknown group": (rule("actions: [read]", group="keeprs"), ["r1", "unknown group", "keeprs"]),
    "several groups": (rule("actions: [read]", group="[keepers]"), ["r1", "group"]),
    "unknown action": (rule("actions: [reed]"), ["r1", "reed"]),
    "retired action": (rule("actions: [run_publish]"), ["r1", "run_publish"]),
    "another retired action": (rule("actions: [run_abort]"), ["r1", "run_abort"]),
    "no actions": (rule("actions: []"), ["r1", "at least one action"]),
    "actions left out": (rule("branch_scope: any"), ["r1", "at least one action"]),
    "actions that are no list": (rule("actions: read"), ["r1", "list"]),
    "both scopes": (
        rule("actions: [read], branch_scope: any, target_branch_scope: any"),
        ["r1", "branch_scope", "target_branch_scope"],
    ),
    "a scope the action does not take": (
        rule("actions: [branch_merge], branch_scope: any"),
        ["r1", "branch_scope", "branch_merge"],
    ),
    "a scope that one action of several does not take": (
        rule("actions: [read, schema_apply], branch_scope: any"),
        ["r1", "branch_scope", "schema_apply"],
    ),
    "a scope where there is none": (
        rule("actions: [invoke_query], branch_scope: any"),
        ["r1", "branch_scope", "invoke_query"],
    ),
    "an unknown scope": (rule("actions: [read], branch_scope: some"), ["r1", "branch_scope", "some", "unprotected"]),
    "an empty scope": (rule("actions: [read], branch_scope: "), ["r1", "branch_scope"]),
    "both levels in a rule": (rule("actions: [read, graph_list]"), ["r1", "server-scoped", "per-graph"]),
    "both levels in a bundle": (
        two_rules("lists: graph_list", "reads: read"),
        ["reads", "server-scoped", "per-graph"],
    ),
    "a kind that contradicts the actions": (f"kind: server\n{rule('actions: [read]')}", ["kind", "server"]),
    "another kind": (f"kind: cluster\n{HEAD}", ["kind", "cluster"]),
    "control character in an actor": ('version: 1\ngroups: { keepers: ["a\\ab"] }\n', ["keepers", r"'a\x07b'"]),
    "control character in a group": ('version: 1\ngroups: { "k\\nz": [a] }\n', ["group", r"'k\nz'"]),
    "control character in a branch": (
        'version: 1\nprotected_branches: ["m\\e"]\n',
        ["protected branch", r"'m\x1b'"],
    ),
    "duplicate key": (f"{HEAD}groups: {{}}\n", ["duplicate", "groups"]),
    "duplicate key inside": ("version: 1\ngroups: { a: [x], a: [y] }\n", ["duplicate", "'a'"]),
    "merged keys": ("version: 1\ngroups: &g { a: [x] }\nrules:\n  - { <<: *g, id: r }\n", ["<<"]),
    "no YAML": ("version: [1\n", ["parsed"]),
    "rules that are no list": (f"{HEAD}rules: {{}}\n", ["rules", "list"]),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_a_bundle_is_refused_with_what_is_wrong_and_where(problem):
    text, parts = REFUSED[problem]

    with pytest.raises(PolicyInvalid) as refusal:
        parse_bundle(text, name="museum")

    assert "museum" in refusal.value.message
    assert [part for part in parts if part not in refusal.value.message] == []
    assert "\n" not in refusal.value.message
    assert refusal.value.exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\n",
        "version: 1\ngroups:\nprotected_branches:\nrules:\n",
        "version: 1\ngroups: {}\nprotected_branches: []\nrules: []\n",
    ],
)
def test_an_empty_bundle_is_valid_and_denies_everything(text):
    engine = omnigraph.PolicyEngine.from_source(text, "artworks")

    for action, facts in ACTIONS.items():
        if facts.kind is BundleKind.GRAPH:
            assert not engine.decide(action, actor="act-ines", branch="main").is_allowed


def test_the_kind_follows_from_the_binding_or_the_actions():
    listing = rule("actions: [graph_list]")

    assert parse_bundle(POLICY, name="p").kind is BundleKind.GRAPH
    assert parse_bundle(listing, name="p").kind is BundleKind.SERVER
    assert parse_bundle("version: 1\n", name="p").fits_both_kinds
    assert parse_bundle("version: 1\n", name="p", bound_to=BundleKind.SERVER).kind is BundleKind.SERVER
    assert not parse_bundle("version: 1\nkind: server\n", name="p").fits_both_kinds


@pytest.mark.parametrize("text", ["kind: server\nversion: 1\n", rule("actions: [graph_list]")])
def test_a_server_bundle_is_no_graph_bundle_and_the_reverse(text, tmp_path):
    path = tmp_path / "front.policy.yaml"
    path.write_text(text)

    with pytest.raises(PolicyInvalid, match="kind"):
        omnigraph.PolicyEngine.load_graph(path, "artworks")
    assert not omnigraph.PolicyEngine.load_server(path).decide("graph_list", actor="act-zoe").is_allowed

    path.write_text(POLICY)
    with pytest.raises(PolicyInvalid, match="kind"):
        omnigraph.PolicyEngine.load_server(path)


def test_a_server_bundle_lets_its_actors_list_graphs(tmp_path):
    path = tmp_path / "front.yaml"
    path.write_text(f"kind: server\n{rule('actions: [graph_list]')}")

    decision = omnigraph.PolicyEngine.load_server(path).decide("graph_list", actor="act-ines")

    assert decision.is_allowed
    assert decision.matched_rule == "r1"


def test_names_may_hold_whatever_cedar_would_have_to_quote():
    text = (
        "version: 1\n"
        "groups: { 'keep\"ers\\': ['act\"ines', 'a::b'] }\n"
        "rules: [{ id: 'r:\"1', allow: { actors: { group: 'keep\"ers\\' }, actions: [read] } }]\n"
    )
    engine = omnigraph.PolicyEngine.from_source(text, 'art"works')

    assert engine.decide("read", actor='act"ines').matched_rule == 'r:"1'
    assert engine.decide("read", actor="a::b").is_allowed
    assert not engine.decide("read", actor="actines").is_allowed


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(Io, match=r"nowhere\.yaml"):
        omnigraph.PolicyEngine.load_graph(tmp_path / "nowhere.yaml", "artworks")
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"\xff")
    with pytest.raises(Io, match="UTF-8"):
        omnigraph.PolicyEngine.load_graph(path, "artworks")


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/keepers.policy.yaml", "keepers"), ("keepers.yml", "keepers"), ("keepers", "keepers"), (".yaml", ".yaml")],
)
def test_a_bundle_is_called_like_its_file(path, name):
    assert bundle_name(path) == name


def test_every_action_has_its_facts():
    from omnigraph.graphs.authorizing import PolicyAction

    assert set(ACTIONS) == set(PolicyAction)
