"""Whether rows that a forced repair published still break declared rules.

No write lets such rows in, so the tables to look at are those that somebody forced; the log tells which. All of their
rules are checked, which reads their keys and values; a graph that was never forced pays nothing.
"""

from collections.abc import Iterable, Iterator

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.maintenance.repair.drift import Classification
from omnigraph.maintenance.unreadable import UNREADABLE, refuse_unreachable
from omnigraph.manifest.ancestry import History
from omnigraph.manifest.commits import CommitKind
from omnigraph.records.offences import Offences
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints.broken import broken_constraints

_FORCED = frozenset({Classification.SUSPICIOUS.value, Classification.UNVERIFIABLE.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTable:
    """A table whose rows break declared rules."""

    table_key: TableKey
    branch: str
    findings: Offences


def forced_tables(history: History | None) -> frozenset[TableKey]:
    """Return the tables that some repair published although nobody could vouch for their rows."""
    return frozenset(
        TableKey(key)
        for commit in (history or {}).values()
        if commit.kind is CommitKind.REPAIR
        for key, repaired in commit.metadata.get("repaired", {}).items()
        if repaired.get("classification") in _FORCED
    )


def observe_rules(capture: Capture, forced: Iterable[TableKey]) -> list[BrokenTable]:
    """Check the forced tables that a branch owns, as they are now."""
    pins = capture.snapshot.pins
    asked = [key for key in forced if key in pins and pins[key].ref == capture.snapshot.own_ref]
    if not asked:
        return []
    states = dict(_opened(capture))
    judged = broken_constraints(
        capture.context, capture.catalog, states, tables=[key for key in asked if key in states]
    )
    return [
        BrokenTable(table_key=key, branch=capture.snapshot.branch, findings=findings)
        for key, findings in judged.broken.items()
    ]


def _opened(capture: Capture) -> Iterator[tuple[TableKey, Table]]:
    """Open what can be opened; a table that cannot is told of as damaged by whoever looks at it."""
    for key in capture.snapshot.pins:
        try:
            yield key, capture.table(key)
        except UNREADABLE as error:
            refuse_unreachable(error)
