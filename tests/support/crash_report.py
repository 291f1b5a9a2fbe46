"""The crash matrix as a document, from a test run.

A pytest plugin, loaded by `tests/conftest.py`: every run that touches the crash tests ends with one line of summary,
and `--crash-report FILE` (`make crash-report`) writes the whole matrix.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.crash_inventory import TESTS, points_in_test
from support.writer_child import BRANCH_KINDS, KINDS, SCHEMA_KINDS

_PROOFS = "test_crash"
"""How the names of files begin in which something dies."""
_POINT = re.compile(r"[a-z_]+(?:\.[a-z_]+)+")
_ACTION = re.compile(r"\b(kill|error|pause)\b")
_ACTION_IN_NAME = re.compile(r"_(kill|pause)d_")
_ROW_OF_CASE = re.compile(r"\b(\d\d)-[a-z]+\.")
_ROWS_OF_TEST = re.compile(r"test_rows?_(\d+(?:_(?:and_)?\d+)*)_")
_WRITERS = {*KINDS, *BRANCH_KINDS, *SCHEMA_KINDS}
_TITLES = {
    "write": "The write protocol",
    "fork": "The first write to a table on a branch",
    "recover": "Recovery itself",
    "init": "Init",
    "migrate": "Migrations",
    "schema": "Schema changes",
    "branch": "Creating and deleting branches",
    "merge": "Merging branches",
    "cluster_apply": "Applying a cluster",
}
BROKEN_REQUESTS = "broken_requests"
"""The test property that says how many requests of the store one test has broken."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """One test that ran: what died where, on which store, and whether the graph survived."""

    test: str
    rows: str
    store: str
    has_passed: bool
    point: str | None
    action: str | None
    writer: str
    broken_requests: int
    points_inside: tuple[str, ...]
    """The fail points that the test arms in its body, beside the one it has as a parameter."""

    @classmethod
    def of(cls, report: pytest.TestReport) -> "Proof":
        """Read a proof off a test's name and parameters."""
        test, _, parameters = report.nodeid.rpartition("::")[2].partition("[")
        words = re.split(r"[-\[\]]", parameters)
        point, row = _POINT.search(parameters), _ROW_OF_CASE.search(parameters)
        action = _ACTION.search(parameters) or _ACTION_IN_NAME.search(test)
        of_test = _ROWS_OF_TEST.match(test)
        return cls(
            test=test,
            rows=str(int(row[1])) if row else of_test[1].replace("_and", "").replace("_", ", ") if of_test else "",
            store="S3" if "s3" in words or "s3" in report.keywords else "local",
            has_passed=report.passed,
            point=point[0] if point else None,
            action=action[1] if action else None,
            writer=next((word for word in words if word in _WRITERS), ""),
            broken_requests=sum(int(value) for name, value in report.user_properties if name == BROKEN_REQUESTS),
            points_inside=tuple(sorted(points_in_test(TESTS.parent / report.nodeid.partition("::")[0], test))),
        )

    @property
    def fact(self) -> str:
        """What the test's name states."""
        return _ROWS_OF_TEST.sub("", self.test).removeprefix("test_").replace("_", " ")


@dataclass(kw_only=True, eq=False)
class CrashReport:
    """Collects proofs while tests run and says in the end what they add up to."""

    path: Path | None
    proofs: list[Proof] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        is_final = report.when == "call" or (report.when == "setup" and report.failed)
        if is_final and report.nodeid.partition("::")[0].rpartition("/")[2].startswith(_PROOFS):
            self.proofs.append(Proof.of(report))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.proofs:
            return
        terminalreporter.write_line(_summary(self.proofs))
        if self.path is not None:
            self.path.write_text("\n".join(_document(self.proofs)) + "\n", encoding="utf-8")
            terminalreporter.write_line(f"wrote {self.path}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--crash-report", metavar="FILE", type=Path, help="write the crash matrix of this run to FILE")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CrashReport(path=config.getoption("--crash-report")), "crash-report")


