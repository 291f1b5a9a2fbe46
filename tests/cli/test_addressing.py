"""The addressing tables of the command line, row by row: what is typed, what it is answered, and the exit code.

Whatever a refusal advises, the command that refuses can do: each flag in its text is one that it takes.
"""

import json
import re

import pytest

from omnigraph.cli.app import _load_command
from omnigraph.cli.params import GlobalOption
from omnigraph.verbs.table import VERBS

CONFIG = """
servers: { prod: { url: "https://graph.example.org/" } }
clusters: { museum: { root: CLUSTER } }
profiles:
  stage: { server: prod, default_graph: artworks }
  keeper: { cluster: museum, default_graph: artworks }
  laptop: { store: laptop.omni }
  both: { server: prod, store: laptop.omni }
  empty: {}
"""
SERVER_DEFAULT = CONFIG + "defaults: { server: prod }\n"
STORE_DEFAULT = CONFIG + "defaults: { store: home.omni }\n"
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z_-]*[a-z]")

REMOTE = "https://ines:secret@graph.example.org/graphs/art?token=x"
QUERY = ("query", "-e", "query q() { match { $a: Artist } return { $a.name } }")
LOAD = ("load", "--data", "d.jsonl", "--mode", "merge")

# Each row: the operator config, what is typed, the exit code, and what stderr has to say.
REFUSALS: dict[str, tuple[str, tuple[str, ...], int, tuple[str, ...]]] = {
    # 2.2 and 2.3
    "guard-direct": (
        "operator: [",
        ("optimize", "--server", "prod"),
        2,
        (
            (
                "error: `optimize` is a direct (storage-native) command: --server picks a served graph and does not "
                "apply. Give it a storage URI, or --cluster <dir> --graph <id>."
            ),
        ),
    ),
    "guard-data": (
        "operator: [",
        (*QUERY, "--cluster", "./museum"),
        2,
        ("error: `query` is a data command: --cluster picks a cluster-scoped command's target and does not apply.\n",),
    ),
    "guard-write-as": ("", ("optimize", "g.omni", "--as", "a"), 2, ("--as names the actor of a direct write",)),
    "guard-old-spelling": ("", ("version", "--cluster-graph", "g"), 2, ("--cluster-graph", "does not apply")),
    "remote-direct": (
        "",
        ("cleanup", REMOTE, "--keep", "10", "--confirm"),
        2,
        (
            (
                "error: `cleanup` is a direct (storage-native) command: it needs direct storage access and cannot work "
                "through the remote server https://graph.example.org/graphs/art. Name the graph by its file:// or "
                "s3:// URI."
            ),
        ),
    ),
    "remote-any": (
        "",
        ("snapshot", "http://127.0.0.1:8080"),
        2,
        (
            (
                "error: an http(s):// URL given as a graph URI does not reach a server; address the remote graph with "
                "--server <url>."
            ),
        ),
    ),
    "remote-store": ("", (*LOAD, "--store", REMOTE), 2, ("does not reach a server", "--server <url>")),
    "remote-uri": ("", ("branch", "list", "--uri", REMOTE), 2, ("does not reach a server",)),
    "remote-init": ("", ("init", "--schema", "s.pg", REMOTE), 2, ("`init` is a direct", "file:// or s3://")),
    "remote-profile": ("profiles: { p: { store: 'http://x' } }", ("health", "--profile", "p"), 64, ("remote server",)),
    # 3.1
    "two-addresses": ("", ("snapshot", "a.omni", "--store", "b.omni"), 2, ("a positional URI and --store", "mutually")),
    "three-addresses": (
        "",
        ("optimize", "a.omni", "--uri", "b.omni", "--cluster", "c"),
        2,
        ("a positional URI and --uri and --cluster, which are mutually exclusive",),
    ),
    "target-and-another": (
        "",
        ("snapshot", "--target", "a", "--server", "b"),
        2,
        ("--server and --target", "mutually"),
    ),
    "unknown-profile": (CONFIG, ("snapshot", "--profile", "nope"), 2, ("'nope'", "`profiles:`", "laptop")),
    "nothing-any": (
        "",
        ("snapshot",),
        2,
        ("no graph addressed", "--store <uri>", "--server <name|url>", "--profile <name>", "config.yaml"),
    ),
    "nothing-direct": ("", ("optimize",), 2, ("no graph addressed", "--store", "--cluster <dir> --graph <id>")),
    "nothing-plan": ("", ("schema", "plan", "--schema", "s.pg"), 2, ("no graph addressed", "give --profile <name>,")),
    "nothing-lint": ("", ("lint", "--query", "QUERY"), 2, ("no graph addressed", "--schema FILE")),
    "nothing-init": (STORE_DEFAULT, ("init", "--schema", "s.pg"), 2, ("`init` needs the storage URI", "--store <uri>")),
    # 3.2
    "a-profile": (
        CONFIG,
        ("optimize", "--profile", "stage"),
        2,
        ("direct storage access", "profile 'stage'", "--store <uri>", "--cluster <dir> --graph <id>"),
    ),
    "a-defaults": (SERVER_DEFAULT, ("optimize",), 2, ("direct storage access", "operator defaults")),
    "a-plan": (CONFIG, ("schema", "plan", "--schema", "s.pg", "--profile", "stage"), 2, ("direct storage access",)),
    "a-plan-cluster": (
        CONFIG,
        ("schema", "plan", "--schema", "s.pg", "--profile", "keeper"),
        2,
        ("cluster scope", "--store <uri>"),
    ),
    "b": (
        CONFIG,
        ("snapshot", "--profile", "keeper"),
        2,
        ("cluster scope", "not valid for graph data commands", "--server", "--store <uri>"),
    ),
    "profile-both": (CONFIG, ("snapshot", "--profile", "both"), 2, ("'both'", "server, store")),
    "profile-empty": (CONFIG, ("snapshot", "--profile", "empty"), 2, ("'empty'", "none")),
    # 3.3
    "single-uri": ("", ("snapshot", "a.omni", "--graph", "g"), 2, ("already a single graph",)),
    "single-store": ("", ("optimize", "--store", "a.omni", "--graph", "g"), 2, ("already a single graph",)),
    "single-profile": (CONFIG, ("snapshot", "--profile", "laptop", "--graph", "g"), 2, ("already a single graph",)),
    "single-default": (STORE_DEFAULT, ("snapshot", "--graph", "g"), 2, ("already a single graph",)),
    # 3.4
    "several": (CONFIG, ("optimize", "--cluster", "museum"), 2, ("`museum` holds 2 graphs, [archive, artworks]",)),
    "not-applied": (
        CONFIG,
        ("optimize", "--cluster", "museum", "--graph", "artworkz"),
        1,
        (
            "graph `artworkz` is not applied in cluster `",
            "Applied: [archive, artworks].",
            "cluster.yaml",
            "cluster apply",
        ),
    ),
    "no-ledger": ("", ("health", "--cluster", "elsewhere"), 70, ("no applied state", "cluster apply")),
    # 3.5 and 4.2
    "unknown-server": (CONFIG, ("snapshot", "--server", "prud"), 2, ("'prud'", "`servers:`", "prod")),
    "served-actor": (
        CONFIG,
        (*LOAD, "--server", "prod", "--as", "act-x"),
        2,
        ("--as", "bearer token", "--store <uri>"),
    ),
    "served-engine": (CONFIG, (*LOAD, "--server", "prod", "--engine", "local"), 2, ("the server decides where",)),
    "system-actor": ("", (*LOAD, "g.omni", "--as", "omnigraph:repair"), 2, ("omnigraph:repair",)),
    # 3.6
    "cluster-graph-alone": ("", ("optimize", "g.omni", "--cluster-graph", "g"), 2, ("needs a cluster scope",)),
    "cluster-graph-twice": (
        CONFIG,
        ("optimize", "--cluster", "museum", "--graph", "artworks", "--cluster-graph", "artworks"),
        2,
        ("--cluster-graph is deprecated", "give --graph alone"),
    ),
    "target-unknown": (CONFIG, ("snapshot", "--target", "nope"), 2, ("laptop", "prod", "museum")),
    "target-server": (
        CONFIG,
        ("optimize", "--target", "prod"),
        2,
        ("warning: --target is deprecated; treated as --server prod\n", "remote server https://graph.example.org"),
    ),
    "target-cluster": (
        CONFIG,
        ("snapshot", "--target", "museum"),
        2,
        ("treated as --cluster museum", "does not apply"),
    ),
    "query-alias": ("", ("query", "--alias", "overdue"), 2, ("`omnigraph alias <name>`",)),
    "mutate-alias": ("", ("mutate", "--alias", "overdue"), 2, ("`omnigraph alias <name>`",)),
    "config-data": ("", ("snapshot", "--config", "x"), 2, ("--store <uri> or --server <name|url>", "operator config")),
    "config-direct": ("", ("health", "--config", "x"), 64, ("--store <uri> or --cluster <dir|uri>", "operator config")),
    "config-local": ("", ("version", "--config", "x"), 2, ("settings come from the operator config",)),
    # 4
    "broken-config": ("operator: [", ("snapshot", "g.omni"), 2, ("operator config", "config.yaml")),
    "two-defaults": ("defaults: { server: a, store: b }", ("snapshot",), 2, ("defaults.server and defaults.store",)),
    "default-graph": ("defaults: { store: b, default_graph: g }", ("snapshot",), 2, ("defaults.default_graph",)),
    # 9
    "not-bulk": ("", ("snapshot", "g.omni", "--engine", "spark"), 2, ("bulk",)),
}

