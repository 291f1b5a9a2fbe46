"""Soak: writers and a maintainer that are killed all the time, and a checker that believes nothing.

    python -m soak.run --seconds 600

Prints what happened and exits with 1 if a commit was lost, a version reads back wrong or an error has no explanation.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import omnigraph
from crash.cases import RECOVERY_CASES, WRITER_CASES
from crash.test_optimize_matrix import CASES as OPTIMIZE_CASES
from omnigraph.base import clock
from soak.checker import Checker
from soak.operations import SCHEMA

TESTS = Path(__file__).parents[1]
CREWS = ("north", "east", "south")
MAINTAINER = "yard"
ROUND_SECONDS = 120.0
"""A round has a graph of its own, so that every soak has young histories too."""
# A writer passes its own points all the time and those of recovery only when it finds what another one left.
KILL_POINTS = [case.point for case in (*WRITER_CASES, *RECOVERY_CASES) if case.action == "kill"]
MAINTENANCE_KILL_POINTS = [case.point for case in OPTIMIZE_CASES if case.action == "kill"]


@dataclass(kw_only=True)
class Fleet:
    """Writer processes that live a few seconds each: killed from outside, or by a fail point that was planted."""

    uri: str
    directory: Path
    chance: Random
    maintains: bool
    kills: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def sail(self, seconds: float) -> None:
        """Keep one writer per crew, and maybe the maintainer, alive, and kill them, until the time is up."""
        deadline = clock.monotonic_seconds() + seconds
        afloat = {crew: self._launch(crew) for crew in (*CREWS, *([MAINTAINER] if self.maintains else []))}
        try:
            while clock.monotonic_seconds() < deadline:
                clock.sleep_seconds(0.05)
                for crew, (writer, dies_at) in afloat.items():
                    if writer.poll() is not None or clock.monotonic_seconds() >= dies_at:
                        self._sink(crew, writer)
                        afloat[crew] = self._launch(crew)
        finally:
            for writer, _ in afloat.values():
                writer.kill()
                writer.wait()

    def _launch(self, crew: str) -> tuple[subprocess.Popen[bytes], float]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
        if self.chance.random() < 0.5:
            points = MAINTENANCE_KILL_POINTS if crew == MAINTAINER else KILL_POINTS
            point, skip = self.chance.choice(points), self.chance.randrange(5)
            environment["OMNIGRAPH_FAILPOINT"] = f"{point}:kill:{skip}"
        arguments = ["soak.writer", self.uri, crew, str(self.directory / f"{crew}.ledger"), str(self.chance.random())]
        if crew == MAINTAINER:
            arguments = ["soak.maintainer", self.uri]
        with self._stderr(crew).open("wb") as stderr:
            writer = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, stderr=stderr)
        return writer, clock.monotonic_seconds() + self.chance.uniform(2.0, 10.0)

    def _sink(self, crew: str, writer: subprocess.Popen[bytes]) -> None:
        if writer.poll() is None:
            writer.kill()
            writer.wait()
            self.kills["at random"] += 1
        elif writer.returncode == -signal.SIGKILL:
            self.kills["at a fail point"] += 1
        else:
            said = self._stderr(crew).read_text(encoding="utf-8").strip().splitlines()
            self.findings.append(f"a writer of {crew} ended with {writer.returncode}: {said[-1:]}")

    def _stderr(self, crew: str) -> Path:
        return self.directory / f"{crew}.stderr"


@dataclass(kw_only=True)
class Report:
    """The figures of a soak."""

    seconds: float = 0.0
    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    recoveries: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unacknowledged: int = 0
    lost: int = 0
    versions_read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, fleet: Fleet, checker: Checker, recoveries: list[str]) -> None:
        self.rounds += 1
        self.kills.update(fleet.kills)
        self.recoveries.update(recoveries)
        self.acknowledged += checker.acknowledged
        self.unacknowledged += checker.unacknowledged
        self.lost += checker.lost
        self.versions_read += checker.versions_read
        self.refused.update(checker.refused)
        self.findings += [*fleet.findings, *checker.findings]

    def lines(self) -> list[str]:
        return [
            f"soak: {self.seconds:.0f} s, {len(CREWS)} writers, {self.rounds} graphs",
            f"  kills                   {_spell(self.kills)}",
            f"  audited recoveries      {_spell(self.recoveries)}",
            f"  commits acknowledged    {self.acknowledged}",
            f"  published by the dead   {self.unacknowledged}",
            f"  commits lost            {self.lost}",
            f"  versions read back      {self.versions_read}",
            f"  refused by contention   {_spell(self.refused)}",
            f"  unexplained             {len(self.findings)}",
            *(f"    {finding}" for finding in self.findings[:20]),
        ]


def _spell(counts: Counter[str]) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{counts.total()} ({parts})" if parts else "0"


def soak(seconds: float, *, seed: int, maintains: bool) -> Report:
    """Run rounds until the time is up, with optimize and cleanup beside the writers if asked for."""
    chance = Random(seed)
    report = Report()
    start = clock.monotonic_seconds()
    while (left := seconds - (clock.monotonic_seconds() - start)) > 1:
        with tempfile.TemporaryDirectory() as directory:
            _run_round(Path(directory), min(left, ROUND_SECONDS), chance, report, maintains=maintains)
    report.seconds = clock.monotonic_seconds() - start
    return report


def _run_round(directory: Path, seconds: float, chance: Random, report: Report, *, maintains: bool) -> None:
    uri = str(directory / "graph.omni")
    omnigraph.init(uri, SCHEMA)
    fleet = Fleet(uri=uri, directory=directory, chance=chance, maintains=maintains)
    checker = Checker(uri=uri, directory=directory)
    sailing = threading.Thread(target=fleet.sail, args=(seconds,))
    sailing.start()
    while sailing.is_alive():
        checker.check()
        sailing.join(0.5)
    checker.finish()
    recoveries = [record.recovery_kind for record in omnigraph.open(uri, read_only=True).recoveries()]
    report.add(fleet, checker, recoveries)


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill writers for a while and check that nothing is lost.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=Random().randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    report = soak(options.seconds, seed=options.seed, maintains=True)
    print("\n".join(report.lines()))
    sys.exit(bool(report.findings))


if __name__ == "__main__":
    main()
