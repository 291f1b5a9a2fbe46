"""`omnigraph shell`: statements from a pipe, one conversation at a real terminal, where statements end, completion."""

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

import omnigraph
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.shell import statements
from omnigraph.cli.shell.help_text import HELP, VALUES_BY_COMMAND
from omnigraph.cli.shell.offers import offers
from omnigraph.cli.shell.session import Session, Settings
from omnigraph.cli.shell.statements import all_statements, is_ended
from omnigraph.query.offers import Vocabulary

NAMES = "match { $a: Artist } return { $a.name } order { $a.name }"
COUNT = "match { $a: Artist } return { count($a) as n }"
ADD = 'query add() { insert Artist { name: "Zoe" } }'


@pytest.fixture
def piped(run, monkeypatch) -> Callable[..., object]:
    """Run the shell in this process over a text that is no terminal."""

    def run_text(text: str | bytes, *arguments: str) -> object:
        typed = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), encoding="ascii"))
        return run("shell", *arguments)

    return run_text


@pytest.mark.parametrize("address", [("art.omni",), ("--store", "art.omni"), ("--uri", "art.omni")])
def test_the_graph_is_addressed_as_everywhere(piped, shown_art, address):
    ran = piped(f"{COUNT}\n", *address, "--format", "csv")

    assert (ran.code, ran.out) == (0, "n\n2\n"), ran.err


def test_statements_go_over_lines_and_share_lines(piped, shown_art):
    text = (
        "// who\n\nmatch {\n\n  $a: Artist // all\n}\nreturn { $a.name }\norder { $a.name }\nlimit 1\n"
        'match { $a: Artist { name: "a;b" } } return { $a.name }\n\n'
        f"{COUNT}; {COUNT};"
        "query two() { match { $w: Artwork } return { $w.title } } query three() "
        "{ match { $w: Artwork } return { count($w) as works } }"
    )

    ran = piped(text, shown_art, "--format", "csv")

    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "a.name",
        "Ines",
        "a.name",
        "n",
        "2",
        "n",
        "2",
        "w.title",
        "Still Life",
        "works",
        "1",
    ]


def test_the_first_failure_ends_it_with_its_exit_code(piped, shown_art):
    unknown = piped(f"{COUNT}\nmatch {{ $a: Artst }} return {{ $a.name }}\n{COUNT}\n", shown_art, "--format", "csv")
    usage = piped(f":fromat csv\n{COUNT}\n", shown_art)
    syntax = piped("match { $a: Artist }\n\n", shown_art)

    assert (unknown.code, unknown.out) == (1, "n\n2\n")
    assert "did you mean Artist?" in unknown.err
    assert "  match { $a: Artst } return { $a.name }\n              ^^^^^\n" in unknown.err
    assert (usage.code, usage.out) == (2, "")
    assert "no command `:fromat`; did you mean :format?" in usage.err
    assert syntax.code == 1
    assert "expected `return`, found the end of the text" in syntax.err


def test_mutations_commit_one_by_one_and_are_seen_at_once(piped, art):
    ran = piped(
        f'{ADD}\n:format csv\n{COUNT}\nquery bad() {{ insert Artist {{ nam: "x" }} }}\n', art, "--as", "act-ines"
    )

    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[:2] == ["changed main via add: 1 node, 0 edges", "actor_id: act-ines"]
    assert lines[3:] == ["n", "3"]
    assert "nam" in ran.err
    assert [commit.kind for commit in omnigraph.open(art).commits()][:2] == ["mutation", "load"]


def test_mutations_are_refused_read_only_and_over_an_older_state(piped, art):
    read_only = piped(f"{COUNT};{ADD}", art, "--read-only", "--format", "csv")
    older = piped(ADD, art, "--snapshot", "main~1")

    assert (read_only.code, read_only.out) == (1, "n\n2\n")
    assert "`add` was not run: this shell was started with --read-only" in read_only.err
    assert older.code == 1
    assert "`:branch main` goes back" in older.err
    assert omnigraph.open(art).snapshot().graph_version == 2


