"""One thing to know about a graph, how urgent it is, and the command that settles it."""

from collections.abc import Iterable
from enum import StrEnum

from omnigraph.base.values import dataclass


class Severity(StrEnum):
    """How urgent a finding is."""

    INFO = "info"
    """Good to know; the graph is healthy all the same, and nothing is to be done."""
    ATTENTION = "attention"
    ACTION = "action"


URGENCY = (Severity.ACTION, Severity.ATTENTION, Severity.INFO)
"""The most urgent first."""


class Status(StrEnum):
    """The whole graph in a word."""

    HEALTHY = "healthy"
    ATTENTION = "attention"
    ACTION = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What can be added up when a finding is about several tables."""

    fragments_before: int = 0
    fragments_after: int = 0
    deleted_rows: int = 0
    built_in: tuple[str, ...] = ()
    """Columns of the program whose index is missing."""
    declared: tuple[str, ...] = ()
    """Properties of the schema whose declared index is missing."""
    known_percent: int = 100
    """How many of the rows the least complete index knows."""
    pending_rows: int = 0
    waits_for: str | None = None
    """What has to come before an index can be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know, with the exact command that settles it.

    It is about a whole graph, a branch, one table (`table_key`) or several (`tables`); of several, `members` says what
    it is about each of them.
    """

    severity: Severity
    code: str
    message: str
    fix: str
    table_key: str | None = None
    branch: str | None = None
    figures: Figures | None = None
    members: "tuple[Finding, ...]" = ()

    @property
    def place(self) -> str:
        """What it is about, by itself: a table, a branch, or a table of a branch; nothing for the whole graph."""
        return " on ".join(part for part in (self.table_key, self.branch) if part)

    @property
    def places(self) -> tuple[str, ...]:
        """The tables it is about, each with its branch if they are of several."""
        if len({member.branch for member in self.members}) > 1:
            return tuple(dict.fromkeys(member.place for member in self.members if member.table_key is not None))
        return self.tables

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables it is about, the most urgent first."""
        if self.members:
            return tuple(dict.fromkeys(member.table_key for member in self.members if member.table_key is not None))
        return () if self.table_key is None else (self.table_key,)

    @property
    def needs_something(self) -> bool:
        """Whether anybody has to do anything about it."""
        return self.severity is not Severity.INFO


def status_of(findings: Iterable[Finding]) -> Status:
    """Sum findings up: the worst of them decides."""
    severities = {finding.severity for finding in findings}
    if Severity.ACTION in severities:
        return Status.ACTION
    return Status.ATTENTION if Severity.ATTENTION in severities else Status.HEALTHY


def most_urgent_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings; those of one urgency stay as they are."""
    return sorted(findings, key=lambda finding: URGENCY.index(finding.severity))
