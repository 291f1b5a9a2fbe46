"""Finding the server, the graph and the token of a line: flags, profiles, defaults, aliases; and what is refused."""

import pytest

from omnigraph.cli.main import main
from omnigraph.client.writes import LOAD_BYTES_MAX
from support.served import TOKENS

QUERY = ("query", "-e", "match { $a: Artist } return { count($a) as n }", "--format", "csv")


@pytest.fixture
def configured(served, configure, monkeypatch):
    """An operator config with the server under a name, a profile, an alias, and the token in the server's variable."""
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", TOKENS["act-ines"])

    def write(defaults: str = "") -> None:
        configure(
            f"servers: {{ prod: {{ url: '{served.url}/' }} }}\n"
            "profiles: { stage: { server: prod, default_graph: art }, bare: { server: prod } }\n"
            "aliases: { works: { server: prod, graph: art, query: by_artist, args: [name], format: kv } }\n"
            f"{defaults}"
        )

    write()
    return write


@pytest.mark.parametrize(
    "address",
    [("--server", "prod", "--graph", "art"), ("--profile", "stage"), ("--profile", "bare", "--graph", "art")],
)
def test_a_server_goes_by_its_name_and_a_profile_brings_its_graph(run, configured, address):
    assert run(*QUERY, *address).out == "n\n2\n"


def test_defaults_bring_server_and_graph(run, configured):
    configured("defaults: { server: prod, default_graph: art }\n")

    assert run(*QUERY).out == "n\n2\n"


def test_a_graph_is_never_guessed(run, configured):
    ran = run(*QUERY, "--server", "prod")

    assert ran.code == 2
    assert "1 graph, [art]" in ran.err
    assert "--graph <id>" in ran.err
    assert "default_graph" in ran.err


def test_whoever_may_not_list_graphs_is_told_by_the_real_request(run, configured, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_TOKEN_PROD", TOKENS["act-rae"])

    ran = run(*QUERY, "--server", "prod")

    assert ran.code == 1
    assert "No graph was selected" in ran.err
    assert "--graph <id>" in ran.err


def test_graphs_are_listed_and_need_a_server(run, configured, served):
    assert run("graphs", "list", "--profile", "stage").out == "art\n"
    assert run("graphs", "list", "--server", served.url).out == "art\n", "a token goes by the address"
    assert run("graphs", "list", "--server", "prod", "--json").document == {"graphs": [{"graph_id": "art"}]}
    ran = run("graphs", "list")
    assert (ran.code, "needs a server scope" in ran.err) == (2, True)


def test_an_alias_runs_its_stored_query(run, configured):
    assert (
        run("alias", "works", "Ines").out
        == "1 row from branch main via by_artist\nrow 1\nw.title: Still Life\na.born: 1907\n"
    )
    assert run("alias", "works", "Ines", "--json").document["rows"] == [{"w.title": "Still Life", "a.born": 1907}]
    assert run("alias", "works", "--params", '{"name": "Rémy"}', "--format", "csv").out == "w.title,a.born\n"


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (("snapshot", "--snapshot", "main~1"), "--snapshot"),
        (("commit", "list", "--all"), "--all"),
        (("export", "--snapshot", "main~1"), "--snapshot"),
        (("export", "--format", "parquet", "--out", "d"), "--format"),
        (("query", "-e", "match { $a: Artist } return { $a.name }", "--explain"), "--explain"),
        (("load", "--data", "x", "--mode", "merge", "--type", "Artist"), "--type"),
        (("load", "--data", "x", "--mode", "merge", "-m", "hello"), "--message"),
        (("branch", "merge", "side", "--dry-run"), "--dry-run"),
        (("branch", "merge", "side", "--show-values"), "--show-values"),
        (("commit", "changes", "main", "--exclude-type", "Artist"), "--exclude-type"),
        (("load", "--data", "x", "--mode", "merge", "--engine", "spark"), "--engine"),
        (("mutate", "-e", 'query q() { delete Artist where name = "x" }', "--as", "act-x"), "--as"),
    ],
)
def test_what_does_not_go_through_a_server_is_refused_before_anything_is_sent(run, line, flag):
    ran = run(*line, "--server", "http://127.0.0.1:1", "--graph", "art")

    assert ran.code == 2
    assert flag in ran.err
    assert "--store <uri>" in ran.err or "server decides" in ran.err


@pytest.mark.parametrize("line", [("branch", "diff", "main"), ("shell",)])
def test_a_command_that_needs_the_storage_says_so(run, line):
    ran = run(*line, "--server", "http://127.0.0.1:1", "--graph", "art")

    assert ran.code == 2
    assert "does not go through a server" in ran.err


def test_a_load_that_no_request_carries_is_refused_before_sending(run, workplace):
    workplace.joinpath("big.jsonl").write_bytes(b" " * (LOAD_BYTES_MAX + 1))

    ran = run(
        "load", "--server", "http://127.0.0.1:1", "--graph", "art", "--data", "big.jsonl", "--mode", "merge", "--json"
    )

    assert ran.code == 1
    assert ran.document["resource_limit"]["limit"] == LOAD_BYTES_MAX
    assert "--store" in ran.err


def test_consent_is_asked_for_because_a_server_is_not_local(run):
    ran = run("branch", "delete", "side", "--server", "http://127.0.0.1:1", "--graph", "art", "--json")

    assert ran.code == 3
    assert "refusing destructive `branch delete`" in ran.err


def test_a_store_has_no_stored_queries(run):
    ran = run("query", "by_artist", "--store", "art.omni")

    assert ran.code in {1, 2}
    assert "needs a server" in ran.err or "no graph" in ran.err.lower()


def test_a_time_limit_that_is_none_is_refused(run, monkeypatch):
    monkeypatch.setenv("OMNIGRAPH_HTTP_TIMEOUT_SECS", "soon")

    ran = run("snapshot", "--server", "http://127.0.0.1:1", "--graph", "art")

    assert ran.code == 2
    assert "OMNIGRAPH_HTTP_TIMEOUT_SECS" in ran.err


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("omnigraph query --server prod --graph ", "plain,art"),
        ("omnigraph query --profile bare --graph a", "plain,art"),
        ("omnigraph query --server prod --graph b", ""),
        ("omnigraph snapshot --server prod --graph art --branch ", "plain,main"),
        ("omnigraph query --server http://127.0.0.1:9 --graph ", ""),
    ],
)
def test_a_shell_offers_the_graphs_and_branches_of_the_server(configured, capsys, monkeypatch, line, offered):
    monkeypatch.setenv("_OMNIGRAPH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))

    main([])

    assert capsys.readouterr() == (f"{offered}\n", "")
