"""Completion of values: branches and types of the addressed graph, addresses, files; quick, and silent on failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.cli import completing
from omnigraph.cli.main import main

HEAVY = ("lance", "pyarrow", "duckdb", "pyspark")


@pytest.fixture
def offered(capsys, monkeypatch):
    """Ask as bash does; the cursor is behind the last word unless a number says otherwise."""

    def ask(line: str, cursor: int | None = None) -> set[str]:
        monkeypatch.setenv("_OMNIGRAPH_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ") if cursor is None else cursor))
        capsys.readouterr()
        main([])
        out, err = capsys.readouterr()
        assert err == ""
        return {answer for answer in out.splitlines() if answer}

    return ask


@pytest.fixture
def branched(run, art) -> str:
    for name in ("review", "etl/run-1"):
        assert run("branch", "create", name, art).code == 0
    return art


@pytest.mark.parametrize(
    ("line", "cursor"),
    [
        ("omnigraph snapshot --store art.omni --branch ", None),
        ("omnigraph --store art.omni snapshot --branch ", None),
        ("omnigraph snapshot art.omni --branch ", None),
        ("omnigraph branch merge '' art.omni", 3),
        ("omnigraph branch merge --store art.omni ", None),
        ("omnigraph branch delete --store art.omni ", None),
        ("omnigraph branch diff --store art.omni ", None),
        ("omnigraph branch create new --store art.omni --from ", None),
        ("omnigraph branch merge review --store art.omni --into ", None),
        ("omnigraph export art.omni --snapshot ", None),
        ("omnigraph optimize art.omni --branch ", None),
    ],
)
def test_branches_of_the_addressed_graph_are_offered(line, cursor, offered, branched):
    assert offered(line, cursor) == {"plain,main", "plain,review", "plain,etl/run-1"}


def test_only_what_begins_like_the_typed_text_is_offered(offered, branched):
    assert offered("omnigraph snapshot art.omni --branch re") == {"plain,review"}


@pytest.mark.parametrize(
    "line",
    [
        "omnigraph export art.omni --type ",
        "omnigraph optimize art.omni --table ",
        "omnigraph changes poll art.omni --type ",
    ],
)
def test_types_of_the_addressed_graph_are_offered(line, offered, art):
    assert offered(line) == {"plain,Artist", "plain,Artwork", "plain,CreatedBy"}
    assert offered(f"{line}node:") == {"plain,node:Artist", "plain,node:Artwork"}


def test_the_ambient_graph_is_asked_too(offered, branched, monkeypatch, configure):
    monkeypatch.setenv("OMNIGRAPH_STORE", branched)
    assert "plain,review" in offered("omnigraph branch delete ")

    monkeypatch.delenv("OMNIGRAPH_STORE")
    configure(f"profiles: {{ laptop: {{ store: {Path(branched).absolute()} }} }}")
    assert "plain,review" in offered("omnigraph snapshot --profile laptop --branch ")
    assert offered("omnigraph snapshot --profile ") == {"plain,laptop"}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("omnigraph snapshot ", "dir"),
        ("omnigraph --store ", "dir"),
        ("omnigraph branch create review ", "dir"),
        ("omnigraph load art.omni --data ", "file"),
        ("omnigraph health art.omni --html ", "file"),
    ],
)
def test_addresses_and_files_are_left_to_the_shell(line, kind, offered, workplace):
    assert offered(line) == {f"{kind},"}


@pytest.mark.parametrize(
    "line",
    [
        "omnigraph snapshot --branch ",
        "omnigraph snapshot nowhere.omni --branch ",
        "omnigraph snapshot art.pg --branch ",
        "omnigraph snapshot --server prod --branch ",
        "omnigraph export --store http://x --type ",
        "omnigraph export broken.omni --type ",
        "omnigraph branch create --store art.omni ",
    ],
)
def test_nothing_is_offered_and_nothing_said_when_there_is_nothing(line, offered, art):
    broken = Path("broken.omni")
    broken.mkdir()
    broken.joinpath("_schema.ir.json").write_text("{", encoding="utf-8")

    assert offered(line) == set()


def test_a_broken_configuration_says_nothing(offered, art, configure):
    configure("operator: [")

    assert offered("omnigraph snapshot --branch ") == set()


def test_a_store_that_does_not_answer_is_not_waited_for(offered, art, monkeypatch):
    import threading

    never = threading.Event()
    monkeypatch.setattr(completing, "_SECONDS_MAX", 0.05)
    monkeypatch.setattr("omnigraph.manifest.quick_names.quick_branch_names", lambda uri: never.wait() or [uri])

    assert offered("omnigraph snapshot art.omni --branch ") == set()
    never.set()


def test_completing_names_imports_no_heavy_library(branched):
    script = (
        "import sys\nfrom omnigraph.cli.main import main\nmain([])\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    environ = {
        **os.environ,
        "_OMNIGRAPH_COMPLETE": "zsh_complete",
        "COMP_WORDS": "omnigraph snapshot art.omni --branch ",
        "COMP_CWORD": "4",
    }

    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, timeout=60, check=True
    )

    assert "review" in done.stdout
    assert done.stderr == "[]\n"


def test_bash_completes_a_branch(program, branched):
    script = f"""
    PATH="{Path(program).parent}:$PATH"; source <(omnigraph completion bash)
    COMP_WORDS=(omnigraph branch delete --store {branched} re); COMP_CWORD=5
    _omnigraph_completion omnigraph; echo "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "review\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("omnigraph alias ", {"plain,overdue"}),
        ("omnigraph login ", {"plain,prod"}),
        ("omnigraph logout ", {"plain,prod"}),
        ("omnigraph snapshot --server ", {"plain,prod"}),
        ("omnigraph profile show ", {"plain,stage"}),
    ],
)
def test_names_of_the_operator_config_are_offered(line, expected, offered, workplace, configure):
    configure(
        "servers: { prod: { url: https://x } }\nprofiles: { stage: { server: prod } }\n"
        "aliases: { overdue: { server: prod, query: q } }\n"
    )

    assert offered(line) == expected