def test_branches_and_older_states_are_chosen_by_commands(piped, art):
    omnigraph.open(art).branches.create("review")
    text = f":format csv\n:branch review\n{ADD}\n:branch\n{COUNT}\n:snapshot main~1\n{COUNT}\n:branch main\n{COUNT}\n"

    ran = piped(text, art)
    missing = piped(":branch reveiw\n", art)
    nowhere = piped(COUNT, art, "--branch", "nope")
    twice = piped(COUNT, art, "--branch", "main", "--snapshot", "main~1")

    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "changed review via add: 1 node, 0 edges"
    assert lines[2:6] == ["  main", "* review", "n", "3"]
    assert re.fullmatch(r"snapshot main~1: commit \w{26}, graph version 1 of main", lines[6])
    assert lines[7:] == ["n", "0", "n", "2"]
    assert (missing.code, nowhere.code, twice.code) == (1, 1, 2)
    assert "did you mean 'review'?" in missing.err


def test_answers_take_every_form(piped, shown_art):
    documents = piped(f":format json\n{COUNT}\n:explain {COUNT}\n", shown_art).out
    lines = piped(f"{COUNT}\n:analyze {COUNT}\n", shown_art, "--format", "jsonl").out.splitlines()
    table = piped(f":explain match {{ $a: Artist }}\nreturn {{ $a.name }}\n:timing on\n:timing\n{COUNT}\n", shown_art)

    answer, end = json.JSONDecoder().raw_decode(documents)
    assert answer["rows"] == [{"n": 2}]
    assert json.loads(documents[end:])["steps"][0]["step"] == "scan $a: Artist"
    assert json.loads(lines[1]) == {"n": 2}
    assert json.loads(lines[2])["row_count"] == 1
    assert table.out.startswith("step             estimated rows\nscan $a: Artist ")
    assert "\non\n1 row from branch main via _\n" in table.out
    assert re.search(r"^time: \d+\.\d ms$", table.err, re.MULTILINE)


def test_parameters_are_set_for_the_queries_that_have_them(piped, shown_art):
    query = (
        "query q($name: String, $born: I32) { match { $a: Artist { name: $name, born: $born } } return { $a.name } }"
    )

    ran = piped(f":param name=Ines\n:param $born = 1907\n:param\n{query}\n{COUNT}\n", shown_art, "--format", "csv")
    lacking = piped(f":param name=Ines\n:param born=1\n:param born\n{query}\n", shown_art)

    assert ran.out.splitlines() == ["name=Ines", "born=1907", "a.name", "Ines", "n", "2"], ran.err
    assert lacking.code == 1
    assert "born" in lacking.err


def test_the_schema_is_shown_whole_and_by_type(piped, shown_art, seed_files):
    whole, one, edge = (piped(f":schema {name}", shown_art).out for name in ("", "Artist", "CreatedBy"))

    assert whole == seed_files.joinpath("art.pg").read_text(encoding="utf-8")
    assert one == "node Artist {\n    name: String @key\n    born: I32?\n}\n"
    assert edge == "edge CreatedBy: Artwork -> Artist\n"
    assert "did you mean" in piped(":schema Artst", shown_art).err


def test_help_names_every_command_and_every_command_is_there(piped, shown_art):
    ran = piped(":help\n:quit\nnot read\n", shown_art)
    session = Session(None, None, uri="", settings=Settings(branch="main"), is_read_only=True)

    assert (ran.code, ran.out) == (0, f"{HELP}\n")
    assert re.findall(r"^:(\w+)", HELP, re.MULTILINE) == list(VALUES_BY_COMMAND)
    assert {*session._commands, "quit"} == set(VALUES_BY_COMMAND)


def test_what_is_read_is_utf_8_text(piped, shown_art):
    good = piped(
        '\ufeff:timing off\r\nmatch { $a: Artist { name: "Rémy" } } return { $a.name }\r\n',
        shown_art,
        "--format",
        "csv",
    )
    bad = piped(b"// fine\n// \xff\n", shown_art)

    assert (good.code, good.out) == (0, "a.name\nRémy\n"), good.err
    assert bad.code != 0
    assert "Line 2 of standard input is not UTF-8 text (byte 3)." in bad.err


