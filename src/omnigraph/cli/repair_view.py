"""Findings of `repair` as text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.base.units import counted
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.repair.run import RepairReport, RepairRow

_OPERATIONS_SHOWN = 4


def repair_text(report: "RepairReport") -> Text:
    """List the tables that drifted; those that did not are only counted."""
    drifted = [row for row in report.rows if row.classification != "no_drift"]
    if not drifted:
        return [f"no drift: {counted(len(report.rows), 'table')} at the versions that the graph pins"]
    rows = tuple(_cells(row) for row in drifted)
    titles = ("table", "pinned", "newest", "classification", "action", "operations")
    text: list[str | Grid] = [
        Grid(
            columns=tuple(
                TextColumn(title=title, justify="right" if title in {"pinned", "newest"} else "left")
                for title in titles
            ),
            rows=rows,
        )
    ]
    text += [f"{_name(row)}: {row.error}" for row in drifted if row.error]
    for row in drifted:
        if row.review is not None:
            text.append(
                f"{_name(row)}: publishing adds {row.review.rows_added}, removes {row.review.rows_removed} and changes "
                f"{counted(row.review.rows_changed, 'row')}"
            )
            text += [f"  {sample['op']} {sample['id']}" for sample in row.review.samples]
        text += _broken(row)
    text += [f"published graph version {commit.graph_version} of {commit.graph_branch}" for commit in report.commits]
    if any(row.action == "preview" for row in drifted):
        text.append(f"Nothing was changed. {_next_step(drifted)}")
    return text


def _broken(row: "RepairRow") -> list[str]:
    """Say which declared rules the rows break."""
    broken = row.broken
    if broken is None:
        return []
    verb = "now breaks" if row.action == "forced" else "publishing breaks"
    text = []
    if broken.total:
        text.append(f"{_name(row)}: {verb} declared rules {counted(broken.total, 'time')} ({_codes(broken.by_code)})")
        text += [f"  {sample['message']}" for sample in broken.samples]
        left = broken.total - len(broken.samples)
        text += [f"  and {left:,} more"] if left > 0 else []
    if broken.unchecked is not None:
        text.append(f"{_name(row)}: whether declared rules are broken cannot be told in full: {broken.unchecked}")
    return text


def _codes(by_code: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {code.replace('_', ' ')}" for code, count in by_code.items())


def _next_step(drifted: "list[RepairRow]") -> str:
    """Say what works for at least one of the tables."""
    usable = [row for row in drifted if row.action == "preview" and not row.is_unfit]
    if any(row.classification == "verified_maintenance" for row in usable):
        return "Publish what is verified with --confirm."
    if usable:
        return "Review the rows (--diff), then publish with --force --confirm, or go back with --discard --confirm."
    return "Go back to what the graph pins with --discard --confirm."


def _cells(row: "RepairRow") -> tuple[str, ...]:
    return (
        _name(row),
        "" if row.manifest_version is None else str(row.manifest_version),
        _newest(row),
        row.classification.value.replace("_", " "),
        row.action.value,
        _operations(row.operations),
    )


def _newest(row: "RepairRow") -> str:
    if row.is_unreadable:
        return "unreadable"
    return "gone" if row.lance_head_version is None else str(row.lance_head_version)


def _name(row: "RepairRow") -> str:
    return row.table_key if row.branch == "main" else f"{row.table_key} on {row.branch}"


def _operations(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_OPERATIONS_SHOWN])
    left = len(names) - _OPERATIONS_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
