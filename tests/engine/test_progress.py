"""Long work tells how far it is, in rows or bytes of a known total, on both engines."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from omnigraph.base.events import Advanced, EngineChosen, Event, PhaseFinished, PhaseStarted
from omnigraph.base.progress_line import ProgressLine
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.pipeline.load import inputs, lines
from omnigraph.pipeline.load.bulk import pieces
from support.graphs import graph_of

SCHEMA = """
node Sailor { name: String @key  rank: String? }
edge Mentors: Sailor -> Sailor
"""
ENGINES = ("local", "spark")
SAILORS = 400


@pytest.fixture
def harbor(local_root: str) -> Graph:
    return graph_of(local_root, SCHEMA)


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut what is small as if it were large."""
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", 0)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 4_000)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 4_000)


@pytest.fixture
def crew(tmp_path: Path) -> Path:
    path = tmp_path / "crew.jsonl"
    sailors = [f'{{"type": "Sailor", "data": {{"name": "s{n:04}"}}}}\n' for n in range(SAILORS)]
    mentors = [f'{{"edge": "Mentors", "from": "s{n:04}", "to": "s{n + 1:04}"}}\n' for n in range(SAILORS - 1)]
    path.write_text("".join(sailors + mentors), encoding="utf-8")
    return path


class Told:
    """The events of one operation, and what they say about each phase."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def started(self, name: str) -> PhaseStarted:
        (found,) = [event for event in self.events if isinstance(event, PhaseStarted) and event.phase == name]
        return found

    def steps(self, name: str) -> list[int]:
        return [event.done for event in self.events if isinstance(event, Advanced) and event.phase == name]

    def assert_whole(self, name: str, *, total: int, unit: str) -> None:
        """The phase had this total, never went back, came to its end, and said so."""
        steps = self.steps(name)
        started = self.started(name)
        assert (started.total, started.unit) == (total, unit)
        assert steps == sorted(steps)
        assert steps[-1] == total
        assert PhaseFinished(phase=name) in self.events

    def assert_balanced(self) -> None:
        """Whatever started has finished."""
        names = {event.phase for event in self.events if isinstance(event, PhaseStarted)}
        assert names == {event.phase for event in self.events if isinstance(event, PhaseFinished)}
        assert {event.phase for event in self.events if isinstance(event, Advanced)} <= names


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_tells_the_bytes_it_read_the_rows_it_checked_and_the_tables_it_published(
    harbor: Graph, crew: Path, in_pieces: None, engine: str
) -> None:
    told = Told()

    harbor.load(str(crew), mode="append", engine=engine, events=told)

    told.assert_balanced()
    told.assert_whole("reading the input", total=crew.stat().st_size, unit="bytes")
    assert len(told.steps("reading the input")) >= 4, "one step per piece at the least"
    rows = 2 * SAILORS - 1
    checked = [event for event in told.events if isinstance(event, Advanced) and event.unit == "rows"]
    assert (checked[-1].phase, checked[-1].done, checked[-1].total) == ("checking", rows, rows)
    told.assert_whole("publishing", total=2, unit="tables")
    names = [event.phase for event in told.events if isinstance(event, PhaseStarted)]
    assert ("starting Spark" in names) == (engine == "spark")


def test_workers_of_spark_are_heard_before_their_tasks_end(
    harbor: Graph, crew: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One piece, so one task: everything that is told before the last step was said by the running task."""
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", 0)
    whole = crew.read_bytes()
    crew.write_bytes(whole + b"\n" * (3 * lines.CHUNK_BYTES))
    told = Told()

    harbor.load(str(crew), mode="append", engine="spark", events=told)

    size = crew.stat().st_size
    told.assert_whole("reading the input", total=size, unit="bytes")
    assert any(0 < done < size for done in told.steps("reading the input"))