def _summary(proofs: list[Proof]) -> str:
    broken = sum(proof.broken_requests for proof in proofs)
    requests = f" and {broken} broken requests" if broken else ""
    return f"crash matrix: {len(proofs)} cases{requests}, {_failures(proofs)} failures"


def _failures(proofs: Iterable[Proof]) -> int:
    return sum(not proof.has_passed for proof in proofs)


def _document(proofs: list[Proof]) -> Iterator[str]:
    """Write nothing that differs between two runs with the same outcome, so that a new copy shows what changed."""
    at_points = [proof for proof in proofs if proof.point is not None]
    others = [proof for proof in proofs if proof.point is None]
    yield "# Crash matrix"
    yield ""
    yield "Written by `make crash-report` from a test run; every number is a test that ran."
    yield f"{len(proofs)} cases, {_failures(proofs)} failures."
    yield ""
    yield (
        "A case kills a writer with `kill -9` at a fail point, injects an error there, or stops it and lets somebody "
        "else go first."
    )
    yield (
        "Afterwards a reader must see the state before or after the write and change nothing; recovery must reach the "
        "outcome that the case names; every pin must be the newest version of its table, and `__recovery` empty; a "
        "second recovery must do nothing, and the same write must work again."
    )
    yield "Rows are numbered as in `tests/support/crash_cases.py`."
    for family in sorted({proof.point.partition(".")[0] for proof in at_points if proof.point}, key=_place):
        yield from _family(family, [proof for proof in at_points if proof.point.startswith(f"{family}.")])
    yield from _facts(others)


def _place(family: str) -> tuple[int, str]:
    return ([*_TITLES].index(family) if family in _TITLES else len(_TITLES), family)


def _family(family: str, proofs: list[Proof]) -> Iterator[str]:
    """Tabulate the fail points of one family against who died there and on which store."""
    columns = sorted(
        {(proof.writer, proof.store) for proof in proofs}, key=lambda column: (column[0], column[1] == "S3")
    )
    by_point: dict[tuple[str, str], list[Proof]] = defaultdict(list)
    for proof in proofs:
        by_point[proof.rows, proof.point or ""].append(proof)
    yield ""
    yield f"## {_TITLES.get(family, family)}"
    yield ""
    yield from _table(
        ["row", "fail point", "action", *(f"{writer} {store}".strip() for writer, store in columns), "failures"],
        (
            [
                rows,
                f"`{point}`",
                ", ".join(sorted({proof.action for proof in found if proof.action})),
                *(str(_count(found, writer, store) or "") for writer, store in columns),
                str(_failures(found)),
            ]
            for (rows, point), found in sorted(by_point.items(), key=lambda item: (_first_row(item[0][0]), item[0][1]))
        ),
    )


def _facts(proofs: list[Proof]) -> Iterator[str]:
    by_fact: dict[tuple[str, str], list[Proof]] = defaultdict(list)
    for proof in proofs:
        by_fact[proof.rows, proof.fact].append(proof)
    yield ""
    yield "## Races, damage and broken stores"
    yield ""
    yield from _table(
        ["row", "fact", "fail points", "local", "S3", "failures"],
        (
            [
                rows,
                fact,
                ", ".join(f"`{point}`" for point in found[0].points_inside),
                *(str(_count(found, None, store) or "") for store in ("local", "S3")),
                str(_failures(found)),
            ]
            for (rows, fact), found in sorted(by_fact.items(), key=lambda item: (_first_row(item[0][0]), item[0][1]))
        ),
    )


def _table(header: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _count(proofs: list[Proof], writer: str | None, store: str) -> int:
    return sum(proof.store == store and writer in {None, proof.writer} for proof in proofs)


def _first_row(rows: str) -> int:
    return int(re.split(r"\D", rows)[0]) if rows else 1_000
