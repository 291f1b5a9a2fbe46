"""What maintenance was done: by the journal, and by the commits of `repair`, which leaves no line there.

The journal is read as others left it: an entry that says something unexpected is a run of which little is known.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.maintenance.journal import JournalEntry
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceRun:
    """One run of a maintenance verb, and what it gained."""

    run_id: str | None
    """The entry of the journal; None for what only a commit tells of."""
    verb: str
    branch: str | None
    """The branch that it was about; None for `cleanup`, which is about all of them."""
    ended_at_us: int
    duration_us: int | None
    host: str | None = None
    commit: str | None = None
    fragments_removed: int = 0
    fragments_added: int = 0
    indexes_built: int = 0
    indexes_updated: int = 0
    versions_removed: int = 0
    bytes_removed: int = 0
    tables_repaired: int = 0
    tables_seen: frozenset[str] = frozenset()
    errors: Mapping[str, str]
    """By table; under an empty name what stopped the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedFailure:
    """The same thing that failed in every one of the newest runs that tried it."""

    verb: str
    branch: str | None
    table_key: str | None
    """None when runs stopped as a whole."""
    times: int
    error: str


def maintenance_runs(journal: Iterable[JournalEntry], history: Iterable[Commit]) -> tuple[MaintenanceRun, ...]:
    """Return all known runs, oldest first."""
    repairs = (_repair(commit) for commit in history if commit.kind is CommitKind.REPAIR)
    return tuple(sorted([*map(_journalled, journal), *repairs], key=lambda run: run.ended_at_us))


def repeated_failures(runs: Iterable[MaintenanceRun]) -> tuple[RepeatedFailure, ...]:
    """Return what failed when it was last tried, with how often in a row."""
    newest_first = list(runs)[::-1]
    tried = dict.fromkeys((run.verb, run.branch, name) for run in newest_first for name in run.errors)
    failures = []
    for verb, branch, name in tried:
        errors = list(_failures_in_a_row(newest_first, verb, branch, name))
        if errors:
            failures.append(
                RepeatedFailure(verb=verb, branch=branch, table_key=name or None, times=len(errors), error=errors[0])
            )
    return tuple(failures)


def _failures_in_a_row(newest_first: list[MaintenanceRun], verb: str, branch: str | None, name: str) -> Iterator[str]:
    for run in newest_first:
        if (run.verb, run.branch) != (verb, branch):
            continue
        if name in run.errors:
            yield run.errors[name]
        elif not name or not run.tables_seen or name in run.tables_seen:
            return


def _journalled(entry: JournalEntry) -> MaintenanceRun:
    document = entry.document if isinstance(entry.document, Mapping) else {}
    tables = [table for table in _list(document, "tables") if isinstance(table, Mapping)]
    return MaintenanceRun(
        run_id=entry.run_id,
        verb=entry.verb,
        branch=None if entry.verb == "cleanup" else str(document.get("branch", MAIN_BRANCH)),
        ended_at_us=entry.ended_at_us,
        duration_us=max(0, entry.ended_at_us - entry.started_at_us),
        host=entry.host,
        commit=document.get("commit"),
        fragments_removed=sum(_number(table, "fragments_removed") for table in tables),
        fragments_added=sum(_number(table, "fragments_added") for table in tables),
        indexes_built=sum(len(_list(table, "indexes_built")) for table in tables),
        indexes_updated=sum(len(_list(table, "indexes_updated")) for table in tables),
        # A summary, or row by row: both are what some release of `cleanup` leaves.
        versions_removed=_number(document, "versions")
        + sum(_number(table, "old_versions_removed") for table in tables),
        bytes_removed=_number(document, "bytes") + sum(_number(table, "bytes_removed") for table in tables),
        tables_seen=frozenset(str(table.get("table_key")) for table in tables),
        errors=dict(_errors(document, tables)),
    )


def _errors(document: Mapping[str, Any], tables: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    if document.get("error"):
        yield "", str(document["error"])
    for table in tables:
        if table.get("error"):
            yield str(table.get("table_key")), str(table["error"])
    for name in _list(document, "failed"):
        yield str(name), ""  # The journal of `cleanup` names the tables, not the reasons.


def _repair(commit: Commit) -> MaintenanceRun:
    return MaintenanceRun(
        run_id=None,
        verb="repair",
        branch=commit.graph_branch,
        ended_at_us=commit.created_at_us,
        duration_us=None,
        commit=commit.graph_commit_id,
        # Drift is settled either way, by publishing it or by taking it back.
        tables_repaired=sum(len(commit.metadata.get(way, ())) for way in ("repaired", "discarded")),
        errors={},
    )


def _number(source: Mapping[str, Any], name: str) -> int:
    value = source.get(name)
    return value if isinstance(value, int) else 0


def _list(source: Mapping[str, Any], name: str) -> list[Any]:
    value = source.get(name)
    return list(value) if isinstance(value, list | tuple) else []
