"""What operators read in the log: every record of a write says which operation on which graph it belongs to."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.main import main
from omnigraph.errors import RecoveryRequired
from support import harbor
from support.writers import run_child

NEW = [harbor.sailor("Zoe Quartermaine", "deckhand", age=61)]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return harbor.new_graph(str(tmp_path / "harbor.omni"))


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith("omnigraph.")]


def test_every_record_of_a_load_names_its_operation_and_its_graph(graph, caplog):
    with caplog.at_level(logging.DEBUG, "omnigraph"):
        result = graph.load(harbor.lines(NEW), mode="append")

    records = ours(caplog)
    assert {record.graph for record in records} == {graph.uri}
    (operation,) = {record.operation_id for record in records if record.operation_id is not None}
    told = [(record.levelname, record.getMessage()) for record in records]
    assert ("INFO", "load armed on branch main: 1 table") in told
    assert any(
        level == "INFO" and said.startswith(f"published commit {result.commit.graph_commit_id} as graph version")
        for level, said in told
    )
    assert any(level == "DEBUG" and f"{operation} holds branch/main" in said for level, said in told)
    assert any(level == "DEBUG" and said.startswith("committed node:Sailor at version") for level, said in told)
    armed = next(record for record in records if "armed" in record.getMessage())
    assert armed.operation_id == operation
    # An age could be part of any id or time.
    assert not any("Zoe" in said or "Quartermaine" in said for _, said in told), "no values of rows"


def test_a_load_that_changes_nothing_says_so(graph, caplog):
    graph.load(harbor.lines(NEW), mode="merge")
    with caplog.at_level(logging.INFO, "omnigraph"):
        graph.load(harbor.lines(NEW), mode="merge")
    assert [record.getMessage() for record in ours(caplog)] == ["load on branch main changes nothing"]
    assert ours(caplog)[0].operation_id is not None


def test_a_write_that_meets_another_one_warns_and_starts_over(graph, caplog, monkeypatch):
    from omnigraph.pipeline.load import writer

    prepare, rival = writer.LoadWriter.prepare, omnigraph.open(graph.uri)
    turns = iter([True])

    def meet(self, capture, identity):
        prepared = prepare(self, capture, identity)
        if next(turns, False):
            rival.load(harbor.lines([harbor.ship("S9")]), mode="append")
        return prepared

    monkeypatch.setattr(writer.LoadWriter, "prepare", meet)
    with caplog.at_level(logging.INFO, "omnigraph"):
        graph.load(harbor.lines(NEW), mode="append")
    (warning,) = [record for record in ours(caplog) if record.levelno == logging.WARNING]
    assert warning.getMessage().startswith("attempt 1 of 5 failed: stale view of")
    published = [record for record in ours(caplog) if "published" in record.getMessage()]
    assert len(published) == 2
    assert len({warning.operation_id, *(record.operation_id for record in published)}) == 3
    assert {record.graph for record in ours(caplog)} == {graph.uri}


def test_recovery_after_a_kill_names_the_operation_that_it_settles(graph, caplog):
    run_child(graph.uri, "load_append", "write.after_effects:kill")
    (operation,) = harbor.pending(graph)
    with caplog.at_level(logging.INFO, "omnigraph"):
        graph.load(harbor.lines(NEW), mode="append")
    recovered = [record for record in ours(caplog) if "interrupted" in record.getMessage()]
    assert [record.levelname for record in recovered] == ["INFO"]
    assert recovered[0].operation_id == operation
    assert recovered[0].graph == graph.uri
    armed = [record for record in ours(caplog) if "armed on branch" in record.getMessage()]
    assert [record.operation_id == operation for record in armed] == [False]


def test_a_blocked_sidecar_is_a_warning_about_that_operation(graph, caplog):
    run_child(graph.uri, "load_append", "write.after_effects:kill")
    (operation,) = harbor.pending(graph)
    Path(graph.uri, "__recovery", f"{operation}.json").write_text("{")
    with caplog.at_level(logging.INFO, "omnigraph"), pytest.raises(RecoveryRequired):
        graph.load(harbor.lines(NEW), mode="append")
    (warning,) = [record for record in ours(caplog) if record.levelno == logging.WARNING]
    assert warning.getMessage().startswith("recovery is blocked")
    assert (warning.operation_id, warning.graph) == (operation, graph.uri)


def test_maintenance_says_when_it_finished(graph, caplog):
    with caplog.at_level(logging.INFO, "omnigraph"):
        graph.optimize()
        graph.cleanup(keep=3, confirm=True)
    finished = [record for record in ours(caplog) if "finished in" in record.getMessage()]
    assert [record.getMessage().split()[0] for record in finished] == ["optimize", "cleanup"]
    assert {record.graph for record in ours(caplog)} == {graph.uri}
    armed = [record for record in ours(caplog) if "optimize armed" in record.getMessage()]
    assert len(armed) == 1
    assert armed[0].operation_id is not None


def test_a_library_prints_nothing_by_itself(tmp_path):
    script = (
        "import logging, omnigraph\n"
        f"omnigraph.init({str(tmp_path / 'g.omni')!r}, 'node A {{ name: String @key }}')\n"
        "from omnigraph.base.logs import logger_of\n"
        "logger_of('omnigraph.test').warning('unheard')\n"
        "print(logging.getLogger().handlers, logging.getLogger('omnigraph').level)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("[] 0\n", "")


@pytest.mark.parametrize(("word", "told"), [("", []), ("info", ["INFO"]), ("DEBUG", ["DEBUG", "INFO"]), ("error", [])])
def test_the_command_line_logs_at_the_level_of_the_variable(graph, monkeypatch, capsys, tmp_path, word, told):
    data = tmp_path / "new.jsonl"
    data.write_bytes(harbor.lines(NEW).read())
    monkeypatch.setenv("OMNIGRAPH_LOG", word)
    assert main(["load", "--data", str(data), "--mode", "append", "--quiet", "--store", graph.uri]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " omnigraph." in line]
    assert sorted({line.split()[1] for line in lines}) == told
    assert all(f"[{graph.uri}]" in line for line in lines)
    assert logging.getLogger("omnigraph").level == logging.NOTSET
    assert os.environ["OMNIGRAPH_LOG"] == word


def test_an_unknown_level_is_named_and_ignored(graph, monkeypatch, capsys):
    monkeypatch.setenv("OMNIGRAPH_LOG", "loud")
    assert main(["branch", "list", "--store", graph.uri]) == 0
    assert (
        "OMNIGRAPH_LOG is 'loud' and was ignored; it is one of debug, info, warning, error" in capsys.readouterr().err
    )
