"""Rules of the operator's configuration file."""

from pathlib import Path

import pytest

from omnigraph import errors
from omnigraph.cli.operator_config import OperatorSettings, read_operator_config

FULL = """
operator: { actor: act-ines }
servers: { prod: { url: https://graph.example.org } }
clusters: { museum: { root: s3://museum-data/clusters/main } }
profiles:
  stage: { server: prod, default_graph: artworks }
defaults:
  server: prod
  default_graph: artworks
  output: kv
  table_max_column_width: 80
  table_cell_layout: truncate
  engine: local
spark:
  master: spark://etl:7077
  conf: { spark.sql.shuffle.partitions: 64, spark.ui.enabled: true, spark.app.name: museum }
aliases:
  overdue:
    { server: prod, graph: artworks, query: overdue_loans, args: [before], params: { kind: x }, format: kv }
"""


def read(path: Path) -> OperatorSettings:
    return read_operator_config({"OMNIGRAPH_HOME": str(path.parent)})


def test_a_missing_file_is_an_empty_configuration(tmp_path):
    config = read(tmp_path / "config.yaml")

    assert config == OperatorSettings(path=tmp_path / "config.yaml")


def test_every_documented_key_is_known(configure):
    config = read(configure(FULL))

    assert config.warnings == ()
    assert config.actor == "act-ines"
    assert config.servers == {"prod": "https://graph.example.org"}
    assert config.clusters == {"museum": "s3://museum-data/clusters/main"}
    assert config.profiles["stage"].bindings == (("server", "prod"),)
    assert config.profiles["stage"].default_graph == "artworks"
    assert config.defaults.output == "kv"
    assert config.defaults.engine == "local"
    assert config.spark.conf == {
        "spark.sql.shuffle.partitions": "64",
        "spark.ui.enabled": "true",
        "spark.app.name": "museum",
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "profiles:\n"])
def test_an_empty_file_or_section_is_fine(text, configure):
    assert read(configure(text)).profiles == {}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("colour: red", "colour"),
        ("profiles: { keeper: { cluster: museum, colour: red } }", "profiles.keeper.colour"),
        ("defaults: { colour: red }", "defaults.colour"),
    ],
)
def test_an_unknown_key_is_one_warning_and_nothing_else(text, key, configure, run):
    path = configure(text)

    ran = run("profile", "list")

    assert ran.code == 0
    assert ran.err == f"warning: unknown key `{key}` in operator config '{path}'\n"


def test_a_token_is_an_unknown_key_that_points_to_login(configure):
    [warning] = read(configure("servers: { prod: { url: https://x, token: secret } }")).warnings

    assert "servers.prod.token" in warning
    assert "use omnigraph login" in warning
    assert "secret" not in warning


@pytest.mark.parametrize(
    "text",
    [
        "operator: [",
        "- a list",
        "servers: { prod: {} }",
        "servers: { prod: https://x }",
        "operator: { actor: 7 }",
        "operator: { actor: ' ' }",
        "defaults: { server: prod, store: a.omni }",
        "defaults: { store: a.omni, default_graph: g }",
        "defaults: { output: xml }",
        "defaults: { engine: gpu }",
        "spark: { master: a, remote: b }",
        "spark: { conf: { a: [1] } }",
    ],
)
def test_a_file_that_cannot_be_used_names_itself(text, configure, run):
    path = configure(text)

    ran = run("snapshot", "g.omni")

    assert ran.code == 2
    assert ran.err.startswith(f"error: operator config '{path}' ")
    assert ran.err.count("\n") == 1


def test_an_unreadable_file_is_an_operator_config_error(configure):
    path = configure("")
    path.write_bytes(b"operator: { actor: \xff }")

    with pytest.raises(errors.OperatorConfig) as failure:
        read(path)

    assert failure.value.details == {"path": str(path)}


def test_the_error_document_of_a_broken_file_has_its_path(configure, run):
    path = configure("operator: [")

    assert run("snapshot", "g.omni", "--json").document["operator_config"] == {"path": str(path)}


def test_a_leading_tilde_in_the_home_variable_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert read_operator_config({"OMNIGRAPH_HOME": "~/og"}).path == tmp_path / "og" / "config.yaml"
    assert read_operator_config({}).path == tmp_path / ".omnigraph" / "config.yaml"


def test_a_file_in_the_working_directory_is_never_read(run, workplace):
    workplace.joinpath("omnigraph.yaml").write_text("operator: [", encoding="utf-8")

    assert run("profile", "list").code == 0


def test_local_commands_that_need_no_config_ignore_a_broken_one(configure, run):
    configure("operator: [")

    assert run("completion", "bash").code == 0


@pytest.mark.parametrize("source", ["flag", "config"])
def test_actors_of_the_system_are_reserved(source, configure, run):
    configure("operator: { actor: 'omnigraph:maintenance' }" if source == "config" else "")
    flag = ("--as", "omnigraph:maintenance") if source == "flag" else ()

    ran = run("load", "g.omni", "--data", "d.jsonl", "--mode", "merge", *flag, "--json")

    assert ran.code == 2
    assert ran.document["kind"] == "invalid_name"
