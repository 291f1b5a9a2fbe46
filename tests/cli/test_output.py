"""Documents and text of results, the terminal, and the lines beside them; progress has its own file."""

import os
import pty

import pytest

from omnigraph.base.events import Advanced, EngineChosen, Noted, Warned
from omnigraph.cli import documents, texts
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.notices import Notices
from omnigraph.cli.output import Column, ConsoleOutput, Grid, JsonOutput
from omnigraph.cli.progress import follow_progress
from omnigraph.manifest.commits import Commit, CommitKind

GRID = Grid(
    columns=(Column(title="table"), Column(title="rows", justify="right")),
    rows=(("node:[b]Artist", "1,234"),),
    plain=("node:[b]Artist rows=1234",),
)


def commit(**changes) -> Commit:
    facts = {
        "graph_commit_id": "01J9ZK4A",
        "parent_commit_id": "01J9ZK3V",
        "graph_branch": "main",
        "graph_version": 18,
        "kind": CommitKind.LOAD,
        "actor_id": "act-ines",
        "created_at_us": 1_760_612_345_678_901,
    }
    return Commit(**{**facts, **changes})


def test_a_commit_has_both_spellings_and_null_for_main():
    assert documents.commit_document(commit()) == {
        "graph_commit_id": "01J9ZK4A",
        "kind": "load",
        "manifest_branch": None,
        "graph_branch": None,
        "manifest_version": 18,
        "graph_manifest_version": 18,
        "parent_commit_id": "01J9ZK3V",
        "merged_parent_commit_id": None,
        "actor_id": "act-ines",
        "created_at": 1_760_612_345_678_901,
    }


def test_a_commit_on_a_branch_names_it_and_a_message_is_kept():
    document = documents.commit_document(commit(graph_branch="review/oct", metadata={"message": "October"}))

    assert document["manifest_branch"] == document["graph_branch"] == "review/oct"
    assert document["message"] == "October"


def test_commits_are_one_plain_line_each():
    [grid] = texts.commits_text([commit(), commit(actor_id=None, graph_branch="review", kind=CommitKind.GENESIS)])

    assert grid.plain == (
        "01J9ZK4A load branch=main version=18 actor=act-ines",
        "01J9ZK4A genesis branch=review version=18",
    )


def test_one_commit_is_told_fact_by_fact_without_the_absent_ones():
    lines = texts.commit_text(commit(actor_id=None, parent_commit_id=None))

    assert lines == [
        "commit: 01J9ZK4A",
        "kind: load",
        "branch: main",
        "version: 18",
        "made at: 2025-10-16 10:59:05 UTC",
    ]


def test_json_is_indented_in_order_and_not_escaped(capsys):
    JsonOutput().show("Rémy", document=lambda name: {"b": name, "a": []}, text=lambda _: [])

    assert capsys.readouterr().out == '{\n  "b": "Rémy",\n  "a": []\n}\n'


def test_grids_are_plain_lines_when_stdout_is_no_terminal(capsys):
    ConsoleOutput(has_color=True).show(GRID, document=str, text=lambda grid: ["branch: main", grid])

    assert capsys.readouterr().out == "branch: main\nnode:[b]Artist rows=1234\n"


@pytest.mark.parametrize("color", [True, False])
def test_grids_are_tables_on_a_terminal(color, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    keyboard, terminal = pty.openpty()
    with open(terminal, "w", encoding="utf-8") as screen:  # noqa: PTH123  # a descriptor
        monkeypatch.setattr("sys.stdout", screen)
        ConsoleOutput(has_color=color).show(GRID, document=str, text=lambda grid: [grid])
        screen.flush()
        seen = os.read(keyboard, 4096).decode()
    os.close(keyboard)

    assert "node:[b]Artist" in seen
    assert "1,234" in seen
    assert "rows=1234" not in seen


def test_an_output_remembers_that_it_has_a_result():
    output = JsonOutput()

    assert not output.has_result
    output.show(1, document=lambda number: number, text=lambda _: [])
    assert output.has_result


def test_quiet_hides_echo_and_notes_but_never_warnings_or_errors(capsys):
    quiet = Notices(is_quiet=True)
    quiet.echo("target")
    quiet.note("note")
    quiet.warn("careful")
    quiet.error("broken")

    assert capsys.readouterr().err == "warning: careful\nerror: broken\n"


def test_events_become_notes_and_warnings(capsys):
    with follow_progress(Invocation(argv=(), environ={})) as events:
        events(Noted(message="made a branch"))
        events(Warned(message="look"))
        events(Advanced(phase="read", done=1, total=None, unit="records"))

    assert capsys.readouterr().err == "note: made a branch\nwarning: look\n"


@pytest.mark.parametrize(("flags", "shown"), [((), False), (("--verbose",), True), (("--verbose", "--quiet"), False)])
def test_the_engine_of_this_process_is_told_on_request_and_spark_always(flags, shown, capsys):
    notices = Invocation(argv=flags, environ={}).notices

    notices.event(EngineChosen(engine="local", reason="1 KiB, below 32 MiB"))
    local = capsys.readouterr().err
    notices.event(EngineChosen(engine="spark", reason="64 MiB, at least 32 MiB"))

    assert local == ("engine: local (1 KiB, below 32 MiB)\n" if shown else "")
    is_quiet = "--quiet" in flags
    assert capsys.readouterr().err == ("" if is_quiet else "engine: spark (64 MiB, at least 32 MiB)\n")
