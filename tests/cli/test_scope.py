"""How a run finds its graph: addresses, profiles, environment, defaults, clusters and old spellings."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph import errors
from omnigraph.cli.flags import RunningCommand
from omnigraph.cli.guard import does_not_apply
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import StorageTarget, resolve_storage
from omnigraph.verbs.table import AddressFlag, CommandClass, Verb

CONFIG = """
servers:
  prod: { url: https://graph.example.org/ }
clusters:
  museum: { root: MUSEUM }
profiles:
  stage: { server: prod, default_graph: artworks }
  keeper: { cluster: museum, default_graph: artworks }
  laptop: { store: laptop.omni }
  both: { server: prod, store: laptop.omni }
  empty: {}
"""

MAINTENANCE = Verb(
    words="optimize",
    command_class=CommandClass.DIRECT,
    accepts=frozenset({AddressFlag.STORE, AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE}),
)
SCHEMA_PLAN = replace(MAINTENANCE, words="schema plan", accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}))
GRAPHS_LIST = Verb(
    words="graphs list",
    command_class=CommandClass.SERVED,
    accepts=frozenset({AddressFlag.SERVER, AddressFlag.PROFILE}),
)
POLICY = Verb(
    words="policy validate",
    command_class=CommandClass.CONTROL,
    accepts=frozenset({AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE}),
)


@pytest.fixture
def museum(workplace: Path, configure) -> Path:
    """A cluster directory called `museum` in the operator config; nothing is applied yet."""
    directory = workplace / "museum"
    directory.joinpath("__cluster").mkdir(parents=True)
    configure(CONFIG.replace("MUSEUM", str(directory)))
    return directory


def apply_graphs(museum: Path, *graph_ids: str) -> None:
    resources = {f"graph.{graph_id}": {"digest": "00"} for graph_id in graph_ids}
    ledger = {"version": 1, "applied_revision": {"config_digest": None, "resources": resources}}
    museum.joinpath("__cluster/state.json").write_text(json.dumps(ledger), encoding="utf-8")


def resolve(row: Verb, environ=None, **flags) -> StorageTarget:
    """Resolve for a command that has this row; for classes whose commands are not there yet."""
    invocation = Invocation(argv=(), environ={**os.environ, **(environ or {})})
    invocation.command = RunningCommand(verb=row, typed=row.words)
    for name, value in flags.items():
        setattr(invocation.flags, name, value)
    return resolve_storage(invocation)


def test_nothing_addressed_names_every_way_to_address_a_graph(run):
    ran = run("snapshot")

    assert ran.code == 2
    for words in ("no graph addressed", "--store", "--server", "--profile", "config.yaml"):
        assert words in ran.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a.omni", "--store", "b.omni"), ("a positional URI", "--store")),
        (("a.omni", "--uri", "b.omni"), ("a positional URI", "--uri")),
        (("--store", "b.omni", "--server", "prod"), ("--store", "--server")),
        (("--target", "b.omni", "--store", "c.omni"), ("--store", "--target")),
    ],
)
def test_two_addresses_are_mutually_exclusive(arguments, named, run):
    ran = run("snapshot", *arguments)

    assert ran.code == 2
    assert "mutually exclusive" in ran.err
    assert " and ".join(named) in ran.err


@pytest.mark.parametrize("address", [("a.omni",), ("--store", "a.omni"), ("--profile", "laptop")])
def test_graph_is_refused_where_the_scope_is_one_graph_already(address, run, museum):
    ran = run("snapshot", *address, "--graph", "g")

    assert ran.code == 2
    assert "already a single graph" in ran.err


def test_graph_is_refused_with_a_default_store(run, configure):
    configure("defaults: { store: a.omni }")

    assert "already a single graph" in run("snapshot", "--graph", "g").err


def test_an_unknown_profile_is_named(run, museum):
    ran = run("snapshot", "--profile", "nope")

    assert ran.code == 2
    assert "nope" in ran.err
    assert "profiles:" in ran.err


@pytest.mark.parametrize(("profile", "found"), [("both", "server, store"), ("empty", "none")])
def test_a_profile_with_none_or_several_bindings_fails_when_it_is_used(profile, found, run, museum):
    ran = run("snapshot", "--profile", profile)

    assert ran.code == 2
    assert f"'{profile}'" in ran.err
    assert found in ran.err


def test_an_explicit_address_beats_a_typed_profile_with_a_warning(run, museum):
    ran = run("snapshot", "--store", "absent.omni", "--profile", "laptop")

    assert ran.err.startswith("warning: --profile 'laptop' ignored because --store was given\n")


@pytest.mark.parametrize(
    ("environ", "uri"),
    [
        ({}, "defaults.omni"),
        ({"OMNIGRAPH_STORE": ""}, "defaults.omni"),
        ({"OMNIGRAPH_STORE": "environment.omni"}, "environment.omni"),
        ({"OMNIGRAPH_STORE": "environment.omni", "OMNIGRAPH_PROFILE": "laptop"}, "laptop.omni"),
    ],
)
def test_profile_beats_environment_beats_defaults(environ, uri, configure):
    configure("profiles: { laptop: { store: laptop.omni } }\ndefaults: { store: defaults.omni }")

    assert resolve(MAINTENANCE, environ).uri == uri


def test_an_explicit_address_beats_everything_ambient(configure):
    configure("defaults: { store: defaults.omni }")

    target = resolve(MAINTENANCE, {"OMNIGRAPH_STORE": "environment.omni"}, store="typed.omni")

    assert target.uri == "typed.omni"


@pytest.mark.parametrize(
    ("row", "flags", "content"),
    [
        (
            MAINTENANCE,
            {"profile": "stage"},
            ("direct storage access", "profile 'stage'", "--store <uri>", "--cluster <dir> --graph <id>"),
        ),
        (GRAPHS_LIST, {"profile": "keeper"}, ("requires a server", "cluster scope", "cluster status")),
        (GRAPHS_LIST, {"profile": "laptop"}, ("requires a server", "store scope")),
        (POLICY, {"profile": "stage"}, ("needs a cluster", "--cluster <dir|uri>")),
        (POLICY, {"profile": "laptop"}, ("needs a cluster", "--cluster <dir|uri>")),
        (SCHEMA_PLAN, {"profile": "keeper"}, ("cluster scope", "--store <uri>")),
    ],
)
def test_a_binding_of_the_wrong_kind_is_refused(row, flags, content, museum):
    with pytest.raises(errors.Addressing) as refusal:
        resolve(row, **flags)

    for words in content:
        assert words in refusal.value.message


def test_a_direct_command_names_the_defaults_that_point_to_a_server(configure):
    configure("servers: { prod: { url: https://x } }\ndefaults: { server: prod }")

    with pytest.raises(errors.Addressing, match=r"direct storage access.*operator defaults"):
        resolve(MAINTENANCE)


def test_a_cluster_scope_is_not_for_data_commands(run, museum):
    ran = run("snapshot", "--profile", "keeper")

    assert ran.code == 2
    for words in ("cluster scope", "not valid for graph data commands", "--server", "--store <uri>"):
        assert words in ran.err


def test_an_unknown_server_lists_the_defined_ones(run, museum):
    ran = run("snapshot", "--server", "stag")

    assert ran.code == 2
    assert "servers:" in ran.err
    assert "prod" in ran.err


@pytest.mark.parametrize("address", [("--server", "http://127.0.0.1:1"), ("--server", "http://127.0.0.1:1/base/")])
def test_a_server_that_is_not_there_is_named_with_its_port(address, run):
    ran = run("snapshot", *address)

    assert ran.code == 8
    assert "127.0.0.1:1 could not be reached" in ran.err


def test_an_actor_on_a_served_write_is_refused_before_the_server_is_looked_up(run):
    ran = run("load", "--server", "prod", "--as", "act-x", "--data", "d.jsonl", "--mode", "merge")

    assert ran.code == 2
    for words in ("--as", "bearer token", "--store <uri>"):
        assert words in ran.err


def test_engine_flags_on_a_served_target_are_refused(run, museum):
    ran = run("load", "--server", "prod", "--engine", "local", "--data", "d.jsonl", "--mode", "merge")

    assert ran.code == 2
    assert "the server decides where its work runs" in ran.err


@pytest.mark.parametrize("address", [("http://127.0.0.1:8080",), ("--store", "HTTPS://x/y"), ("--uri", "http://x")])
def test_an_http_uri_does_not_reach_a_server_from_a_data_command(address, run):
    ran = run("snapshot", *address)

    assert ran.code == 2
    assert "--server <url>" in ran.err
    assert "does not reach a server" in ran.err


def test_an_http_uri_is_no_storage_for_a_direct_command(run):
    ran = run("init", "--schema", "art.pg", "https://ines:secret@graph.example.org/graphs/art?token=x")

    assert ran.code == 2
    for words in (
        "`init`",
        "direct (storage-native)",
        "needs direct storage access",
        "remote server https://graph.example.org/graphs/art",
        "file:// or s3://",
    ):
        assert words in ran.err
    assert "secret" not in ran.err
    assert "token" not in ran.err


class TestClusterScope:
    def test_the_only_applied_graph_is_taken(self, museum):
        apply_graphs(museum, "artworks")

        target = resolve(MAINTENANCE, cluster=str(museum))

        assert target == StorageTarget(uri=f"{museum}/graphs/artworks.omni", name="artworks", is_looked_up=True)
        assert target.access == "direct, local"

    def test_several_graphs_must_be_chosen_from(self, museum):
        apply_graphs(museum, "artworks", "archive", "zoo")

        with pytest.raises(errors.Addressing) as refusal:
            resolve(MAINTENANCE, cluster="museum")

        for words in ("`museum` holds 3 graphs", "[archive, artworks, zoo]", "--graph <id>"):
            assert words in refusal.value.message

    def test_no_applied_graph_points_to_cluster_apply(self, museum):
        apply_graphs(museum)

        with pytest.raises(errors.OmniError, match=r"museum.*no applied graphs.*cluster apply") as refusal:
            resolve(MAINTENANCE, cluster="museum")

        assert refusal.value.exit_code == 1

    def test_the_profile_brings_its_default_graph_and_graph_overrides_it(self, museum):
        apply_graphs(museum, "artworks", "archive")

        assert resolve(MAINTENANCE, profile="keeper").name == "artworks"
        assert resolve(MAINTENANCE, profile="keeper", graph="archive").name == "archive"

    def test_an_explicit_cluster_uses_no_default_graph(self, museum):
        apply_graphs(museum, "artworks", "archive")

        with pytest.raises(errors.Addressing, match="holds 2 graphs"):
            resolve(MAINTENANCE, cluster="museum")

    def test_a_remote_storage_root_shows_in_target_and_access(self):
        target = StorageTarget(uri="s3://b/clusters/main/graphs/artworks.omni", name="artworks")

        assert target.access == "direct, remote"


class TestDeprecatedSpellings:
    def test_cluster_graph_is_graph_with_one_warning(self, museum, capsys):
        apply_graphs(museum, "artworks", "archive")

        target = resolve(MAINTENANCE, cluster="museum", cluster_graph="archive")

        assert target.name == "archive"
        assert capsys.readouterr().err == "warning: --cluster-graph is deprecated; use --graph\n"

    def test_cluster_graph_and_graph_together_are_refused_even_when_they_agree(self, museum):
        apply_graphs(museum, "artworks")

        with pytest.raises(errors.Usage):
            resolve(MAINTENANCE, cluster="museum", cluster_graph="artworks", graph="artworks")

    def test_cluster_graph_needs_a_cluster_scope(self, run):
        ran = run("snapshot", "a.omni", "--cluster-graph", "artworks")

        assert ran.code == 2
        assert "needs a cluster scope" in ran.err

    @pytest.mark.parametrize(
        ("target", "flag", "name"),
        [
            ("laptop", "--profile laptop", "laptop"),
            ("museum", "--cluster museum", "artworks"),
            ("s3://b/far.omni", "--store s3://b/far.omni", "far"),
            (".", "--store .", "."),
        ],
    )
    def test_target_is_the_first_thing_of_that_name(self, target, flag, name, museum, capsys):
        apply_graphs(museum, "artworks")

        assert resolve(MAINTENANCE, target=target).name == name
        assert capsys.readouterr().err == f"warning: --target is deprecated; treated as {flag}\n"

    def test_a_target_that_is_a_server_names_its_url_on_a_direct_command(self, museum, capsys):
        with pytest.raises(errors.Addressing, match=r"remote server https://graph\.example\.org"):
            resolve(MAINTENANCE, target="prod")

        assert capsys.readouterr().err.count("--target is deprecated") == 1

    def test_a_target_that_is_a_cluster_is_refused_by_a_data_command(self, run, museum):
        ran = run("snapshot", "--target", "museum")

        assert ran.code == 2
        assert "--cluster picks a cluster-scoped command's target and does not apply" in ran.err

    def test_an_unknown_target_lists_what_is_defined(self, run, museum):
        ran = run("snapshot", "--target", "nope")

        assert ran.code == 2
        for name in ("laptop", "prod", "museum"):
            assert name in ran.err

    def test_a_removed_flag_names_its_replacement(self, run):
        ran = run("snapshot", "--config", "file.yaml")

        assert ran.code == 2
        for words in ("--store", "--server", "operator config"):
            assert words in ran.err


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        (MAINTENANCE, "storage URI, or --cluster <dir> --graph <id>"),
        (SCHEMA_PLAN, "storage URI"),
        (GRAPHS_LIST, "--server <name|url> or --profile <name>"),
        (POLICY, "--cluster <dir|uri>"),
        (replace(POLICY, accepts=frozenset()), "--config <dir>"),
    ],
)
def test_the_guard_has_a_remedy_for_every_class(row, remedy):
    command = RunningCommand(verb=row, typed=row.words)

    assert remedy in does_not_apply(command, AddressFlag.AS, "--as").message
