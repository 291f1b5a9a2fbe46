"""One run over many graphs: what is due is done, on exactly the graphs that need it, and everything else is told."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import omnigraph
from omnigraph.base import clock
from omnigraph.cluster.maintaining import upkeep_of_cluster, upkeep_of_graph
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.graphs.holding import MAINTENANCE_LOCK
from omnigraph.maintenance.maintain.report import MaintainReport
from omnigraph.maintenance.maintain.request import MaintainRequest
from omnigraph.maintenance.maintain.rounds import run_maintain, shared_engine
from omnigraph.maintenance.maintain.run import MAINTAIN_LOCK, chosen_engine
from omnigraph.maintenance.maintain.settings import GraphSettings
from support import harbor, raw_tables
from support.failpoints import armed
from support.museum import graph_in_order, leave_work, museum, statuses, write_ledger

DAY_US = 86_400 * 1_000_000


def maintain(
    root: str, *, settings: Any = None, now_us: Callable[[], int] = clock.now_us, **options: Any
) -> MaintainReport:
    """Run once over a cluster, at a time of the test's choice."""
    upkeep = upkeep_of_cluster(root, settings=settings)
    return run_maintain(upkeep.graphs, MaintainRequest(**options), upkeep.journal, about=root, now_us=now_us)


def at(text: str) -> Callable[[], int]:
    moment = round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)
    return lambda: moment


def test_exactly_the_graphs_that_need_something_are_touched(tmp_path):
    names = [f"g{number}" for number in range(8)]
    graphs = museum(str(tmp_path), names, due=["g2", "g5"])
    before = {name: harbor.files_of(graph) for name, graph in graphs.items()}
    rows = harbor.content(graphs["g2"])

    report = maintain(str(tmp_path))

    changed = {name for name, graph in graphs.items() if harbor.files_of(graph) != before[name]}
    assert changed == {"g2", "g5"}
    assert statuses(report) == {name: "done" if name in changed else "nothing_due" for name in names}
    assert harbor.content(graphs["g2"]) == rows
    assert "fragments could be" in report.having("done")[0].steps[0].step.why[0]
    assert report.failure is None


