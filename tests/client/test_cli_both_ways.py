"""A command says the same about a graph behind a server as about its storage."""

import json
import re
from pathlib import Path

import pytest

from omnigraph.verbs.table import VERBS, CommandClass
from support.twins import Served, make_twin

pytestmark = pytest.mark.usefixtures("token")

QUERY = "match { $a: Artist } return { $a.name, $a.born } order { $a.name }"
VALUE = ("node", "Artist", "Ines", "portrait")
READS = {
    "snapshot": ("snapshot", ()),
    "commit list": ("commit list", ("--limit", "2")),
    "commit show": ("commit show", ("main~1",)),
    "commit changes": ("commit changes", ("main", "--type", "Artist", "--op", "insert")),
    "one page of changes": ("commit changes", ("main", "--page-token", "start", "--limit", "2")),
    "changes poll": ("changes poll", ("--start", "beginning", "--kind", "node")),
    "poll in pages": ("changes poll", ("--start", "beginning", "--limit", "1")),
    "schema show": ("schema show", ()),
    "export": ("export", ("--type", "Artist", "--type", "edge:CreatedBy")),
    "query": ("query", ("-e", QUERY)),
    "an older state": ("query", ("-e", "match { $a: Artist } return { count($a) as n }", "--snapshot", "main~1")),
    "a named query": ("query", ("by_artist", "--query", "art.gq", "--param", "name=Ines")),
    "blob stat": ("blob stat", VALUE),
    "blob get": ("blob get", (*VALUE, "--offset", "2", "--length", "5")),
}
FORMS = {"query": ("table", "csv", "jsonl", "kv", "json")}
REFUSED = {
    "no such branch": ("snapshot", ("--branch", "nope")),
    "no such commit": ("commit show", ("01M0000000000000000000000",)),
    "no such type": ("export", ("--type", "Ship")),
    "not a query": ("query", ("-e", "match { $a: Artst } return { $a.name }")),
    "a mutation": ("query", ("-e", "query q() { insert Artist { name: 'x' } }")),
    "a parameter": ("query", ("by_artist", "--query", "art.gq", "--params", '{"nme": "x"}')),
    "first commit": ("commit changes", ("main~1",)),
    "a foreign cursor": ("changes poll", ("--cursor", "abc")),
    "no such entity": ("blob stat", ("node", "Artist", "Nobody", "portrait")),
    "no blob": ("blob get", ("node", "Artist", "Ines", "born")),
    "behind the end": ("blob get", (*VALUE, "--offset", "10")),
}


def said(text: str, served: Served) -> str:
    """Leave out of an output what is no fact: where the graph was looked for."""
    return text.replace(f"{served.url}/graphs/art", "GRAPH").replace(served.storage, "GRAPH")


@pytest.fixture
def both(run, served, seed_files):
    """Run a line on the storage and through the server."""

    def run_both(command: str, words: tuple[str, ...]):
        direct = run(*command.split(), *words, "--store", served.storage)
        remote = run(*command.split(), *words, "--server", served.url, "--graph", "art")
        return direct, remote

    return run_both


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("name", READS)
def test_a_read_prints_the_same_both_ways(name, form, both, served):
    command, words = READS[name]
    if form == "json" and command in {"export", "blob get"}:
        words = (*words, "--out", "new.out")
    direct, remote = both(command, (*words, "--json") if form == "json" and command != "blob get" else words)
    if form == "json" and command in {"export", "blob get"}:
        assert (direct.code, remote.code) == (0, 3 if command == "export" else 2), "the file is there by then"
        return

    assert (direct.code, remote.code) == (0, 0), remote.err
    assert said(remote.out, served) == said(direct.out, served)
    assert remote.err == direct.err


@pytest.mark.parametrize("form", FORMS["query"])
def test_rows_look_the_same_in_every_format(form, both):
    direct, remote = both("query", ("-e", QUERY, "--format", form))

    assert remote.out == direct.out != ""


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_has_the_same_kind_exit_code_and_words(name, both):
    command, words = REFUSED[name]
    has_document = command != "blob get"
    direct, remote = both(command, (*words, "--json") if has_document and command != "export" else words)

    assert direct.code == remote.code != 0
    if has_document and command != "export":
        expected, found = direct.document, remote.document
        found.pop("request_id", None)
        assert (found["kind"], found.get("code")) == (expected["kind"], expected.get("code"))
        assert found.keys() == expected.keys()