def test_the_line_of_a_real_load_has_a_total_a_rate_and_the_time_left(
    harbor: Graph, crew: Path, in_pieces: None
) -> None:
    """A second passes with every event; what a terminal would show is made from real events."""
    shown: list[str] = []
    line, now = ProgressLine("opening the graph", 0.0), 0.0

    def follow(event: Event) -> None:
        nonlocal now
        now += 1.0
        line.receive(event, now)
        shown.append(line.text(now))

    harbor.load(str(crew), mode="append", engine="local", events=follow)

    share = r"reading the input: [0-9.]+ (B|KiB) of [0-9.]+ KiB \([0-9]+%\), [0-9.]+ (B|KiB)/s, [0-9]+ s left"
    assert any(re.search(share, text) for text in shown)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_merging_load_tells_the_rows_it_merged(harbor: Graph, crew: Path, in_pieces: None, engine: str) -> None:
    harbor.load(str(crew), mode="append", engine="local")
    told = Told()

    harbor.load(str(crew), mode="merge", engine=engine, events=told)

    told.assert_balanced()
    told.assert_whole("reading stored keys", total=SAILORS, unit="rows")
    told.assert_whole("merging", total=2 * SAILORS - 1, unit="rows")


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_tables_are_told_in_bytes_of_their_files(harbor: Graph, tmp_path: Path, in_pieces: None, form: str) -> None:
    path = tmp_path / f"sailors.{form}"
    table = pa.table({"name": [f"s{n:04}" for n in range(10 * SAILORS)]})
    if form == "parquet":
        pq.write_table(table, path, row_group_size=1_000)
    else:
        with pa.output_stream(str(path), compression="gzip" if form == "csv.gz" else None) as stream:
            pa_csv.write_csv(table, stream)
    told = Told()

    harbor.load(str(path), mode="append", type="Sailor", engine="local", events=told)

    told.assert_balanced()
    reading = told.started("reading the input")
    assert reading.unit == "bytes"
    assert path.stat().st_size - 8 <= (reading.total or 0) <= path.stat().st_size
    assert told.steps("reading the input")[-1] == reading.total
    if form != "parquet":  # copied first, by the one process that can read it from its beginning
        assert told.steps("looking at the input")[-1] >= path.stat().st_size


@pytest.mark.parametrize("form", ["jsonl", "parquet", "lance"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_export_tells_rows(harbor: Graph, crew: Path, tmp_path: Path, engine: str, form: str) -> None:
    harbor.load(str(crew), mode="append", engine="local")
    told = Told()

    harbor.export(f"{tmp_path}/out/", format=form, engine=engine, events=told)  # type: ignore[arg-type]

    told.assert_balanced()
    told.assert_whole("exporting", total=2 * SAILORS - 1, unit="rows")


@pytest.mark.parametrize("engine", ENGINES)
def test_optimize_tells_the_bytes_it_rewrote(harbor: Graph, crew: Path, in_pieces: None, engine: str) -> None:
    harbor.load(str(crew), mode="append", engine="local")
    told = Told()

    result = harbor.optimize(engine=engine, events=told)

    told.assert_balanced()
    total = told.started("rewriting and indexing").total
    assert total is not None
    assert total >= result.bytes_rewritten > 0
    told.assert_whole("rewriting and indexing", total=total, unit="bytes")
    told.assert_whole("looking at the tables", total=2, unit="tables")
    told.assert_whole("publishing", total=2, unit="tables")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_merge_of_branches_tells_rows(harbor: Graph, crew: Path, engine: str) -> None:
    harbor.branches.create("review")
    harbor.load(str(crew), mode="append", branch="review", engine="local")
    told = Told()

    in_bulk = EngineChoice(engine=EngineName(engine), spark_min_bytes=0)
    harbor.branches.merge("review", engine=in_bulk, events=told)

    told.assert_balanced()
    told.assert_whole("comparing the branches", total=2, unit="tables")
    told.assert_whole("merging", total=2 * SAILORS - 1, unit="rows")


@pytest.mark.parametrize(("confirm", "name"), [(False, "looking at the tables"), (True, "cleaning up")])
def test_cleanup_tells_the_tables_it_is_done_with(harbor: Graph, crew: Path, confirm: bool, name: str) -> None:
    harbor.load(str(crew), mode="append", engine="local")
    told = Told()

    report = harbor.cleanup(CleanupPolicy(keep_versions=1), confirm=confirm, events=told)

    told.assert_balanced()
    total = told.started(name).total
    assert total is not None
    assert total >= 2
    told.assert_whole(name, total=total, unit="tables")
    assert len(told.steps(name)) == total, "one step per table"
    assert report.executed == confirm


def test_a_listener_that_fails_does_not_stop_the_work(harbor: Graph, crew: Path) -> None:
    def broken(event: Event) -> None:
        if not isinstance(event, EngineChosen):
            raise OSError(f"no display for {event}")

    loaded = harbor.load(str(crew), mode="append", engine=EngineChoice(engine=EngineName.LOCAL), events=broken)

    assert loaded.commit is not None
    assert loaded.total_rows == 2 * SAILORS - 1