# Each row: the operator config, what is typed, and the one line that says what to type instead.
DEPRECATIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "cluster-graph": (
        CONFIG,
        ("health", "--cluster", "museum", "--cluster-graph", "artworks"),
        "warning: --cluster-graph is deprecated; use --graph",
    ),
    "target-profile": (
        CONFIG,
        ("snapshot", "--target", "laptop"),
        "warning: --target is deprecated; treated as --profile",
    ),
    "target-store": ("", ("snapshot", "--target", "."), "warning: --target is deprecated; treated as --store ."),
    "read": ("", ("read", *QUERY[1:], "g.omni"), "warning: `read` is deprecated; use `omnigraph query`"),
    "change": ("", ("change", *QUERY[1:], "g.omni"), "warning: `change` is deprecated; use `omnigraph mutate`"),
    "check": ("", ("check", "--query", "QUERY", "g.omni"), "warning: `check` is deprecated; use `omnigraph lint`"),
    "query lint": (
        "",
        ("query", "lint", "--query", "QUERY", "g.omni"),
        "warning: `query lint` is deprecated; use `omnigraph lint`",
    ),
    "query check": (
        "",
        ("query", "check", "--query", "QUERY", "g.omni"),
        "warning: `query check` is deprecated; use `omnigraph lint`",
    ),
    "ingest": ("", ("ingest", "--data", "d.jsonl", "g.omni"), "warning: `ingest` is deprecated; use `omnigraph load`"),
    "export --jsonl": ("", ("export", "--jsonl", "g.omni"), "export always emits NDJSON"),
    "--name": ("", (*QUERY, "--name", "q", "g.omni"), "--name is deprecated; use the positional form, `query q`"),
    "--reembed_all": ("", ("embed", "--reembed_all", "g.omni"), "--reembed-all"),
    "profile-ignored": (
        CONFIG,
        ("snapshot", "--store", "g.omni", "--profile", "laptop"),
        "warning: --profile 'laptop' ignored because --store was given",
    ),
}


