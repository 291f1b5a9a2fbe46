"""The matrix of commands and addressing flags, cell by cell, and the words of the refusals."""

import itertools
import re

import pytest

from omnigraph.verbs.table import VERBS

FLAGS = ("--server", "--cluster", "--graph", "--store", "--as", "--profile")
DATA_READ = {"--store", "--server", "--graph", "--profile"}
CONTROL = {"--cluster", "--graph", "--profile"}
MAINTENANCE = {"--store", "--cluster", "--graph", "--profile"}

# What each command accepts, restated from the contract rather than read from the table under test.
ACCEPTED = {
    "init": {"--store"},
    "load": {*DATA_READ, "--as"},
    "ingest": {*DATA_READ, "--as"},
    "blob get": DATA_READ,
    "blob stat": DATA_READ,
    "export": DATA_READ,
    "snapshot": DATA_READ,
    "spark-sql": {"--store", "--profile"},
    "query": DATA_READ,
    "read": DATA_READ,
    "mutate": {*DATA_READ, "--as"},
    "change": {*DATA_READ, "--as"},
    "shell": {*DATA_READ, "--as"},
    "commit list": DATA_READ,
    "commit show": DATA_READ,
    "commit changes": DATA_READ,
    "changes poll": DATA_READ,
    "changes baseline": DATA_READ,
    "schema show": DATA_READ,
    "schema get": DATA_READ,
    "schema plan": {"--store", "--profile"},
    "schema apply": {*DATA_READ, "--as"},
    "lint": MAINTENANCE,
    "check": MAINTENANCE,
    "fmt": set(),
    "branch create": {*DATA_READ, "--as"},
    "branch list": DATA_READ,
    "branch diff": DATA_READ,
    "branch delete": {*DATA_READ, "--as"},
    "repair": MAINTENANCE,
    "health": MAINTENANCE,
    "verify": MAINTENANCE,
    "cleanup": MAINTENANCE,
    "branch merge": {*DATA_READ, "--as"},
    "optimize": MAINTENANCE,
    "maintain": MAINTENANCE,
    "recover": MAINTENANCE,
    "embed": {*MAINTENANCE, "--as"},
    "policy validate": CONTROL,
    "policy test": CONTROL,
    "policy explain": CONTROL,
    "cluster validate": set(),
    "cluster plan": set(),
    "cluster apply": {"--as"},
    "cluster approve": {"--as"},
    "cluster status": set(),
    "cluster refresh": set(),
    "cluster import": set(),
    "cluster force-unlock": set(),
    "queries list": {"--cluster", "--graph", "--profile"},
    "queries validate": {"--cluster", "--graph", "--profile"},
    "alias": set(),
    "login": set(),
    "logout": set(),
    "profile list": set(),
    "profile show": set(),
    "doctor": set(),
    "serve": {"--cluster"},
    "graphs list": {"--server", "--profile"},
    "mcp": {*DATA_READ, "--as", "--cluster"},
    "ui": {*DATA_READ, "--as", "--cluster"},
    "completion": set(),
    "version": set(),
}
BULK = {
    "load",
    "ingest",
    "query",
    "read",
    "export",
    "embed",
    "branch merge",
    "optimize",
    "cleanup",
    "verify",
    "maintain",
    "spark-sql",
}
CLASS_PHRASE = (
    dict.fromkeys(
        (
            "init",
            "lint",
            "check",
            "optimize",
            "maintain",
            "repair",
            "health",
            "verify",
            "cleanup",
            "recover",
            "embed",
            "schema plan",
            "spark-sql",
        ),
        "direct (storage-native)",
    )
    | dict.fromkeys(
        (
            "load",
            "ingest",
            "blob get",
            "blob stat",
            "mcp",
            "ui",
            "query",
            "read",
            "mutate",
            "change",
            "shell",
            "export",
            "snapshot",
            "commit list",
            "commit show",
            "commit changes",
            "changes poll",
            "changes baseline",
            "schema show",
            "schema get",
            "schema apply",
            "branch create",
            "branch list",
            "branch diff",
            "branch delete",
            "branch merge",
        ),
        "data",
    )
    | dict.fromkeys(
        ("serve", *(words for words in ACCEPTED if words.startswith(("cluster ", "policy ", "queries ")))),
        "cluster control",
    )
    | {"graphs list": "served"}
)
WRONG_INVOCATION = {"health": 64, "verify": 64}
"""Low exit codes of `health` and `verify` speak of the graph."""
PURPOSE = {
    "--server": "a served graph",
    "--cluster": "a cluster-scoped command",
    "--graph": "a graph inside a server or cluster",
    "--store": "one graph's storage",
    "--as": "the actor of a direct write or attributed cluster operation",
    "--profile": "a scope bundle",
}
CELLS = list(itertools.product(ACCEPTED, FLAGS))
REFUSED = [(command, flag) for command, flag in CELLS if flag not in ACCEPTED[command] and command != "alias"]
CONSUMED = [(command, flag) for command, flag in CELLS if flag in ACCEPTED[command]]


