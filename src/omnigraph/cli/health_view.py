"""The health of a graph as text: what to do first, then the tables that need it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import timestamp_from_us
from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.output import Grid, Text, TextColumn
from omnigraph.documents.health import table_document, unread_document

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.finding import Finding
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.health.runs import MaintenanceRun


RUNS_SHOWN = 3
TABLES_SHOWN = 20
"""As many as people read; the others are in the document and on the page."""
TABLES_NAMED = 3


def health_text(report: "HealthReport") -> Text:
    """Say what to do, then show the tables, those that need something first, then what is good to know."""
    health = report.health
    tables = in_order_of_need(report)
    lines: list[str | Grid] = [f"{health.uri}: {report.status.value}"]
    for finding in report.findings:
        if finding.needs_something:
            lines += [finding_line(finding), f"  {finding.fix}"]
    if len(lines) == 1:
        lines.append(f"nothing to do: {counted(len(tables), 'table')} in good order")
    lines.append(_grid(tables[:TABLES_SHOWN]))
    if len(tables) > TABLES_SHOWN:
        lines.append(f"… and {counted(len(tables) - TABLES_SHOWN, 'more table')}; --json and --html show all of them")
    lines += [finding_line(finding) for finding in report.findings if not finding.needs_something]
    return [*lines, *_behind_the_scenes(report)]


def finding_line(finding: "Finding") -> str:
    """Say a finding in one line: how urgent, about what, and what it is."""
    where = named_tables(finding)
    return f"{finding.severity.value}: {f'{where}: ' if where else ''}{finding.message}"


def named_tables(finding: "Finding") -> str:
    """Name what a finding is about: a table, a few of many, a branch; nothing for the whole graph."""
    tables = finding.places
    few = ", ".join(tables[:TABLES_NAMED])
    if len(tables) > TABLES_NAMED:
        few = f"{len(tables)} tables ({few} and {len(tables) - TABLES_NAMED} more)"
    return " on ".join(part for part in (few, finding.branch) if part)


def in_order_of_need(report: "HealthReport") -> list[dict[str, Any]]:
    """Describe all tables: those that need something first, the most urgent at the top, then by size."""
    worst = worst_by_table(report)
    rank = {"action": 0, "attention": 1}
    return sorted(
        [*map(table_document, report.health.tables), *_unreadable(report)],
        key=lambda table: (rank.get(worst.get(table_id(table), ""), 2), -table["bytes"] - table["reclaimable_bytes"]),
    )


def _unreadable(report: "HealthReport") -> Iterator[dict[str, Any]]:
    """Describe the tables of which nothing could be read, so that they stand in the list where they belong."""
    seen = {(table.table_key, None if table.branch == "main" else table.branch) for table in report.health.tables}
    damaged = dict.fromkeys((damage.table_key, damage.branch) for damage in report.health.damages)
    for table_key, branch in damaged:
        if table_key is not None and table_key.startswith(("node:", "edge:")) and (table_key, branch) not in seen:
            yield unread_document(table_key, branch)


def worst_by_table(report: "HealthReport") -> dict[tuple[str, str | None], str]:
    """Return how urgent the most urgent thing about each table is; what needs nothing is left out."""
    worst: dict[tuple[str, str | None], str] = {}
    members = [member for finding in report.findings for member in finding.members or (finding,)]
    for urgency in ("action", "attention"):
        for member in members:
            if member.severity.value == urgency and member.table_key is not None:
                worst.setdefault((member.table_key, member.branch), urgency)
    return worst


def table_id(table: dict[str, Any]) -> tuple[str, str | None]:
    """Return what tells a described table from all others."""
    return table["table_key"], table["branch"]


def table_name(table: dict[str, Any]) -> str:
    """Name a described table, with its branch unless that is `main`."""
    return str(table["table_key"]) if table["branch"] is None else f"{table['table_key']} on {table['branch']}"


def _grid(tables: list[dict[str, Any]]) -> Grid:
    rows = tuple(_cells(table) for table in tables)
    titles = ("table", "rows", "size", "fragments", "deleted", "versions", "reclaimable", "indexed")
    return Grid(
        columns=tuple(TextColumn(title=title, justify="left" if title == "table" else "right") for title in titles),
        rows=rows,
    )


def _behind_the_scenes(report: "HealthReport") -> Iterator[str]:
    health = report.health
    beside = sum(left.bytes for left in health.leftovers)
    if beside:
        names = ", ".join(dict.fromkeys(left.name for left in health.leftovers))
        yield f"reclaimable besides: {spell_bytes(beside)} ({names})"
    for name, holder in health.locks.items():
        yield f"locked: {name} by {holder} since {holder.since}"
    for run in health.runs[-RUNS_SHOWN:]:
        yield f"last run: {run_line(run)}"


def spell_share(share: float) -> str:
    """Spell a share, rounded down: an index that misses one row of a million does not know all of them."""
    return f"{int(share * 100)}%"


def _cells(table: dict[str, Any]) -> tuple[str, ...]:
    return (*size_cells(table), spell_bytes(table["reclaimable_bytes"]), coverage_cell(table))


def size_cells(table: dict[str, Any]) -> tuple[str, ...]:
    """Spell how large a table is: its name, rows, bytes, fragments, the share of deleted rows, and versions."""
    return (
        table_name(table),
        "?" if table["rows"] is None else f"{table['rows']:,}",
        spell_bytes(table["bytes"]),
        str(table["fragments"]),
        f"{table['deleted_ratio']:.0%}",
        str(table["versions"]),
    )


def coverage_cell(table: dict[str, Any]) -> str:
    """Spell how much of a table its indexes know."""
    return "?" if table["coverage"] is None else spell_share(table["coverage"])


def run_line(run: "MaintenanceRun") -> str:
    """Say the same in one line."""
    where = "" if run.branch in {None, "main"} else f" on {run.branch}"
    took = f" took {took_text(run)}" if run.duration_us is not None else ""
    return f"{run.verb}{where} {timestamp_from_us(run.ended_at_us)}{took}: {gained_text(run)}"


def took_text(run: "MaintenanceRun") -> str:
    """Spell how long a run took; nothing when only its commit tells of it."""
    return "" if run.duration_us is None else f"{run.duration_us / 1_000_000:.1f} s"


def gained_text(run: "MaintenanceRun") -> str:
    """Spell what a run was good for."""
    return ", ".join(_gains(run)) or "nothing to do"


def _gains(run: "MaintenanceRun") -> Iterator[str]:
    if run.fragments_removed:
        yield f"{counted(run.fragments_removed, 'fragment')} became {run.fragments_added}"
    if run.indexes_built:
        yield f"{run.indexes_built} {'index' if run.indexes_built == 1 else 'indexes'} built"
    if run.indexes_updated:
        yield f"{run.indexes_updated} {'index' if run.indexes_updated == 1 else 'indexes'} updated"
    if run.versions_removed or run.bytes_removed:
        yield f"{counted(run.versions_removed, 'version')} and {spell_bytes(run.bytes_removed)} removed"
    if run.tables_repaired:
        yield f"{counted(run.tables_repaired, 'table')} repaired"
    if run.errors:
        yield f"failed on {', '.join(name or 'the whole run' for name in run.errors)}"
