"""Documents and text of results, the terminal, and the lines beside them; progress has its own file."""

import os
import pty
import re

import pytest

from omnigraph import documents
from omnigraph.base.events import Advanced, EngineChosen, Noted, Warned
from omnigraph.cli import commit_view, texts
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.notices import Notices
from omnigraph.cli.output import ConsoleOutput, Grid, JsonOutput, TextColumn
from omnigraph.cli.progress import follow_progress
from omnigraph.manifest.commits import Commit, CommitKind
from omnigraph.pipeline.load.run import LoadResult, TableLoaded
from omnigraph.writes.recovery.audit import RecoveryRecord

GRID = Grid(
    columns=(TextColumn(title="table"), TextColumn(title="rows", justify="right")),
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
    said = commit(actor_id=None, graph_branch="review", kind=CommitKind.GENESIS, metadata={"message": "the first day"})
    [grid] = commit_view.commits_text(documents.ShownCommits(commits=[commit(), said]))

    assert grid.plain == (
        "01J9ZK4A load branch=main version=18 made=2025-10-16T10:59:05Z actor=act-ines",
        "01J9ZK4A genesis branch=review version=18 made=2025-10-16T10:59:05Z message=the first day",
    )
    assert [column.title for column in grid.columns] == [
        "commit",
        "version",
        "branch",
        "made at (UTC)",
        "kind",
        "actor",
        "message",
    ]


RECOVERY = RecoveryRecord(
    operation_id="01J9ZK4C",
    recovery_kind="rolled_forward",
    graph_commit_id="01J9ZK4A",
    writer_kind="load",
    graph_branch="main",
    recovery_for_actor="act-ines",
    recovered_by='{"host": "quay", "pid": 7}',
    outcomes="{}",
    created_at_us=1_760_612_399_000_000,
)


def test_a_recovered_commit_says_when_and_by_whom():
    shown = documents.ShownCommits(commits=[commit()], recovery_by_commit={"01J9ZK4A": RECOVERY})

    [grid] = commit_view.commits_text(shown)
    assert grid.plain[0].endswith("actor=act-ines recovered=2025-10-16T10:59:59Z recovered_by=quay:7")
    assert "(completed 2025-10-16 10:59:59 UTC by quay:7)" in grid.rows[0]
    assert commit_view.one_commit_text(shown)[-1] == "recovered: completed 2025-10-16 10:59:59 UTC by quay:7"
    assert documents.one_commit_document(shown)["recovery"] == {
        "operation_id": "01J9ZK4C",
        "recovery_kind": "rolled_forward",
        "recovered_by": {"host": "quay", "pid": 7},
        "recovered_at": 1_760_612_399_000_000,
    }


@pytest.mark.parametrize("width", [30, 60, 80, 100])
def test_ids_and_times_stay_whole_in_a_narrow_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    ulid = "01J9ZK4A00000000000000000A"
    shown = documents.ShownCommits(
        commits=[commit(graph_commit_id=ulid, metadata={"message": "a message of several words that may well wrap"})],
        recovery_by_commit={ulid: RECOVERY},
    )

    seen = on_terminal(lambda output: output.show(shown, document=str, text=commit_view.commits_text))

    assert ulid in seen
    assert re.search(r"2025-10-16[ T]10:59:05", seen)


def on_terminal(act) -> str:
    """Return what a pseudo-terminal shows."""
    keyboard, terminal = pty.openpty()
    with open(terminal, "w", encoding="utf-8") as screen, pytest.MonkeyPatch.context() as patch:  # noqa: PTH123
        patch.setattr("sys.stdout", screen)
        act(ConsoleOutput(has_color=False))
        seen = os.read(keyboard, 65536).decode()
    os.close(keyboard)
    return seen


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"node:A": 1}, "1 row across 1 node type and 0 edge types"),
        ({"node:A": 2, "node:B": 0, "edge:C": 1}, "3 rows across 2 node types and 1 edge type"),
    ],
)
def test_a_load_counts_in_real_plurals_and_names_its_commit(rows, says):
    result = LoadResult(
        uri="a.omni",
        branch="main",
        base_branch=None,
        branch_created=False,
        mode="merge",
        tables=tuple(TableLoaded(table_key=key, rows_loaded=count) for key, count in rows.items()),
        actor_id=None,
        engine="local",
        engine_reason="",
        commit=commit(),
    )

    assert texts.load_text(result) == [
        f"loaded a.omni on branch main with merge: {says}",
        "commit 01J9ZK4A (graph version 18)",
    ]


def test_one_commit_is_told_fact_by_fact_without_the_absent_ones():
    lines = commit_view.one_commit_text(documents.ShownCommits(commits=[commit(actor_id=None, parent_commit_id=None)]))

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


def test_grids_have_titles_and_aligned_columns_when_stdout_is_no_terminal(capsys):
    rows = (("node:[b]Artist", "1,234", ""), ("edge:CreatedBy", "7", "review"))
    columns = (TextColumn(title="table"), TextColumn(title="rows", justify="right"), TextColumn(title="branch"))

    ConsoleOutput(has_color=True).show(
        Grid(columns=columns, rows=rows), document=str, text=lambda grid: ["branch: main", grid]
    )

    assert capsys.readouterr().out.splitlines() == [
        "branch: main",
        "table            rows  branch",
        "node:[b]Artist  1,234  -",
        "edge:CreatedBy      7  review",
    ]


def test_lines_that_say_what_each_value_is_need_no_titles(capsys):
    ConsoleOutput(has_color=True).show(GRID, document=str, text=lambda grid: [grid])

    assert capsys.readouterr().out == "node:[b]Artist rows=1234\n"


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