@pytest.fixture
def prepare(workplace, configure):
    """Write the configuration, with a cluster of two graphs and a query file beside it; return the typed words."""

    def write(config: str, words: tuple[str, ...]) -> tuple[str, ...]:
        museum = workplace / "museum"
        museum.joinpath("__cluster").mkdir(parents=True)
        resources = {"graph.artworks": {"digest": "00"}, "graph.archive": {"digest": "00"}}
        ledger = {"version": 1, "applied_revision": {"config_digest": None, "resources": resources}}
        museum.joinpath("__cluster/state.json").write_text(json.dumps(ledger), encoding="utf-8")
        workplace.joinpath("q.gq").write_text(QUERY[2], encoding="utf-8")
        if config:
            configure(config.replace("CLUSTER", str(museum)))
        return tuple("q.gq" if word == "QUERY" else word for word in words)

    return write


def flags_taken(typed: tuple[str, ...]) -> set[str]:
    """Return every flag that the command of a line can use."""
    old = {"read": "query", "change": "mutate", "check": "lint", "ingest": "load"}
    words = {old.get(typed[0], typed[0]), " ".join(typed[:2])}
    row = next(row for row in VERBS if row.words in words)
    return {
        flag
        for option in _load_command(row).params
        if not isinstance(option, GlobalOption) or option.applies_to(row)
        for flag in (*option.opts, *option.secondary_opts)
    }


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_what_is_wrong_and_advises_only_what_the_command_takes(case, run, prepare):
    config, words, code, parts = REFUSALS[case]
    typed = prepare(config, words)

    ran = run(*typed)

    assert ran.code == code, ran.err
    assert ran.out == ""
    assert [part for part in parts if part not in ran.err] == []
    assert "secret" not in ran.err
    assert "token=" not in ran.err
    error = next(line for line in ran.err.splitlines() if line.startswith("error: "))
    assert error == error.rstrip()
    advised = set(_FLAG.findall(re.sub(r"`omnigraph [^`]*`", "", error)))
    refused = {word for word in typed if word.startswith("--")} | ({"--cluster"} if case == "target-cluster" else set())
    assert advised - flags_taken(typed) - refused <= {"--help"}


@pytest.mark.parametrize("case", DEPRECATIONS)
def test_a_deprecated_spelling_is_one_line_and_then_behaves_like_its_replacement(case, run, prepare):
    config, words, line = DEPRECATIONS[case]

    ran = run(*prepare(config, words))

    assert [text for text in ran.err.splitlines() if line in text] != []
    assert ran.err.count("warning: ") == 1
    assert "does not apply" not in ran.err
    assert ran.code in {1, 70}, "there is no such graph, which is found out by the command that was meant"


def test_an_ambient_profile_is_ignored_where_none_is_taken(run, seed_files, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "nope")

    assert run("init", "--schema", "art.pg", "g.omni").code == 0
    assert run("version").code == 0


def test_ingest_is_a_load_that_merges_into_a_branch_of_main(run, art):
    ran = run("ingest", art, "--data", "more.jsonl", "--branch", "review", "--json")

    assert ran.code == 0
    assert (ran.document["mode"], ran.document["base_branch"], ran.document["branch_created"]) == (
        "merge",
        "main",
        True,
    )
