"""Help, unknown words, completion and start-up time."""

import os
import re
import subprocess
import sys

import pytest

from omnigraph.verbs.table import VERBS, AddressFlag, CommandClass, verb

WORDS = [row.words for row in VERBS]
PAGES = [*WORDS, "commit", "schema", "profile"]
HEAVY = ("lance", "pyarrow", "duckdb", "pyspark", "obstore", "lark", "rich", "yaml")


def test_without_arguments_the_help_is_printed(run):
    ran = run()

    assert ran.code == 0
    assert ran.err == ""
    assert ran.out == run("--help").out == run("-h").out


def test_the_help_ends_with_every_command_under_its_class(run):
    legend = run("--help").out.partition("Commands by class:\n")[2]

    entries = re.split(r"^  (any|served|direct|control|local) ", legend, flags=re.MULTILINE)[1:]
    listed = {word: " ".join(text.split()) for word, text in zip(entries[::2], entries[1::2], strict=True)}
    assert list(listed) == [kind.value for kind in CommandClass]
    for row in VERBS:
        names = re.split(r", |: ", listed[row.command_class.value])
        assert row.words in names


@pytest.mark.parametrize("page", PAGES)
def test_every_page_ends_with_an_example_of_its_own_command(page, run):
    ran = run(*page.split(), "--help")

    assert ran.code == 0
    last = ran.out.rstrip("\n").splitlines()[-1]
    assert ran.out.partition("Examples:\n")[2]
    assert f"omnigraph {page}" in last


@pytest.mark.parametrize("words", WORDS)
def test_a_page_shows_only_the_addresses_the_command_takes(words, run):
    page = run(*words.split(), "--help").out

    row = verb(words)
    assert ("--server NAME|URL" in page) is (AddressFlag.SERVER in row.accepts)
    assert ("--as ACTOR" in page) is (AddressFlag.AS in row.accepts)
    assert ("--engine" in page) is row.is_bulk


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        (("snapshto",), "`snapshot`"),
        (("commit", "lst"), "`list`"),
        (("snapshot", "--brunch", "x"), "--branch"),
        (("--quite", "snapshot"), "--quiet"),
        (("load", "--date", "x"), "--data"),
        (("commit", "--jsno", "list"), "--json, which belongs to a command and stands behind its words"),
    ],
)
def test_an_unknown_word_or_flag_names_the_nearest_known_one(line, nearest, run):
    ran = run(*line)

    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert f"the nearest one is {nearest}" in ran.err


def test_a_file_in_the_place_of_a_flag_is_told_which_flag(run):
    ran = run("load", "g.omni", "records.jsonl", "--mode", "append")

    assert ran.code == 2
    assert "(records.jsonl) Name what is to be read with --data." in ran.err


def test_a_first_word_alone_lists_the_second_ones(run):
    ran = run("commit")

    assert ran.code == 2
    assert "list, show" in ran.err


def test_a_missing_argument_is_named(run):
    ran = run("commit", "show", "--store", "a.omni")

    assert ran.code == 2
    assert "COMMIT" in ran.err


@pytest.mark.parametrize("flag", ["-v", "--version"])
@pytest.mark.parametrize("place", [(), ("snapshot",), ("commit", "list")])
def test_the_version_flag_works_everywhere(flag, place, run):
    from omnigraph import __version__

    ran = run(*place, flag)

    assert (ran.code, ran.out) == (0, f"omnigraph {__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell, run):
    ran = run("completion", shell)

    assert ran.code == 0
    assert f"_OMNIGRAPH_COMPLETE={shell}_complete" in ran.out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("omnigraph ", {"load", "commit", "doctor"}),
        ("omnigraph commit ", {"list", "show"}),
        ("omnigraph load --mo", {"--mode"}),
        ("omnigraph load --mode ", {"overwrite", "append", "merge"}),
        ("omnigraph --engine ", {"auto", "local", "spark"}),
        ("omnigraph load --qui", {"--quiet"}),
    ],
)
def test_completion_answers_with_words_flags_and_fixed_values(line, expected, program):
    words = line.split(" ")
    environ = {
        **os.environ,
        "_OMNIGRAPH_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }

    done = subprocess.run([program], env=environ, capture_output=True, text=True, timeout=60, check=True)

    assert {answer.partition(",")[2] for answer in done.stdout.splitlines()} >= expected


def test_completion_script_loads_into_bash(program, workplace):
    done = subprocess.run(
        ["bash", "-c", f"source <('{program}' completion bash) && complete -p omnigraph"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert "_omnigraph_completion" in done.stdout


@pytest.mark.parametrize("line", [("--help",), ("snapshot",), ("optimize",), ("version", "--server", "x")])
def test_help_and_refusals_import_no_heavy_library(line, workplace):
    script = (
        "import sys\n"
        "from omnigraph.cli.main import main\n"
        f"main({line!r})\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert done.stderr.splitlines()[-1] == "[]"