def test_branches_are_listed_by_name_only_because_a_server_tells_no_more(run, served):
    listed = run("branch", "list", "--server", served.url, "--graph", "art", "--json")

    assert listed.document == {"branches": ["main"]}
    assert run("branch", "list", "--server", served.url, "--graph", "art").out == "branch\nmain\n"


def test_a_baseline_is_the_same_file_with_the_same_cursor(both, served):
    direct, remote = both("changes baseline", ("--out", "baseline.jsonl", "--json"))
    lines = Path("baseline.jsonl").read_text().splitlines()

    assert remote.document == direct.document
    assert remote.document["resume_cursor"] in lines[-1]
    assert len(lines) == 5


def test_every_data_command_is_covered():
    covered = {command for command, _ in READS.values()} | {line[0] for line in WRITES}
    others = {"branch list", "changes baseline", "graphs list", "schema apply"}
    direct_only = {"shell", "branch diff", "mcp", "ui"}
    served = {row.words for row in VERBS if row.command_class in {CommandClass.ANY, CommandClass.SERVED}}

    assert served == covered | others | direct_only


LINES = '{"type": "Artist", "data": {"name": "Lou"}}\n'
INSERT = "query add($n: String) { insert Artist { name: $n } }"
WRITES = (
    ("branch create", ("review/a-b",)),
    ("load", ("--data", "new.jsonl", "--mode", "merge", "--branch", "review/a-b")),
    ("load", ("--data", "new.jsonl", "--mode", "append", "--branch", "side", "--from", "main")),
    ("load", ("--data", "new.jsonl", "--mode", "append", "--branch", "side")),
    ("load", ("--data", "bad.jsonl", "--mode", "append")),
    ("load", ("--data", "new.jsonl", "--mode", "merge", "--branch", "none")),
    ("mutate", ("-e", INSERT, "--param", "n=Kim")),
    ("mutate", ("-e", INSERT, "--param", "n=Kim")),
    ("mutate", ("-e", INSERT, "--param", "n=Kay", "--if-commit", "01M0000000000000000000000A")),
    ("mutate", ("-e", "query no() { delete Artist where name = 'none' }")),
    ("branch merge", ("review/a-b",)),
    ("branch merge", ("side", "--delete-branch", "--yes")),
    ("branch delete", ("review/a-b", "--yes")),
    ("branch delete", ("main", "--yes")),
)
_IDS = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
_TIMES = re.compile(r"made=\S+")
_UNTOLD = {"engine", "engine_reason", "dry_run", "created_at", "uri"}


def facts(document: dict, command: str) -> object:
    """Leave out of a document ids, times, addresses, and what a server does not tell."""
    if "error" in document:
        return document["kind"], document.get("code"), document.keys() - {"request_id"}
    untold = _UNTOLD | ({"tables"} if command == "branch merge" else set())
    kept = {name: value for name, value in document.items() if name not in untold}
    if isinstance(kept.get("commit"), dict):
        kept["commit"] = {name: value for name, value in kept["commit"].items() if name not in untold}
    return json.loads(_IDS.sub("ID", json.dumps(kept)))


def test_writes_come_to_the_same_both_ways(run, busy, workplace, tmp_path):
    """The same lines on two equal graphs, one after the other: outputs and histories are equal but for ids."""
    workplace.joinpath("new.jsonl").write_text(LINES)
    workplace.joinpath("bad.jsonl").write_text(LINES + '{"type": "Artist", "data": {"nam": "x"}}\n')
    twin = f"{make_twin(tmp_path, 'twin')}/graphs/art.omni"
    ways = {"direct": ("--store", twin, "--as", "act-ines"), "served": ("--server", busy.url, "--graph", "art")}
    for command, words in WRITES:
        direct, served = (run(*command.split(), *words, *address, "--json", "--quiet") for address in ways.values())

        assert direct.code == served.code, (command, words, served.err)
        assert facts(served.document, command) == facts(direct.document, command), (command, words)
    histories = [run("commit", "list", "--store", storage).out for storage in (twin, busy.storage)]
    assert len({_TIMES.sub("", _IDS.sub("", history)) for history in histories}) == 1
