"""The progress line: what it says, when it is drawn, and what it leaves behind. Time is a number that tests set."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.base.events import Advanced, Noted, PhaseFinished, PhaseStarted, Warned, phase
from omnigraph.base.progress_line import ProgressLine, clip
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.notices import Notices
from omnigraph.cli.progress import PLAIN_LINE_SECONDS, TICK_SECONDS, LiveLine, PlainLines, follow_progress

MIB = 1 << 20


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Screen(io.StringIO):
    """A terminal that remembers every draw, and can say what is on its last line."""

    def draws(self) -> list[str]:
        return [drawn for drawn in self.getvalue().split("\r\x1b[K") if drawn]

    def fileno(self) -> int:
        raise OSError("no descriptor")  # the width is then taken to be 80


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def live(screen: Screen, clock: Clock) -> LiveLine:
    return LiveLine(screen, Notices(is_quiet=False), "opening the graph", now=clock)


class TestTheText:
    def text(self, line: ProgressLine, now: float) -> str:
        return line.plain_text(now)

    def test_without_a_total_the_seconds_of_the_phase_are_counted(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="starting Spark"), 2.0)

        assert line.text(9.0) == "[0:09] starting Spark (7 s)"

    def test_with_a_total_it_says_how_far_how_fast_and_how_long(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="reading the input", total=300 * MIB, unit="bytes"), 0.0)
        line.receive(Advanced(phase="reading the input", done=20 * MIB, total=300 * MIB, unit="bytes"), 2.0)
        line.receive(Advanced(phase="reading the input", done=100 * MIB, total=300 * MIB, unit="bytes"), 10.0)

        assert line.text(10.0) == "[0:10] reading the input: 100 MiB of 300 MiB (33%), 10 MiB/s, 20 s left"

    def test_rows_are_counted_with_their_unit(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(Advanced(phase="exporting", done=1_500_000, total=2_000_000, unit="rows"), 60.0)

        assert self.text(line, 60.0) == "exporting: 1,500,000 of 2,000,000 rows (75%)"
        assert self.text(line, 90.0).endswith("50,000 rows/s, 10 s left")

    def test_an_unknown_total_still_has_a_count_and_a_rate(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="reading the input", unit="bytes"), 0.0)
        line.receive(Advanced(phase="reading the input", done=8 * MIB, total=None, unit="bytes"), 2.0)

        assert self.text(line, 2.0) == "reading the input: 8 MiB, 4 MiB/s"

    def test_slow_work_has_a_rate_that_is_not_zero(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="publishing", total=4, unit="tables"), 0.0)
        line.receive(Advanced(phase="publishing", done=1, total=4, unit="tables"), 2.0)

        assert self.text(line, 4.0) == "publishing: 1 of 4 tables (25%), 0.2 tables/s, 12 s left"

    def test_the_rate_follows_a_change_of_pace(self):
        """Slow for a minute, then fast: the time left is worked out from how it goes now."""
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="exporting", total=100_000, unit="rows"), 0.0)
        for second in range(61):
            line.receive(Advanced(phase="exporting", done=second, total=100_000, unit="rows"), float(second))
        for second in range(61, 91):
            done = 60 + (second - 60) * 1_000
            line.receive(Advanced(phase="exporting", done=done, total=100_000, unit="rows"), float(second))

        assert "1,000 rows/s, 1 min 10 s left" in self.text(line, 90.0)

    def test_the_time_left_grows_while_nothing_moves(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="exporting", total=200, unit="rows"), 0.0)
        line.receive(Advanced(phase="exporting", done=100, total=200, unit="rows"), 10.0)

        assert self.text(line, 20.0).endswith("20 s left")
        assert self.text(line, 40.0).endswith("40 s left")

    def test_workers_that_begin_late_are_not_taken_for_slow_ones(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="exporting", total=1_000, unit="rows"), 0.0)
        line.receive(Advanced(phase="exporting", done=100, total=1_000, unit="rows"), 20.0)
        at_first = self.text(line, 20.0)
        line.receive(Advanced(phase="exporting", done=400, total=1_000, unit="rows"), 23.0)

        assert at_first == "exporting: 100 of 1,000 rows (10%)"
        assert self.text(line, 23.0).endswith("100 rows/s, 6 s left")

    def test_the_phase_that_started_last_is_shown_and_the_one_around_it_comes_back(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="merging", total=2, unit="tables"), 0.0)
        line.receive(PhaseStarted(phase="writing", total=9, unit="rows"), 0.0)
        inner = self.text(line, 0.0)
        line.receive(Advanced(phase="merging", done=1, total=2, unit="tables"), 1.0)
        still_inner = self.text(line, 1.0)
        line.receive(PhaseFinished(phase="writing"), 1.0)

        assert inner.startswith("writing: 0 of 9 rows")
        assert still_inner.startswith("writing: ")
        assert self.text(line, 1.0).startswith("merging: 1 of 2 tables (50%)")

    def test_work_that_only_advances_is_shown_too(self):
        """A verb that says neither when it starts nor when it ends is followed until the next one starts."""
        line = ProgressLine("opening the graph", 0.0)
        line.receive(Advanced(phase="verifying", done=1, total=4, unit="tables"), 1.0)
        verifying = self.text(line, 1.0)
        line.receive(Advanced(phase="comparing", done=2, total=4, unit="tables"), 2.0)

        assert verifying.startswith("verifying: 1 of 4 tables")
        assert self.text(line, 2.0).startswith("comparing: 2 of 4 tables")

    def test_after_the_last_phase_it_does_not_claim_to_be_in_one(self):
        line = ProgressLine("opening the graph", 0.0)
        line.receive(PhaseStarted(phase="exporting"), 0.0)
        line.receive(PhaseFinished(phase="exporting"), 1.0)

        assert self.text(line, 1.0) == "finishing"

    def test_clipping_counts_columns_not_characters(self):
        assert clip("abcdef", 4) == "abcd"
        assert clip("船船船", 5) == "船船"


class TestTheHelper:
    def test_a_phase_says_when_it_starts_how_far_it_is_and_when_it_ends(self):
        told = []

        with phase(told.append, "exporting", total=3, unit="rows") as exporting:
            exporting.advance(2)
            exporting.reach(1)  # behind what was said already
            exporting.reach(3)

        assert told == [
            PhaseStarted(phase="exporting", total=3, unit="rows"),
            Advanced(phase="exporting", done=2, total=3, unit="rows"),
            Advanced(phase="exporting", done=3, total=3, unit="rows"),
            PhaseFinished(phase="exporting"),
        ]

    def test_a_phase_ends_also_when_its_work_fails(self):
        told = []

        with pytest.raises(ValueError, match="broken"), phase(told.append, "exporting"):
            raise ValueError("broken")

        assert told[-1] == PhaseFinished(phase="exporting")


class TestTheLiveLine:
    def test_it_is_there_before_the_first_event(self, live, screen):
        live.tick()

        assert screen.draws() == ["[0:00] opening the graph (0 s)"]

    def test_no_gap_is_longer_than_a_second_while_one_call_takes_long(self, live, screen, clock):
        """A library call that says nothing for half a minute: the ticker alone keeps the line moving."""
        live.receive(PhaseStarted(phase="checking", total=5, unit="rows"))
        drawn_at = []
        for _ in range(300):
            before = len(screen.draws())
            live.tick()
            if len(screen.draws()) > before:
                drawn_at.append(clock.now)
            clock.now += TICK_SECONDS

        gaps = [later - earlier for earlier, later in pairwise(drawn_at)]
        assert len(drawn_at) >= 29
        assert max(gaps) <= 1.0 + TICK_SECONDS
        assert len(set(screen.draws())) == len(screen.draws()), "every draw says something new"

    def test_many_events_are_one_draw_per_tick(self, live, screen):
        live.receive(PhaseStarted(phase="exporting", total=1_000, unit="rows"))
        for done in range(1_000):
            live.receive(Advanced(phase="exporting", done=done, total=1_000, unit="rows"))
        live.tick()
        live.tick()

        assert len(screen.draws()) == 1
        assert "999 of 1,000 rows (99%)" in screen.draws()[0]

    def test_it_is_never_wider_than_the_terminal(self, live, screen, monkeypatch):
        monkeypatch.setattr(LiveLine, "_columns", lambda _: 20)
        live.receive(PhaseStarted(phase="reading the input of a load with a long name", total=9, unit="rows"))
        live.tick()

        assert [len(drawn) for drawn in screen.draws()] == [19]

    def test_other_lines_pass_above_it_and_nothing_of_it_stays(self, live, screen, monkeypatch):
        monkeypatch.setattr("sys.stderr", screen)
        with live.shown():
            live.tick()
            live.receive(Warned(message="look"))
            sys.stderr.write("half ")
            live.tick()
            sys.stderr.write("a line\n")
            live.tick()

        assert as_seen(screen.getvalue()) == ["warning: look", "half a line", ""]
        assert sys.stderr is screen

    def test_a_terminal_that_went_away_does_not_stop_the_work(self, live, screen):
        screen.close()

        live.tick()


class TestPlainLines:
    def test_they_come_at_most_every_five_seconds_and_say_the_newest(self, clock, capsys):
        plain = PlainLines(Notices(is_quiet=False), "opening the graph", now=clock)
        plain.receive(PhaseStarted(phase="reading the input", total=5_000, unit="rows"))
        for done, seconds in [(1, 0.0), (2, 4.9), (3_000, 0.1), (4_000, 1.0)]:
            clock.now += seconds
            plain.receive(Advanced(phase="reading the input", done=done, total=5_000, unit="rows"))
            plain.tick()

        assert capsys.readouterr().err.splitlines() == [
            "progress: reading the input: 1 of 5,000 rows (0%)",
            "progress: reading the input: 3,000 of 5,000 rows (60%), 600 rows/s, 3 s left",
        ]

    def test_they_come_also_when_nothing_happens(self, clock, capsys):
        plain = PlainLines(Notices(is_quiet=False), "opening the graph", now=clock)
        for _ in range(4):
            plain.tick()
            clock.now += PLAIN_LINE_SECONDS

        assert len(capsys.readouterr().err.splitlines()) == 4


class TestWhoSeesIt:
    def told(self, capsys, *flags: str) -> str:
        invocation = Invocation(argv=flags, environ={})
        invocation.flags.progress = {"--progress": True, "--no-progress": False}.get(flags[0] if flags else "")
        with follow_progress(invocation) as events, phase(events, "exporting", total=2, unit="rows"):
            events(Noted(message="made a branch"))
        return capsys.readouterr().err

    def test_without_a_terminal_there_is_none_unless_somebody_asks(self, capsys):
        assert self.told(capsys) == "note: made a branch\n"

    def test_asked_for_it_begins_at_once(self, capsys):
        assert self.told(capsys, "--progress") == "progress: opening the graph (0 s)\nnote: made a branch\n"

    def test_quiet_silences_it_whatever_else_is_asked(self, capsys):
        assert self.told(capsys, "--progress", "--quiet") == ""

    @pytest.mark.parametrize(("flags", "shown"), [((), True), (("--no-progress",), False), (("--quiet",), False)])
    def test_on_a_terminal_it_is_live_by_default(self, flags, shown):
        ran, seen = on_terminal(SLOW_WORK, *flags)

        assert ran.returncode == 0
        assert ran.stdout == ""
        assert ("writing: 1 of 7 rows" in seen) == shown
        assert as_seen(seen) == ["warning: look", ""]

    def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(self):
        _, seen = on_terminal(SLOW_WORK, "--progress", TERM="dumb")

        assert "\x1b" not in seen
        assert "progress: opening the graph (0 s)\r\nwarning: look" in seen


SLOW_WORK = """
import sys
from omnigraph.base import clock
from omnigraph.base.events import Warned, phase
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.progress import TICK_SECONDS, follow_progress
import os
invocation = Invocation(argv=sys.argv[1:], environ=os.environ)
invocation.flags.progress = False if "--no-progress" in sys.argv else True if "--progress" in sys.argv else None
with follow_progress(invocation) as events, phase(events, "writing", total=7, unit="rows") as writing:
    writing.advance()
    clock.sleep_seconds(5 * TICK_SECONDS)
    events(Warned(message="look"))
