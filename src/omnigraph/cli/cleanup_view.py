"""What `cleanup` removed, or would remove, as text."""

from typing import TYPE_CHECKING

from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.cleanup.report import CleanupReport, CleanupRow

_REASONS_SHOWN = 3


def cleanup_text(report: "CleanupReport") -> Text:
    """List the tables from which something goes or that failed, and the sum."""
    versions = sum(row.removed.versions for row in report.rows)
    total = f"{counted(versions, 'version')}, {spell_bytes(sum(row.removed.bytes for row in report.rows))}"
    shown = [
        row for row in report.rows if row.removed.bytes or row.branches_reclaimed or row.trees_reclaimed or row.error
    ]
    if not shown:
        return [f"nothing to remove: {counted(len(report.rows), 'table')} within the policy"]
    cells = tuple(_cells(row) for row in shown)
    titles = ("table", "versions", "size", "files", "kept because")
    grid = Grid(
        columns=tuple(
            TextColumn(title=title, justify="right" if title in {"versions", "size", "files"} else "left")
            for title in titles
        ),
        rows=cells,
    )
    reclaimed = [
        f"{row.name}: reclaims {what} {', '.join(names)}"
        for row in shown
        for what, names in (("the refs", row.branches_reclaimed), ("trees without a ref:", row.trees_reclaimed))
        if names
    ]
    failed = [f"{row.name}: {row.error}" for row in shown if row.error]
    about: Text = [grid, *reclaimed, *failed, *_history(report)]
    if report.executed:
        return [*about, f"removed {total}"]
    return [*about, f"would remove {total}. Nothing was changed; remove it with --confirm."]


def _history(report: "CleanupReport") -> list[str]:
    """Say what can be read afterwards, if that changes."""
    if not report.commits_lost:
        return []
    from_versions = [
        f"{branch} from version {version} on" if version is not None else f"nothing of {branch} as a whole"
        for branch, version in report.readable_from.items()
    ]
    lost = counted(len(report.commits_lost), "commit")
    if report.executed:
        return [f"can still be read: {', '.join(from_versions)}; {lost} can not any more"]
    return [f"could still be read: {', '.join(from_versions)}; {lost} could not any more"]


def _cells(row: "CleanupRow") -> tuple[str, ...]:
    return (
        f"{row.name} (dropped)" if row.dropped else row.name,
        str(row.removed.versions),
        spell_bytes(row.removed.bytes),
        str(row.removed.data_files + row.removed.index_files),
        _reasons(row.kept_because),
    )


def _reasons(reasons: tuple[str, ...]) -> str:
    left = len(reasons) - _REASONS_SHOWN
    return "; ".join(reasons[:_REASONS_SHOWN]) + (f" and {left} more" if left > 0 else "")
