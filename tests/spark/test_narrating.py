"""What a write through the data source says while it runs, and to whom."""

import logging

import pytest

from omnigraph.base.events import Advanced, PhaseFinished, PhaseStarted, Warned
from omnigraph.base.logs import OperationLogger
from omnigraph.connectors.spark import narrating
from omnigraph.connectors.spark.narrating import Narrator, heard, tell_begin, tell_end


@pytest.fixture(autouse=True)
def logger(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """A logger as in a process of Spark's: nobody listens, pytest included."""
    alone = logging.Logger("omnigraph.spark")  # noqa: LOG001 — one that belongs to nobody
    monkeypatch.setattr(narrating, "_log", OperationLogger(alone, None))
    return alone


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines without their times."""
    return [line.partition(" omnigraph: ")[2] for line in capsys.readouterr().err.splitlines()]


def test_a_write_is_told_from_beginning_to_end_and_leaves_no_listener(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (list(logger.handlers), logger.level)

    with heard("g.omni", shows=True):
        tell_begin("rows of Port", "branch main of g.omni, append")
        narrator = Narrator()
        for event in (
            PhaseStarted(phase="reading stored keys", total=4_000_000, unit="rows"),
            Advanced(phase="reading stored keys", done=1, total=4_000_000, unit="rows"),
            PhaseFinished(phase="reading stored keys"),
            PhaseStarted(phase="checking"),
            PhaseStarted(phase="publishing", total=1, unit="tables"),
            PhaseStarted(phase="putting small partitions together", total=3 << 20, unit="bytes"),
            Warned(message="somebody should look"),
        ):
            narrator(event)
        tell_end("the frame", 1_234, 3, None)
    tell_end("after the end", 1, 1, None)

    assert said(capsys) == [
        "writing rows of Port to branch main of g.omni, append",
        "reading stored keys: 4,000,000 rows",
        "checking",
        "publishing: 1 table",
        "putting small partitions together: 3 MiB",
        "somebody should look",
        "the frame: 1,234 rows of 3 partitions; nothing to change",
    ]
    assert (logger.handlers, logger.level) == before


def test_how_far_a_phase_or_a_partition_is_comes_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(narrating.clock, "monotonic_seconds", lambda: now)
    with heard("g.omni", shows=True):
        narrator = Narrator()
        took = narrator.rows_of_partition(7)
        for now in (1.0, 4.9, 5.1, 6.0, 10.2):  # noqa: B007 — what the clock says
            took(1_000)
        now = 20.0
        narrator(Advanced(phase="checking", done=5, total=9, unit="rows"))

    assert said(capsys) == ["partition 7: 3,000 rows", "partition 7: 5,000 rows", "checking: 5 of 9 rows"]


def test_what_nobody_wants_or_somebody_hears_already_is_not_said_again(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with heard("g.omni", shows=False):
        tell_begin("records", "nowhere")
    assert said(capsys) == []

    logger.addHandler(caplog.handler)
    logger.setLevel(logging.INFO)
    with heard("g.omni", shows=True):
        tell_begin("records", "a log")

    assert (said(capsys), caplog.messages) == ([], ["writing records to a log"])