ENDS = {
    "": True,
    "match { $a: Artist }": False,
    "match { $a: Artist } return { $a.name": False,
    "match { $a: Artist } return { $a.name }": True,
    "match { $a: Artist } return { $a.name } order": False,
    "match { $a: Artist }\n": True,
    "match { $a: Artist };": True,
    'match { $a: Artist { name: ";': False,
    "match { $a: Artist } retrun { $a.name }": True,
    "query q() { match { $a: Artist } return { $a.name }": False,
    "/* a comment": False,
    ":branch": True,
    ":": True,
    ":explain": False,
    ":explain match { $a: Artist }": False,
    ":explain match { $a: Artist } return { $a.name }": True,
}


@pytest.mark.parametrize(("text", "ended"), ENDS.items())
def test_enter_ends_what_is_complete_or_cannot_become_so(text, ended):
    assert is_ended(text) is ended


def test_a_long_statement_is_read_once_and_a_string_may_go_over_lines(monkeypatch):
    lengths = []
    real = statements.read_tokens
    monkeypatch.setattr(statements, "read_tokens", lambda text: lengths.append(len(text)) or real(text))
    insert = '    insert Artist { name: "a;\n}b" }\n'
    text = "query many() {\n" + insert * 500 + "}\n"

    assert list(all_statements(text.splitlines(keepends=True))) == [text.strip()]
    assert sum(lengths) < 5 * len(text)


def test_a_text_falls_into_its_statements_wherever_it_is_cut():
    text = f":branch main;\n{NAMES}\nlimit 1\n:explain\n{COUNT};;\n// end\n"

    found = [":branch main", f"{NAMES}\nlimit 1", f":explain\n{COUNT}"]

    assert list(all_statements(text.splitlines())) == found
    assert list(all_statements(text.splitlines(keepends=True))) == found


VOCABULARY = Vocabulary(
    node_types=("Artist", "Artwork"),
    edge_types=("CreatedBy",),
    properties_by_type={"Artist": ("born", "name"), "Artwork": ("title",), "CreatedBy": ()},
    branches=("main", "review"),
)
OFFERED = {
    ":f": [":format"],
    ":format js": ["json", "jsonl"],
    ":timing ": ["on", "off"],
    ":branch r": ["review"],
    ":schema Art": ["Artist", "Artwork"],
    "mat": ["match", "match_text"],
    ":explain match { $a: Ar": ["Artist", "Artwork"],
    "match { $a: Artist $a.": ["born", "name"],
    "match { $work: Artwork } return { $w": ["$work"],
    "match { $a: Artist { n": ["name"],
    "match { $w crea": ["createdBy"],
    "match { $w $p:shor": ["shortest"],
    "match { $w $m:": ["Artist", "Artwork", "createdBy", "shortest"],
    "match { $w $p:shortest createdBy{1,3} $a } return { $p.": ["hops"],
    "query q() { insert C": ["CreatedBy"],
    "query q() { insert CreatedBy { f": ["from"],
}


@pytest.mark.parametrize(("before", "names"), OFFERED.items())
def test_what_fits_is_offered(before, names):
    assert [offer.text for offer in offers(before, VOCABULARY, VALUES_BY_COMMAND)] == names