def test_the_matrix_covers_every_command():
    old = {" ".join(filter(None, (row.group, row.alias))) for row in VERBS if row.alias}
    spellings = {row.words for row in VERBS} | old

    assert spellings == set(ACCEPTED)


@pytest.mark.parametrize(("command", "flag"), REFUSED)
def test_a_flag_outside_the_matrix_is_refused_before_the_config_is_read(command, flag, run, configure):
    configure("operator: [")

    ran = run(*command.split(), flag, "value")

    assert ran.code == WRONG_INVOCATION.get(command, 2)
    assert ran.out == ""
    phrase = CLASS_PHRASE.get(command, "local")
    assert ran.err.startswith(f"error: `{command}` is a {phrase} command: {flag} ")
    assert PURPOSE[flag] in ran.err
    assert "does not apply" in ran.err
    assert ran.err.count("\n") == 1
    assert not ran.err.removesuffix("\n").endswith(" ")
    assert set(re.findall(r"--[a-z-]+", ran.err)) - {flag} <= ACCEPTED[command] | {"--config"}, "advises what it takes"
    if phrase == "direct (storage-native)":
        assert "storage URI" in ran.err
        assert ("--cluster <dir> --graph <id>" in ran.err) is ("--cluster" in ACCEPTED[command])
    elif phrase == "local":
        assert "does not address a graph" in ran.err
    elif phrase == "served":
        assert ran.err.endswith("Use --server <name|url> or --profile <name>.\n")
    elif phrase == "cluster control":
        takes_cluster = "--cluster" in ACCEPTED[command]
        assert ran.err.endswith("Use --cluster <dir|uri>.\n" if takes_cluster else "Use --config <dir>.\n")
    else:
        assert ran.err.endswith("does not apply.\n")


@pytest.mark.parametrize(("command", "flag"), CONSUMED)
def test_a_flag_inside_the_matrix_passes_the_guard(command, flag, run):
    ran = run(*command.split(), flag, "value")

    assert ran.code != 0
    assert "does not apply" not in ran.err.replace("--graph does not apply", "")


@pytest.mark.parametrize("command", ["profile list", "doctor", "version"])
def test_a_positional_uri_is_refused_where_none_is_taken(command, run):
    assert run(*command.split(), "art.omni").code == 2


@pytest.mark.parametrize("flag", ["--uri", "--target", "--cluster-graph"])
def test_further_spellings_of_addresses_are_refused_like_the_flags_they_stand_for(flag, run):
    ran = run("version", flag, "value")

    assert ran.code == 2
    assert f"{flag} picks" in ran.err
    assert "does not apply" in ran.err


def test_only_the_first_foreign_flag_in_the_fixed_order_is_reported(run):
    ran = run("version", "--profile", "p", "--as", "a", "--store", "s", "--graph", "g", "--cluster", "c")

    assert "--cluster" in ran.err
    assert "--profile" not in ran.err


def test_a_foreign_flag_is_reported_before_a_missing_argument(run):
    assert "does not apply" in run("commit", "show", "--cluster", "museum").err


@pytest.mark.parametrize("position", range(3))
def test_global_flags_stand_before_between_and_after_the_words(position, run):
    words = ["schema", "get"]
    words[position:position] = ["--cluster", "museum"]

    assert run(*words).err.startswith("error: `schema get` is a data command: --cluster ")


def test_the_error_document_of_a_refusal_names_command_class_and_flag(run):
    ran = run("init", "--server", "prod", "--json")

    assert ran.code == 2
    assert ran.document["kind"] == "addressing"
    assert ran.document["addressing"] == {"command": "init", "class": "direct", "flag": "--server"}
    assert ran.document["error"] in ran.err


@pytest.mark.parametrize("flag", [("--engine", "local"), ("--spark-master", "local[2]"), ("--spark-ui",)])
@pytest.mark.parametrize("command", [name for name in ACCEPTED if name not in BULK])
def test_engine_flags_are_for_bulk_commands(command, flag, run):
    ran = run(*command.split(), *flag)

    assert ran.code == WRONG_INVOCATION.get(command, 2)
    assert "bulk" in ran.err
    assert flag[0] in ran.err


def test_an_empty_address_is_refused(run):
    ran = run("snapshot", "--store", " ")

    assert ran.code == 2
    assert "--store is empty" in ran.err
