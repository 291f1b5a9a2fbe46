"""One damaged place is a finding with its remedy; everything else about the graph is still told."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.main import main
from omnigraph.errors import StorageError
from omnigraph.graph import Graph
from omnigraph.maintenance.health.judging import Finding, HealthReport, Severity, Status, report_health
from support import harbor


@pytest.fixture
def root(local_root: str) -> Path:
    """A graph in good order, except that the branch `review` has a table of its own to optimize."""
    graph = harbor.new_graph(local_root)
    graph.optimize()
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review")
    return Path(local_root)


def look(root: Path) -> HealthReport:
    return omnigraph.open(str(root), read_only=True).health()


def actions(report: HealthReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity is Severity.ACTION]


def sailors(root: Path) -> Path:
    return next(table for table in (root / "nodes").iterdir() if (table / "tree").exists())


def garble(directory: Path) -> None:
    for file in directory.iterdir():
        file.write_bytes(b"garbage")


def lose(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink()


@pytest.mark.parametrize("harm", [garble, shutil.rmtree])
def test_a_branch_that_cannot_be_read_is_named_and_main_is_still_judged(
    root: Path, harm: Callable[[Path], None]
) -> None:
    harm(root / "__manifest" / "tree" / "review" / "_versions")

    report = look(root)

    (finding,) = actions(report)
    assert (report.status, finding.code, finding.branch) == (Status.ACTION, "branch_unreadable", "review")
    assert "restore __manifest/tree/review from a backup" in finding.message
    assert {table.branch for table in report.health.tables} == {"main"}
    assert len(report.health.tables) == 5


def test_a_table_that_cannot_be_read_is_named_and_the_others_are_still_judged(root: Path) -> None:
    garble(sailors(root) / "_versions")

    report = look(root)

    damaged = [(finding.code, finding.table_key, finding.branch) for finding in actions(report)]
    assert ("table_unreadable", "node:Sailor", None) in damaged
    assert len(report.health.tables) >= 4


def test_a_damaged_table_of_a_branch_says_what_giving_up_the_branch_would_be(root: Path) -> None:
    garble(next((sailors(root) / "tree").iterdir()) / "_versions")

    report = look(root)

    (finding,) = actions(report)
    assert (finding.code, finding.table_key, finding.branch) == ("table_unreadable", "node:Sailor", "review")
    assert f"`omnigraph branch delete --store {root} review`" in finding.message
    assert "branch delete" not in finding.fix


def test_a_ref_that_is_gone_is_found_although_the_table_still_opens_and_the_fix_heals_it(root: Path) -> None:
    lose(sailors(root) / "_refs" / "branches")

    report = look(root)

    (finding,) = actions(report)
    assert (finding.code, finding.table_key, finding.branch) == ("ref_missing", "node:Sailor", "review")
    assert main(shlex.split(finding.fix)[1:]) == 0
    assert actions(look(root)) == []
    assert "Zed" in harbor.content(omnigraph.open(str(root)))


def test_a_list_of_branches_that_cannot_be_read_leaves_main(root: Path) -> None:
    garble(root / "__manifest" / "_refs" / "branches")

    report = look(root)

    assert [finding.code for finding in actions(report)] == ["internal_unreadable"]
    assert len(report.health.tables) == 5


def test_a_damaged_commit_log_is_one_finding(root: Path) -> None:
    garble(root / "_graph_commits" / "_versions")

    report = look(root)

    assert [finding.code for finding in actions(report)] == ["internal_unreadable"]
    assert "restore _graph_commits from a backup" in actions(report)[0].message
    assert len(report.health.tables) == 6


def test_a_lost_schema_is_told_with_what_its_own_error_says(root: Path) -> None:
    shutil.rmtree(root / "_schemas")

    findings = actions(look(root))

    assert [(finding.code, finding.branch) for finding in findings] == [
        ("branch_unreadable", None),
        ("branch_unreadable", "review"),
    ]
    assert all("_schemas/" in finding.message for finding in findings)


def test_a_command_sees_damage_with_exit_code_2_and_a_lost_main_manifest_with_70(root: Path) -> None:
    garble(sailors(root) / "_versions")
    assert main(["health", str(root), "--json"]) == 2

    garble(root / "__manifest" / "_versions")
    assert main(["health", str(root)]) == 70


def test_a_store_that_does_not_answer_is_no_damage(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.open(str(root), read_only=True)

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the store is away", storage_kind="transient", uri=str(root))

    monkeypatch.setattr("omnigraph.maintenance.health.tables.observe_table", refuse)

    with pytest.raises(StorageError, match="the store is away"):
        graph.health()


@pytest.mark.parametrize(
    "moment", ["omnigraph.maintenance.health.facts.capture_branch", "omnigraph.maintenance.health.tables.observe_table"]
)
def test_a_branch_that_is_deleted_meanwhile_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    graph = omnigraph.open(str(root))
    reading = omnigraph.open(str(root), read_only=True)
    delete_before(monkeypatch, moment, graph, "review")

    report = report_health(reading._context)

    assert report.status is Status.HEALTHY
    assert report.health.branches == ()
    assert {table.branch for table in report.health.tables} == {"main"}


def delete_before(monkeypatch: pytest.MonkeyPatch, moment: str, graph: Graph, branch: str) -> None:
    """Delete a branch right before health first looks at something."""
    module, name = moment.rsplit(".", 1)
    look_at = getattr(__import__(module, fromlist=[name]), name)
    waiting = [branch]

    def look(*args: object) -> object:
        # The second argument, or what is captured, tells which branch it is about.
        if waiting and branch in (args[1], getattr(getattr(args[0], "snapshot", None), "branch", None)):
            graph.branches.delete(waiting.pop())
        return look_at(*args)

    monkeypatch.setattr(moment, look)
