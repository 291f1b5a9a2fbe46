"""Soak: writers of every kind and a maintainer that are killed all the time, and a checker that believes nothing.

    python -m soak.run --seconds 600

Half of the time the graph is on local disk, half of it on S3.
Prints what happened and exits with 1 if a commit was lost, a version reads back wrong or an error has no explanation.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random

import omnigraph
from omnigraph.base import clock
from soak.checker import Checker
from soak.operations import schema
from soak.places import AFLOAT, Place, lifetime_seconds, local_place, s3_place
from soak.writer import BRANCHES, SCHEMAS
from support.crash_inventory import points_in_source
from support.processes import child_environment

CREWS = ("north", "east")
MAINTAINER = "yard"
SPECIALISTS = (BRANCHES, SCHEMAS, MAINTAINER)
ROUND_SECONDS = 120.0
"""A round has a graph of its own, so that every soak has young histories too."""
# Everybody passes the points of recovery when there is something that another one left.
FAMILIES = {
    BRANCHES: {"branch", "fork", "merge", "write", "recover"},
    SCHEMAS: {"schema", "write", "recover"},
    MAINTAINER: {"optimize", "repair", "discard", "cleanup", "write", "recover"},
}
FAMILIES_OF_WRITERS = {"write", "recover"}


def kill_points(crew: str) -> list[str]:
    """Return the fail points that a crew may pass."""
    families = FAMILIES.get(crew, FAMILIES_OF_WRITERS)
    return sorted(point for point in points_in_source() if point.partition(".")[0] in families)


@dataclass(kw_only=True)
class Crewed:
    """A process, and how long it lives from when it begins to work."""

    process: subprocess.Popen[bytes]
    sign: Path
    lifetime: float
    _began: float | None = None

    def is_due(self) -> bool:
        if self._began is None and self.sign.exists():
            self._began = clock.monotonic_seconds()
        return self._began is not None and clock.monotonic_seconds() >= self._began + self.lifetime


@dataclass(kw_only=True)
class Fleet:
    """Writer processes that live a few seconds each: killed from outside, or by a fail point that was planted."""

    uri: str
    directory: Path
    chance: Random
    crews: tuple[str, ...]
    kills: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def sail(self, seconds: float) -> None:
        """Keep one process per crew alive, and kill them, until the time is up."""
        deadline = clock.monotonic_seconds() + seconds
        afloat = {crew: self._launch(crew) for crew in self.crews}
        try:
            while clock.monotonic_seconds() < deadline:
                clock.sleep_seconds(0.05)
                for crew, crewed in afloat.items():
                    if crewed.process.poll() is not None or crewed.is_due():
                        self._sink(crew, crewed.process)
                        afloat[crew] = self._launch(crew)
        finally:
            for crewed in afloat.values():
                crewed.process.kill()
                crewed.process.wait()

    def _launch(self, crew: str) -> "Crewed":
        sign = self.directory / f"{crew}.afloat"
        sign.unlink(missing_ok=True)
        environment = child_environment() | {AFLOAT: str(sign)}
        if self.chance.random() < 0.5:
            point, skip = self.chance.choice(kill_points(crew)), self.chance.randrange(5)
            environment["OMNIGRAPH_FAILPOINT"] = f"{point}:kill:{skip}"
        arguments = ["soak.writer", self.uri, crew, str(self.directory / f"{crew}.ledger"), str(self.chance.random())]
        if crew == MAINTAINER:
            arguments = ["soak.maintainer", self.uri, str(self.chance.random())]
        with self._stderr(crew).open("wb") as stderr:
            writer = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, stderr=stderr)
        lifetime = self.chance.uniform(*lifetime_seconds(self.uri))
        # A branch takes five commands, and while one is there no schema changes: who makes them gets more time.
        return Crewed(process=writer, sign=sign, lifetime=2 * lifetime if crew == BRANCHES else lifetime)

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

    crews: tuple[str, ...]
    seconds: float = 0.0
    rounds: int = 0
    commits: Counter[str] = field(default_factory=Counter)
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
            f"soak: {self.seconds:.0f} s, {len(self.crews)} crews, {self.rounds} graphs",
            f"  commits in history      {_spell(self.commits)}",
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


def soak(seconds: float, *, seed: int, crews: tuple[str, ...], places: tuple[Place, ...]) -> Report:
    """Run rounds with these crews until the time is up, in one place after the other."""
    chance = Random(seed)
    report = Report(crews=crews)
    start = clock.monotonic_seconds()
    turns = cycle(places)
    while (left := seconds - (clock.monotonic_seconds() - start)) > 1:
        with next(turns)() as uri, tempfile.TemporaryDirectory() as directory:
            _run_round(uri, Path(directory), min(left, ROUND_SECONDS, seconds / len(places)), chance, report)
    report.seconds = clock.monotonic_seconds() - start
    return report


def _run_round(uri: str, directory: Path, seconds: float, chance: Random, report: Report) -> None:
    omnigraph.init(uri, schema())
    fleet = Fleet(uri=uri, directory=directory, chance=chance, crews=report.crews)
    checker = Checker(uri=uri, directory=directory)
    sailing = threading.Thread(target=fleet.sail, args=(seconds,))
    sailing.start()
    while sailing.is_alive():
        checker.check()
        sailing.join(0.5)
    checker.finish()
    graph = omnigraph.open(uri, read_only=True)
    report.add(fleet, checker, [record.recovery_kind for record in graph.recoveries()])
    report.commits.update(commit.kind.value for commit in graph.commits())


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill writers for a while and check that nothing is lost.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=Random().randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    crews = (*CREWS, *SPECIALISTS)
    report = soak(options.seconds, seed=options.seed, crews=crews, places=(local_place, s3_place))
    print("\n".join(report.lines()))
    sys.exit(bool(report.findings))


if __name__ == "__main__":
    main()