class Terminal:
    """The other end of a terminal at which the real program runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._heard = b""
        self._seen_to = 0

    @property
    def shown(self) -> str:
        """All that was shown, without colours and movements of the cursor."""
        return re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])", "", self._heard.decode(errors="replace"))

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def sees(self, words: str) -> bool:
        """Wait for words behind those that were seen before."""
        while (place := self.shown.find(words, self._seen_to)) < 0:
            if not select.select([self._descriptor], [], [], 60)[0]:
                return False
            try:
                self._heard += os.read(self._descriptor, 65536)
            except OSError:  # the program has gone
                return False
        self._seen_to = place + len(words)
        return True


@contextmanager
def conversation(
    program: str, *arguments: str, stdout: BinaryIO | None = None
) -> Iterator[tuple[Terminal, subprocess.Popen]]:
    ours, theirs = pty.openpty()
    talk = subprocess.Popen(
        [program, *arguments],
        stdin=theirs,
        stdout=stdout or theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
    )
    os.close(theirs)
    try:
        yield Terminal(ours), talk
    finally:
        talk.kill()
        talk.wait()
        os.close(ours)


def test_a_conversation_at_a_terminal(program, art, tmp_path):
    omnigraph.open(art).branches.create("review")

    with conversation(program, "shell", art) as (terminal, talk):
        assert terminal.sees("art main>"), terminal.shown
        terminal.type("match { $a: Artis\t")
        assert terminal.sees("Artist"), terminal.shown
        terminal.type(" }\rreturn { $a.name } order { $a.name }\r")
        assert terminal.sees("2 rows from branch main via _"), terminal.shown
        assert terminal.sees("art main>"), terminal.shown

        terminal.type("match { $a: Artwrok } return { $a.title }\r")
        assert terminal.sees("did you mean Artwork?"), terminal.shown
        assert terminal.sees("^^^^^^^"), terminal.shown
        assert terminal.sees("art main>"), terminal.shown

        terminal.type("match { this is not\x03")  # Ctrl-C drops it
        assert terminal.sees("art main>"), terminal.shown
        terminal.type(":branch review\r")
        assert terminal.sees("art review>"), terminal.shown
        terminal.type(f":explain {COUNT}\r")
        assert terminal.sees("estimated rows"), terminal.shown
        assert terminal.sees("art review>"), terminal.shown
        terminal.type(f"{ADD}\r")
        assert terminal.sees("changed review via add: 1 node, 0 edges"), terminal.shown
        assert terminal.sees("art review>"), terminal.shown
        terminal.type("\x04")  # Ctrl-D

        assert talk.wait(timeout=60) == 0
    history = Path(os.environ["OMNIGRAPH_HOME"], "shell_history")
    assert "+:branch review\n" in history.read_text(encoding="utf-8")
    assert history.stat().st_mode & 0o077 == 0
    assert not list(Path(art).rglob("*history*"))


def test_an_interrupt_and_a_defect_end_their_statement_and_not_the_shell(capsys):
    from omnigraph.cli.shell.terminal import _answered

    class Failing:
        def answer(self, statement: str) -> bool:
            raise {":interrupt": KeyboardInterrupt, ":defect": ZeroDivisionError}[statement]

    invocation = Invocation(argv=["shell"], environ={})

    assert all(_answered(invocation, Failing(), typed) for typed in (":interrupt", ":defect\n:never"))
    seen: list[str] = []
    Failing.answer = lambda _, statement: seen.append(statement) or True
    assert _answered(invocation, Failing(), f'match {{ $a: Artist {{ name: "a\u2028b" }} }}\n{COUNT[21:]}')
    assert seen == [f'match {{ $a: Artist {{ name: "a\u2028b" }} }}\n{COUNT[21:]}'], "only line feeds end lines"
    interrupted, defect = capsys.readouterr().err.splitlines()
    assert interrupted == "error: interrupted"
    assert "ZeroDivisionError" in defect


def test_answers_can_go_to_a_file_while_somebody_types(program, shown_art, seed_files):
    with seed_files.joinpath("rows.csv").open("wb") as rows:
        line = ("shell", shown_art, "--format", "csv")
        with conversation(program, *line, stdout=rows) as (terminal, talk):
            assert terminal.sees("art main>"), terminal.shown
            terminal.type(f"{COUNT}\r:quit\r")
            assert talk.wait(timeout=60) == 0

    assert seed_files.joinpath("rows.csv").read_text() == "n\n2\n"


def test_a_pipe_needs_no_library_for_terminals(program, shown_art):
    script = (
        "import sys\nfrom omnigraph.cli.main import main\n"
        f"sys.argv = ['omnigraph', 'shell', {shown_art!r}, '--format', 'csv']\n"
        "code = main()\n"
        "assert not [name for name in sys.modules if name.startswith('prompt_toolkit')]\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=COUNT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "n\n2\n"), done.stderr