def test_what_nobody_changed_is_not_looked_at_closely_again_until_a_day_has_passed(tmp_path):
    graphs = museum(str(tmp_path), ["one", "two"])
    noon = at("2026-03-04T12:00:00")

    first = maintain(str(tmp_path), now_us=noon)
    second = maintain(str(tmp_path), now_us=lambda: noon() + DAY_US // 2)
    graphs["two"].load(harbor.lines([{"type": "Artist", "data": {"name": "Mia"}}]), mode="append")
    third = maintain(str(tmp_path), now_us=lambda: noon() + DAY_US // 2)
    later = maintain(str(tmp_path), now_us=lambda: noon() + DAY_US)

    assert statuses(first) == {"one": "nothing_due", "two": "nothing_due"}
    assert statuses(second) == {"one": "unchanged", "two": "unchanged"}
    assert statuses(third) == {"one": "unchanged", "two": "done"}
    assert statuses(later) == {"one": "nothing_due", "two": "nothing_due"}
    assert "2026-03-04 12:00:00" in second.graphs[0].reason


@pytest.mark.parametrize("what", ["settings", "branch", "full"])
def test_other_settings_a_new_branch_and_a_wish_bring_a_full_look(tmp_path, what):
    graph = museum(str(tmp_path), ["one"])["one"]
    maintain(str(tmp_path))
    assert statuses(maintain(str(tmp_path))) == {"one": "unchanged"}

    if what == "branch":
        graph.branches.create("review")
    settings = {"max_time": "1h"} if what == "settings" else None
    report = maintain(str(tmp_path), settings=settings, full=what == "full")

    assert statuses(report) == {"one": "nothing_due"}


def test_a_preview_shows_the_steps_of_the_run_and_writes_nothing(tmp_path):
    graphs = museum(str(tmp_path), ["one", "two"], due=["two"])
    before = {name: harbor.files_of(graph) for name, graph in graphs.items()}
    control_before = sorted((tmp_path / "__cluster").rglob("*"))

    preview = maintain(str(tmp_path), dry_run=True)
    untouched = {name: harbor.files_of(graph) for name, graph in graphs.items()}
    control = sorted((tmp_path / "__cluster").rglob("*"))
    run = maintain(str(tmp_path))

    assert (untouched, control) == (before, control_before)
    assert statuses(preview) == {"one": "nothing_due", "two": "due"}
    assert [step.step for step in preview.graphs[1].steps] == [step.step for step in run.graphs[1].steps]
    assert preview.run_id is None
    assert run.run_id is not None


def test_drift_is_left_alone_and_told_with_the_command_for_a_person(tmp_path):
    root = str(tmp_path)
    graph = harbor.new_graph(f"{root}/graphs/harbor.omni")
    graph.optimize()
    raw_tables.foreign_append(graph, "Note", id="n1", text="from nowhere")
    graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")
    museum(root, ["fine"])
    write_ledger(root, ["fine", "harbor"])
    heads = raw_tables.heads(graph)

    report = maintain(root)

    (finding,) = report.graphs[1].plan.for_people
    assert statuses(report) == {"fine": "nothing_due", "harbor": "done"}
    assert (finding.code, finding.tables) == ("drift", ("node:Note",))
    assert finding.fix == f"omnigraph repair {graph.uri}"
    assert raw_tables.heads(graph)["node:Note"] == heads["node:Note"]
    assert raw_tables.heads(graph)["node:Sailor"] > heads["node:Sailor"]
    assert isinstance(report.failure, omnigraph.errors.NeedsPerson)
    assert report.failure.exit_code == 10


def test_an_interrupted_write_is_settled_first_and_the_rest_follows(tmp_path):
    graph = museum(str(tmp_path), ["one"], due=["one"])["one"]
    with pytest.raises(BaseException, match=r"write\.after_effects"), armed("write.after_effects:die"):
        graph.load(harbor.lines([{"type": "Artist", "data": {"name": "half"}}]), mode="append")
    assert harbor.pending(graph)

    preview = maintain(str(tmp_path), dry_run=True)
    report = maintain(str(tmp_path))

    assert [type(step.step).__name__ for step in preview.graphs[0].steps] == ["Recover"]
    assert [type(step.step).__name__ for step in report.graphs[0].steps] == ["Recover", "Optimize"]
    assert statuses(report) == {"one": "done"}
    assert not harbor.pending(graph)
    assert harbor.pins_equal_heads(graph)


def test_a_graph_that_cannot_be_read_keeps_none_of_the_others_waiting(tmp_path):
    graphs = museum(str(tmp_path), ["broken", "due", "gone"], due=["due"])
    for manifest in (tmp_path / "graphs" / "broken.omni" / "__manifest" / "_versions").iterdir():
        manifest.write_bytes(b"nonsense")
    shutil.rmtree(tmp_path / "graphs" / "gone.omni")

    report = maintain(str(tmp_path))

    assert statuses(report) == {"broken": "failed", "due": "done", "gone": "failed"}
    assert isinstance(report.failure, omnigraph.errors.MaintainFailed)
    assert report.failure.details["graphs"] == ["broken", "gone"]
    assert not graphs["due"].health().findings or graphs["due"].health().status.value == "healthy"


@pytest.mark.parametrize("lock", [MAINTAIN_LOCK, MAINTENANCE_LOCK])
def test_a_graph_that_is_maintained_elsewhere_is_left_to_whoever_does(tmp_path, lock):
    graphs = museum(str(tmp_path), ["busy", "free"], due=["busy", "free"])
    before = graphs["busy"].snapshot().graph_version

    with graphs["busy"]._context.store.locks.acquire(lock, operation="somebody else", wait_seconds=0.0):
        report = maintain(str(tmp_path))

    assert statuses(report) == {"busy": "elsewhere", "free": "done"}
    assert "somebody else in process" in report.graphs[0].reason
    assert graphs["busy"].snapshot().graph_version == before
    assert report.failure is None


def test_when_the_time_is_up_the_rest_is_left_and_the_next_run_does_it(tmp_path):
    museum(str(tmp_path), ["one", "two"], due=["one", "two"])

    report = maintain(str(tmp_path), max_seconds=0)
    again = maintain(str(tmp_path))

    assert statuses(report) == {"one": "left", "two": "left"}
    assert "the time for this run is up" in report.graphs[0].reason
    assert report.failure is None
    assert statuses(again) == {"one": "done", "two": "done"}


def test_bytes_that_one_graph_used_the_next_does_not_have(tmp_path):
    museum(str(tmp_path), ["one", "two"], due=["one", "two"])

    report = maintain(str(tmp_path), max_bytes=1)
    last = [graph for graph in report.graphs if graph.status.value == "left"]

    assert last
    assert all(graph.status.value in {"left", "done"} for graph in report.graphs)
    assert statuses(maintain(str(tmp_path))).keys() == {"one", "two"}


def test_the_graph_that_waited_longest_comes_first(tmp_path):
    graphs = museum(str(tmp_path), ["a", "b"], due=["a", "b"])
    graphs["a"].optimize()
    leave_work(graphs["a"])
    seen: list[str] = []
    upkeep = upkeep_of_cluster(str(tmp_path))

    def listen(event: omnigraph.Event) -> None:
        if isinstance(event, omnigraph.Noted):
            seen.append(event.message.partition(":")[0])

    run_maintain(upkeep.graphs, MaintainRequest(), upkeep.journal, about="", events=listen)

    assert list(dict.fromkeys(seen)) == ["b", "a"]


def test_in_quiet_hours_nothing_is_changed_and_the_end_of_them_is_told(tmp_path):
    graphs = museum(str(tmp_path), ["one"], due=["one"])
    before = harbor.files_of(graphs["one"])
    settings = {"quiet_hours": ["08:00-18:00"]}

    quiet = maintain(str(tmp_path), settings=settings, now_us=at("2026-03-04T12:00:00"))
    untouched = harbor.files_of(graphs["one"])
    evening = maintain(str(tmp_path), settings=settings, now_us=at("2026-03-04T18:00:00"))

    assert statuses(quiet) == {"one": "quiet_hours"}
    assert "until 2026-03-04 18:00+00:00; then due:" in quiet.graphs[0].reason
    assert untouched == before
    assert statuses(evening) == {"one": "done"}


def test_a_step_that_would_begin_in_quiet_hours_is_left(tmp_path):
    museum(str(tmp_path), ["one"], due=["one"])
    looks = iter([at("2026-03-04T07:59:00")()] * 8)

    report = maintain(
        str(tmp_path),
        settings={"quiet_hours": ["08:00-18:00"]},
        now_us=lambda: next(looks, at("2026-03-04T08:00:00")()),
    )

    assert statuses(report)["one"] in {"left", "quiet_hours"}


def test_versions_are_removed_only_where_somebody_said_what_stays(tmp_path):
    graph = museum(str(tmp_path), ["one"], due=["one"])["one"]
    leave_work(graph, loads=6)
    graph.optimize()
    versions = [commit.graph_version for commit in graph.commits()]

    without = maintain(str(tmp_path), full=True)
    still = len(graph.snapshot(version=versions[-1]).tables)
    cleaning = {"cleanup": {"keep": 1, "reclaimable": 1, "share": 0}}
    report = maintain(str(tmp_path), settings=cleaning, full=True)

    assert statuses(without) == {"one": "nothing_due"}
    assert still
    assert [type(step.step).__name__ for step in report.graphs[0].steps] == ["Cleanup"]
    assert report.graphs[0].steps[0].bytes > 0
    assert "removed" in report.graphs[0].steps[0].detail
    assert statuses(maintain(str(tmp_path), settings=cleaning, full=True)) == {"one": "nothing_due"}


def test_branches_are_optimized_too_unless_main_alone_is_wanted(tmp_path):
    graph = museum(str(tmp_path), ["one"])["one"]
    graph.branches.create("review")
    for name in ("Lou", "Kai"):
        graph.load(harbor.lines([{"type": "Artist", "data": {"name": name}}]), mode="append", branch="review")

    alone = maintain(str(tmp_path), settings={"optimize": {"branches": "main"}}, full=True)
    report = maintain(str(tmp_path), full=True)

    assert statuses(alone) == {"one": "nothing_due"}
    assert [step.step.branch for step in report.graphs[0].steps] == ["review"]
    assert statuses(report) == {"one": "done"}


def test_thresholds_decide_what_is_worth_a_run(tmp_path):
    museum(str(tmp_path), ["one"], due=["one"])

    patient = maintain(str(tmp_path), settings={"optimize": {"fragments": 50, "coverage": 0.1}}, full=True)
    off = maintain(str(tmp_path), settings={"optimize": False}, full=True)
    switched_off = maintain(str(tmp_path), settings={"graphs": {"one": {"enabled": False}}})
    eager = maintain(str(tmp_path))

    assert statuses(patient) == {"one": "nothing_due"}
    assert statuses(off) == {"one": "nothing_due"}
    assert statuses(switched_off) == {"one": "disabled"}
    assert statuses(eager) == {"one": "done"}


def test_several_workers_do_the_same(tmp_path):
    names = ["a", "b", "c", "d"]
    museum(str(tmp_path), names, due=names)

    report = maintain(str(tmp_path), workers=3)

    assert statuses(report) == dict.fromkeys(names, "done")


def test_one_graph_by_itself_has_its_own_journal(tmp_path):
    graph = leave_work(graph_in_order(str(tmp_path / "lone.omni")))

    first = graph.maintain()
    second = graph.maintain()
    third = graph.maintain()

    assert [statuses(report)["lone"] for report in (first, second, third)] == ["done", "nothing_due", "unchanged"]
    lines = upkeep_of_graph(graph.uri).journal.read(10)
    assert [line.run_id for line in lines] == [first.run_id, second.run_id, third.run_id]
    assert [line.verb for line in lines] == ["maintain"] * 3
    assert not any(run.verb == "maintain" for run in graph.health().health.runs)


def test_the_journal_is_bounded_and_what_cannot_be_read_of_it_is_left_out(tmp_path):
    museum(str(tmp_path), ["one"])
    journal = tmp_path / "__cluster" / "maintain"
    journal.mkdir()
    for number in range(120):
        journal.joinpath(f"00000000000000000000000{number:03}.json").write_text("{", encoding="utf-8")

    report = maintain(str(tmp_path))

    left = sorted(path.name for path in journal.iterdir())
    assert len(left) == 100
    assert left[-1] == f"{report.run_id}.json"
    assert [line.run_id for line in upkeep_of_cluster(str(tmp_path)).journal.read(5)] == [report.run_id]


@pytest.mark.parametrize(("total", "least"), [((8 << 30) - 1, None), (8 << 30, 32 << 20)])
def test_all_graphs_together_pay_for_one_session(total, least):
    assert shared_engine(EngineChoice(), total).spark_min_bytes == least
    forced = EngineChoice(engine=EngineName.LOCAL)
    assert shared_engine(forced, total) == forced


def test_the_engine_of_the_settings_counts_where_nobody_asked_for_another():
    wants_spark = GraphSettings(engine=EngineName.SPARK)
    asked = EngineChoice(engine=EngineName.LOCAL, setting="--engine")

    assert chosen_engine(EngineChoice(), wants_spark).engine is EngineName.SPARK
    assert chosen_engine(asked, wants_spark) == asked


def test_a_time_budget_of_a_graph_is_its_own(tmp_path):
    museum(str(tmp_path), ["one", "two"], due=["one", "two"])
    started = at("2026-03-04T12:00:00")()
    passed = iter(range(0, 10_000_000_000, 60_000_000))

    report = maintain(
        str(tmp_path),
        settings={"graphs": {"one": {"max_time": "1s"}}},
        now_us=lambda: started + next(passed),
    )

    assert statuses(report) == {"one": "left", "two": "done"}
    assert timedelta(milliseconds=report.duration_ms) < timedelta(minutes=1)