"""


def on_terminal(script: str, *arguments: str, **environ: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run a script whose stderr is a terminal; return what happened and what the terminal got."""
    keyboard, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "TERM": "xterm", **environ},
        stderr=terminal,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(terminal)
    seen = os.read(keyboard, 65536).decode()
    os.close(keyboard)
    return done, seen


def as_seen(written: str) -> list[str]:
    """Return what is on the screen in the end: a line that was erased is not."""
    return [re.split(r"\r\x1b\[K", line.removesuffix("\r"))[-1] for line in written.split("\n")]


def test_a_recorded_load_begins_with_its_line_and_leaves_only_its_result(art, program):
    """The real program on a terminal, through the recorder whose recordings the guide shows."""
    script = Path(__file__).parents[2] / "scripts" / "record_terminal.py"
    cast = Path("load.cast")

    done = subprocess.run(
        [sys.executable, script, cast, "--", program, "load", art, "--data", "more.jsonl", "--mode", "append"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    header, *events = map(json.loads, cast.read_text(encoding="utf-8").splitlines())
    written = "".join(text for _, _, text in events)
    drawn = [line for text in written.split("\r\x1b[K") for line in text.splitlines()]
    assert done.returncode == 0, done.stderr
    assert "longest gap" in done.stdout
    assert header["version"] == 2
    assert [moment for moment, _, _ in events] == sorted(moment for moment, _, _ in events)
    assert "[0:00] opening the graph" in written
    assert max(map(len, drawn)) < header["width"]
    assert as_seen(written)[0].startswith("loaded art.omni on branch main")
