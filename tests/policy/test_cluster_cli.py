"""`policy …  --cluster`, and writes to graphs of clusters, as people type them."""

import io
import shutil
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cluster.resources import file_digest
from support.keepers import KEEPERS, SERVER_POLICY, apply_policies
from support.program import POLICY, POLICY_TESTS, SCHEMA

pytestmark = pytest.mark.usefixtures("workplace", "seed_files")
TARGET = "museum/graphs/artworks.omni"
BLOB = f"museum/__cluster/resources/policy/keepers/{file_digest(POLICY.encode())}.yaml"
ADD = ("-e", 'query q() { insert Artist { name: "Mia" } }')
TWO_GRAPHS = {
    "keepers": (POLICY, ("graph.artworks",)),
    "readers": (POLICY.replace("act-lee", "act-mia"), ("graph.archive",)),
    "front": (SERVER_POLICY, ("cluster",)),
}
GRAPHS = ("archive", "artworks")


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pattern") / "museum"
    omnigraph.init(str(root / "graphs" / "artworks.omni"), SCHEMA)
    return root


@pytest.fixture
def museum(pattern: Path, workplace: Path) -> Path:
    """A cluster in the working directory, with one graph, its branch `draft` and its policy."""
    # A branch is made where the graph lies: with one, a graph cannot be moved.
    shutil.copytree(pattern, workplace / "museum")
    omnigraph.open(TARGET).branches.create("draft")
    apply_policies("museum")
    return workplace / "museum"


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A graph of a cluster that refuses whatever is asked of it, so that all cases can share it."""
    root = tmp_path_factory.mktemp("refusing") / "museum"
    omnigraph.init(f"{root}/graphs/artworks.omni", SCHEMA).branches.create("draft")
    apply_policies(str(root))
    return f"{root}/graphs/artworks.omni"


@pytest.fixture
def policies(workplace: Path):
    """Apply policies to a cluster in the working directory that has no graphs."""

    def apply(*arguments) -> None:
        apply_policies(str(workplace / "museum"), *arguments)

    return apply


def test_validate_looks_at_every_applied_bundle_or_at_that_of_a_graph(run, policies):
    policies(TWO_GRAPHS, GRAPHS)

    assert run("policy", "validate", "--cluster", "museum").out.splitlines() == [
        "policy valid: bundle 'front' (server, 1 actor, 1 rule)",
        "policy valid: bundle 'keepers' (graph, 3 actors, 4 rules)",
        "policy valid: bundle 'readers' (graph, 3 actors, 4 rules)",
    ]
    document = run("policy", "validate", "--cluster", "museum", "--graph", "archive", "--json").document
    assert document == {
        "ok": True,
        "bundles": [
            {"name": "readers", "kind": "graph", "applies_to": ["archive"], "actors": 3, "rules": 4, "error": None}
        ],
    }


def test_validate_says_of_each_bundle_what_is_wrong_with_it(run, policies):
    policies(TWO_GRAPHS, GRAPHS)
    Path(BLOB).unlink()

    ran = run("policy", "validate", "--cluster", "museum", "--json")

    assert ran.code == 1
    assert ran.document["ok"] is False
    errors = {bundle["name"]: bundle["error"] for bundle in ran.document["bundles"]}
    assert errors["front"] is None
    assert errors["readers"] is None
    assert "missing" in errors["keepers"]
    assert run("policy", "validate", "--cluster", "museum").out.splitlines()[1].startswith("policy invalid: ")


def test_a_question_goes_to_the_bundle_that_it_is_about(run, policies):
    policies(TWO_GRAPHS, GRAPHS)
    ask = ("policy", "explain", "--cluster", "museum", "--json", "--actor")

    def explained(*words: str) -> tuple[str, str]:
        document = run(*ask, *words).document
        return document["bundle"], document["decision"]

    assert explained("act-ines", "--graph", "artworks", "--action", "read") == ("keepers", "allow")
    assert explained("act-ines", "--action", "graph_list") == ("front", "allow")
    assert explained("act-ines", "--graph", "artworks", "--action", "graph_list") == ("front", "allow")
    assert explained("act-lee", "--action", "graph_list") == ("front", "deny")
    change = ("--action", "change", "--branch", "draft")
    assert explained("act-mia", "--graph", "archive", *change) == ("readers", "allow")
    assert explained("act-mia", "--graph", "artworks", *change) == ("keepers", "deny")


def test_tests_of_a_cluster_ask_each_case_of_its_bundle(run, policies, workplace):
    policies(TWO_GRAPHS, GRAPHS)
    listing = "  - { id: lists, actor: act-ines, action: graph_list, expect: allow }\n"
    workplace.joinpath("cases.yaml").write_text(POLICY_TESTS + listing, encoding="utf-8")
    line = ("policy", "test", "--cluster", "museum", "--tests", "cases.yaml")

    assert run(*line, "--graph", "artworks").out == "policy tests passed: 4 cases\n"
    ran = run(*line, "--graph", "archive", "--json")
    assert ran.code == 1
    assert [case["id"] for case in ran.document["cases"] if case["actual"] != case["expected"]] == ["lee-writes-side"]


REFUSED = {
    "neither": ((), 2, ("needs a cluster", "--cluster <dir|uri>", "--policy FILE")),
    "both": (("--cluster", "museum", "--policy", "art.policy.yaml"), 2, ("--cluster", "--policy")),
    "profile and file": (("--profile", "keeper", "--policy", "art.policy.yaml"), 2, ("--profile", "--policy")),
    "server profile": (("--profile", "stage"), 2, ("needs a cluster", "--cluster <dir|uri>", "server scope")),
    "store profile": (("--profile", "laptop"), 2, ("needs a cluster", "--cluster <dir|uri>", "store scope")),
    "unknown profile": (("--profile", "nope"), 2, ("'nope'", "profiles:")),
    "no ledger": (("--cluster", "elsewhere"), 1, ("no applied state", "cluster apply")),
    "server as cluster": (("--cluster", "https://x"), 2, ("https://x",)),
    "several": (("--cluster", "museum"), 2, ("2 bundles", "keepers (artworks)", "readers (archive)", "--graph <id>")),
    "unbound graph": (("--cluster", "museum", "--graph", "zoo"), 2, ("No bundle for graph zoo", "keepers (artworks)")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_source_that_cannot_be_meant_is_refused(case, run, policies, configure):
    policies(TWO_GRAPHS, GRAPHS)
    configure(
        "servers: { prod: { url: https://x } }\n"
        "profiles: { keeper: { cluster: museum }, stage: { server: prod }, laptop: { store: a.omni } }\n"
    )
    words, code, parts = REFUSED[case]

    ran = run("policy", "explain", "--actor", "act-ines", "--action", "read", *words)

    assert ran.code == code, ran.err
    assert [part for part in parts if part not in ran.err] == []


def test_a_profile_names_the_cluster_and_its_default_graph(run, policies, configure, monkeypatch):
    policies(TWO_GRAPHS, GRAPHS)
    configure("clusters: { m: { root: museum } }\nprofiles: { keeper: { cluster: m, default_graph: archive } }\n")
    ask = ("policy", "explain", "--actor", "act-ines", "--action", "read", "--json")

    assert run(*ask, "--profile", "keeper").document["bundle"] == "readers"
    assert run(*ask, "--profile", "keeper", "--graph", "artworks").document["bundle"] == "keepers"
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "keeper")
    assert run(*ask).document["bundle"] == "readers"
    assert len(run("policy", "validate", "--json").document["bundles"]) == 3
    assert run(*ask, "--policy", "art.policy.yaml").document["bundle"] == "art"


def test_a_cluster_without_policies_has_none_to_look_at(run, policies):
    policies({})

    ran = run("policy", "validate", "--cluster", "museum")

    assert ran.code == 2
    assert "none" in ran.err


WRITES = {
    "mutate": ("act-ines", ("mutate", *ADD, "--branch", "draft")),
    "load": ("act-ines", ("load", "--data", "more.jsonl", "--mode", "merge", "--branch", "draft")),
    "load that forks": (
        "act-lee",
        ("load", "--data", "more.jsonl", "--mode", "merge", "--branch", "new", "--from", "main"),
    ),
    "ingest": ("act-ines", ("ingest", "--data", "more.jsonl", "--branch", "draft")),
    "embed": ("act-ines", ("embed", "--branch", "draft")),
    "branch create": ("act-lee", ("branch", "create", "review")),
    "branch delete": ("act-ines", ("branch", "delete", "draft")),
    "branch merge": ("act-lee", ("branch", "merge", "draft")),
    "branch merge --delete-branch": ("act-ines", ("branch", "merge", "draft", "--delete-branch")),
    "schema apply": ("act-lee", ("schema", "apply", "--schema", "art.pg")),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_that_is_not_granted_ends_with_6_and_leaves_the_graph_as_it_was(write, run, refusing):
    refused, words = WRITES[write]

    for actor in (refused, "act-zoe"):
        ran = run(*words, "--uri", refusing, "--as", actor, "--json")

        assert ran.code == 6, ran.err
        assert ran.document["kind"] == "policy_denied"
        assert f"actor '{actor}'" in ran.err
    graph = omnigraph.open(refusing, read_only=True)
    assert sorted(branch.name for branch in graph.branches.list()) == ["draft", "main"]
    assert [len(graph.commits(branch=branch)) for branch in ("main", "draft")] == [1, 1]


def test_what_is_granted_is_written_and_the_commit_has_the_actor_who_was_asked_about(run, museum, configure):
    assert run("mutate", TARGET, *ADD, "--branch", "draft", "--as", "act-lee").code == 0
    configure("operator: { actor: act-ines }")
    assert run("branch", "merge", "draft", TARGET).code == 0

    commits = run("commit", "list", TARGET, "--json").document["commits"]
    assert [commit["actor_id"] for commit in commits[:1]] == ["act-ines"]
    drafted = run("commit", "list", TARGET, "--branch", "draft", "--json").document["commits"]
    assert drafted[0]["actor_id"] == "act-lee"


def test_the_flag_wins_over_the_configured_actor(run, museum, configure):
    configure("operator: { actor: act-lee }")

    assert run("mutate", TARGET, *ADD, "--branch", "draft", "--as", "act-ines").code == 6
    assert run("mutate", TARGET, *ADD, "--branch", "draft").code == 0


@pytest.mark.parametrize("address", [TARGET, f"./{TARGET}/", "file"])
def test_the_policy_is_found_however_the_graph_is_addressed(address, run, museum, configure):
    uri = f"file://{museum}/graphs/artworks.omni" if address == "file" else address
    configure(f"profiles: {{ art: {{ store: '{uri}' }} }}")

    for words in (("--store", uri), (uri,), ("--profile", "art")):
        assert run("mutate", *ADD, *words, "--as", "act-zoe").code == 6


def test_nobody_is_warned_on_this_machine_and_the_write_proceeds(run, museum):
    ran = run("mutate", TARGET, *ADD)

    assert ran.code == 0
    assert ran.err.startswith("warning: the policy 'keepers' of ")
    assert "--as <actor>" in ran.err


@pytest.mark.s3
def test_nobody_is_refused_on_shared_storage(run, s3_root):
    root = f"{s3_root}/museum"
    omnigraph.init(f"{root}/graphs/artworks.omni", SCHEMA)
    apply_policies(root, KEEPERS)

    ran = run("mutate", f"{root}/graphs/artworks.omni", *ADD, "--json")

    assert ran.code == 6
    assert ran.document["kind"] == "policy_denied"
    assert all(words in ran.err for words in ("no actor", "--as", "operator.actor"))
    assert run("policy", "validate", "--cluster", root).code == 0


@pytest.mark.parametrize("state", ["missing", "altered"])
def test_a_lost_policy_is_exit_1_for_whoever_has_a_name_and_stops_no_maintenance(state, run, museum):
    if state == "missing":
        Path(BLOB).unlink()
    else:
        Path(BLOB).write_text("version: 1\n", encoding="utf-8")

    ran = run("mutate", TARGET, *ADD, "--as", "act-lee", "--branch", "draft", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "policy_unavailable"
    assert all(words in ran.err for words in ("cluster refresh", "cluster apply"))
    for line in (("repair", TARGET), ("optimize", TARGET), ("cleanup", TARGET), ("recover", TARGET)):
        assert run(*line).code == 0


def test_a_question_in_the_shell_is_judged_too(run, refusing, monkeypatch):
    lines = io.TextIOWrapper(io.BytesIO(f"{ADD[1]}\n".encode()))
    monkeypatch.setattr(sys, "stdin", lines)

    ran = run("shell", refusing, "--as", "act-zoe")

    assert "policy denied action 'change'" in ran.err
