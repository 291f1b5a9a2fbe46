"""Results of `optimize` as text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.optimize.report import OptimizeResult, TableReport


def runs_text(results: "Sequence[OptimizeResult]") -> Text:
    """Show the runs over all branches, one after the other."""
    return [block for result in results for block in optimize_text(result)]


def optimize_text(result: "OptimizeResult") -> Text:
    """Say per table what was done, then what it came to."""
    where = "" if result.branch == "main" else f" on branch {result.branch}"
    rows = tuple(_cells(table, is_preview=result.dry_run) for table in result.tables)
    grid = Grid(
        columns=(
            TextColumn(title="table", is_whole=True),
            TextColumn(title="fragments"),
            TextColumn(title="rows", justify="right"),
            TextColumn(title="rewritten", justify="right"),
            TextColumn(title="indexes"),
            TextColumn(title="coverage", justify="right"),
            TextColumn(title="pause", justify="right"),
        ),
        rows=rows,
        plain=tuple(_plain(table, is_preview=result.dry_run) for table in result.tables),
    )
    verb = "would optimize" if result.dry_run else "optimize"
    return [
        f"{verb} {result.uri}{where} — {counted(len(result.tables), 'table')}",
        grid,
        *_notes(result),
        _summary(result),
    ]


def _outcome(table: "TableReport", *, is_preview: bool) -> str:
    if table.skipped is not None:
        return f"skipped ({table.skipped})"
    if table.error is not None:
        return "failed"
    if table.fragments_removed:
        mark = "" if is_preview else " ✓"
        return f"frags {table.fragments_removed} → {table.fragments_added}{mark}"
    if table.committed or table.indexes_built or table.indexes_updated:
        return "indexes" if is_preview else "indexes ✓"
    return "no-op"


def _indexes(table: "TableReport") -> str:
    parts = [f"built {', '.join(table.indexes_built)}"] if table.indexes_built else []
    parts += [f"updated {', '.join(table.indexes_updated)}"] if table.indexes_updated else []
    return "; ".join(parts)


def _coverage(table: "TableReport") -> str:
    if table.manifest_version is None:
        return ""  # The graph's own tables have no indexes.
    before, after = (f"{share:.0%}" for share in (table.coverage_before, table.coverage_after))
    return before if before == after else f"{before} → {after}"


def _cells(table: "TableReport", *, is_preview: bool) -> tuple[str, ...]:
    return (
        table.table_key,
        _outcome(table, is_preview=is_preview),
        f"{table.rows:,}",
        spell_bytes(table.bytes_read) if table.bytes_read else "",
        _indexes(table),
        _coverage(table),
        f"{table.pause_ms} ms" if table.pause_ms else "",
    )


def _plain(table: "TableReport", *, is_preview: bool) -> str:
    indexes = _indexes(table)
    return f"{table.table_key} {_outcome(table, is_preview=is_preview)}{f' ({indexes})' if indexes else ''}"


def _notes(result: "OptimizeResult") -> Iterator[str]:
    """Explain, below the table, what it has no room for."""
    for table in result.tables:
        by_reason: dict[str, list[str]] = {}
        for index in table.pending_indexes:
            by_reason.setdefault(index.reason, []).append(index.column)
        for reason, columns in by_reason.items():
            yield f"  {table.table_key}: index on {', '.join(dict.fromkeys(columns))} pending: {reason}"
        if table.error is not None:
            yield f"  {table.table_key}: {table.error}"
        if table.skipped == "BehindNeedsRestore":
            yield (
                f"  {table.table_key}: the graph pins version {table.manifest_version}, the newest that is left is "
                f"{table.lance_head_version or 'none'}; its newest rows are lost, restore the table from a backup"
            )
        if table.skipped == "DriftNeedsRepair":
            yield (
                f"  {table.table_key}: the graph pins version {table.manifest_version}, the table is at "
                f"{table.lance_head_version}; look at it with `omnigraph repair {result.uri}`"
            )


def _summary(result: "OptimizeResult") -> str:
    left = _left(result)
    pause = f"{result.pause_ms / 1_000:.1f} s"
    if result.dry_run:
        size = sum(table.bytes_read for table in result.tables)
        return (
            f"nothing was changed; a run would rewrite {spell_bytes(size)} and keep writers waiting for {pause}{left}"
        )
    took = f"{result.duration_ms / 1_000:.1f} s"
    if result.commit is None:
        return f"{_without_commit(result, is_done=not left)}, took {took}{left}"
    return (
        f"published graph version {result.graph_version_after} as {result.commit.graph_commit_id}, took {took}, "
        f"writers waited for {pause} at most{left}"
    )


def _left(result: "OptimizeResult") -> str:
    parts = [spell_bytes(result.bytes_left)] if result.bytes_left else []
    if result.indexes_left:
        parts.append(counted(result.indexes_left, "index"))
    return f", {' and '.join(parts)} left to the next run" if parts else ""


def _without_commit(result: "OptimizeResult", *, is_done: bool) -> str:
    """Say why nothing was published: there was no need, or a budget or other writers did not let it."""
    if not is_done or any(table.skipped or table.error for table in result.tables):
        return "nothing was published"
    return "no table of the graph needed it" if any(table.committed for table in result.tables) else "nothing to do"
