"""The health of a graph as one HTML file: no scripts, no fonts, nothing to fetch.

A person should see within seconds which table hurts: what to do comes first, tables stand in the order of what they
need, and every number that matters has a bar beside it. Red is only what must be acted on.
"""

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import iso_from_us
from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.health_charts import Bar, Heading, bars, folded, legend, table
from omnigraph.cli.health_indexes import index_sections
from omnigraph.cli.health_style import STYLE
from omnigraph.cli.health_view import (
    TABLES_NAMED,
    TABLES_SHOWN,
    coverage_cell,
    gained_text,
    in_order_of_need,
    named_tables,
    size_cells,
    table_id,
    table_name,
    took_text,
    worst_by_table,
)
from omnigraph.documents.health import SIZE_BUCKETS

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.finding import Finding
    from omnigraph.maintenance.health.judging import HealthReport
    from omnigraph.maintenance.health.space import Leftover

_HEADLINES = {
    "healthy": "Healthy",
    "attention": "Needs attention",
    "action": "Needs action",
}
_BARS_MAX = 12
_RUNS_MAX = 8
_LIVE, _OLD = "var(--data)", "var(--old)"


def health_page(report: "HealthReport") -> str:
    """Return the whole page."""
    tables = in_order_of_need(report)
    body = "\n".join(
        [
            *_head(report, tables),
            *_findings("What to do", [finding for finding in report.findings if finding.needs_something]),
            *_space(tables, report.health.leftovers),
            *_tables(tables, worst_by_table(report)),
            *index_sections(report),
            *_fragments(tables),
            *_findings("Good to know", [finding for finding in report.findings if not finding.needs_something]),
            *_runs(report),
            *_rest(report),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Health of {escape(report.health.uri)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _head(report: "HealthReport", tables: list[dict[str, Any]]) -> Iterator[str]:
    health, status = report.health, report.status.value
    urgent = sum(finding.needs_something for finding in report.findings)
    yield f"<h1>{escape(health.uri)}</h1>"
    yield f'<p class="soft">looked at {iso_from_us(health.looked_at_us)} UTC</p>'
    yield (
        f'<div class="card status {status}"><strong>{_HEADLINES[status]}</strong>'
        f"<span>{counted(urgent, 'finding') if urgent else 'Nothing to do.'}</span></div>"
    )
    maintained = iso_from_us(health.last_maintenance.created_at_us)[:10] if health.last_maintenance else "never"
    figures = {
        "tables": f"{len(tables):,}",
        "rows": f"{sum(table['rows'] or 0 for table in tables):,}",
        "live data": spell_bytes(sum(table["bytes"] for table in tables)),
        "reclaimable": spell_bytes(health.reclaimable_bytes),
        "branches": str(1 + len(health.branches)),
        "optimized": maintained,
    }
    yield '<div class="figures">'
    for name, value in figures.items():
        yield f'<div class="card figure"><span class="soft">{name}</span><b>{escape(value)}</b></div>'
    yield "</div>"


def _findings(title: str, findings: "list[Finding]") -> Iterator[str]:
    if not findings:
        return
    yield f'<h2>{title}</h2><div class="card">'
    for finding in findings:
        where = named_tables(finding)
        named = f"<b>{escape(where)}</b> · " if where else ""
        yield f'<div class="finding {finding.severity.value}"><span class="badge">{finding.severity.value}</span>'
        yield f"<div><p>{named}{escape(finding.message)}</p>"
        if finding.needs_something:
            yield f"<p><code>{escape(finding.fix)}</code></p>"
        if len(finding.places) > TABLES_NAMED:
            yield from folded(f"all {len(finding.places)} tables", _names(finding.places))
        yield "</div></div>"
    yield "</div>"


def _names(names: Iterable[str]) -> Iterator[str]:
    yield '<ul class="names">' + "".join(f"<li>{escape(name)}</li>" for name in names) + "</ul>"


def _space(tables: list[dict[str, Any]], leftovers: "tuple[Leftover, ...]") -> Iterator[str]:
    sizes = [(table_name(table), table["bytes"], table["reclaimable_bytes"]) for table in tables]
    sizes += [(f"{left.name} (dropped)" if left.is_dropped else left.name, 0, left.bytes) for left in leftovers]
    drawn = sorted(
        (
            Bar(
                name=name,
                parts=((live, _LIVE), (old, _OLD)),
                says=" + ".join(spell_bytes(size) for size in (live, old) if size),
            )
            for name, live, old in sizes
            if live + old
        ),
        key=lambda bar: -bar.length,
    )
    if not drawn:
        return
    yield '<h2>Where the bytes are</h2><div class="card">'
    yield legend(((_LIVE, "live"), (_OLD, "what cleanup would remove")))
    yield from bars(drawn[:_BARS_MAX], whole=drawn[0].length)
    if rest := drawn[_BARS_MAX:]:
        together = spell_bytes(int(sum(bar.length for bar in rest)))
        yield (
            f'<p class="note">The {_BARS_MAX} largest of {len(drawn)}; '
            f"the other {len(rest)} hold {together} together.</p>"
        )
    if empty := sum(table["rows"] == 0 for table in tables):
        yield f'<p class="note">{counted(empty, "table")} without rows {"is" if empty == 1 else "are"} not shown.</p>'
    yield "</div>"


def _tables(tables: list[dict[str, Any]], worst: dict[tuple[str, str | None], str]) -> Iterator[str]:
    headings = (
        Heading(title="table"),
        Heading(title="rows"),
        Heading(title="size", is_needed=False),
        Heading(title="fragments"),
        Heading(title="deleted rows", is_needed=False),
        Heading(title="versions", is_needed=False),
        Heading(title="indexed"),
        Heading(title="pin", is_needed=False),
        Heading(title="newest", is_needed=False),
    )
    rows = [(worst.get(table_id(found), ""), _table_cells(found)) for found in tables]
    needy = sum(bool(tone) for tone, _ in rows)
    yield '<h2>Tables</h2><div class="card">'
    if needy and needy < len(rows):
        yield f'<p class="soft">{counted(needy, "table")} with something to do first, then the others by size.</p>'
    yield '<div class="scroll">'
    yield from table(headings, rows[:TABLES_SHOWN])
    yield "</div>"
    if rest := rows[TABLES_SHOWN:]:
        yield from folded(counted(len(rest), "more table"), ('<div class="scroll">', *table(headings, rest), "</div>"))
    yield "</div>"


def _table_cells(found: dict[str, Any]) -> tuple[str, ...]:
    return (
        *size_cells(found),
        coverage_cell(found),
        str(found["manifest_version"]),
        "gone" if found["lance_head_version"] is None else str(found["lance_head_version"]),
    )


def _fragments(tables: list[dict[str, Any]]) -> Iterator[str]:
    counts = {label: sum(found["fragment_sizes"][label] for found in tables) for _, label in SIZE_BUCKETS}
    most = max(counts.values(), default=0)
    if not most:
        return
    yield '<h2>Fragments by size</h2><div class="card">'
    # One colour: a small table has a small fragment, and there is nothing wrong with that.
    yield from bars(
        [Bar(name=label, parts=((number, _LIVE),), says=str(number)) for label, number in counts.items()], whole=most
    )
    yield "</div>"


def _runs(report: "HealthReport") -> Iterator[str]:
    runs = report.health.runs[-_RUNS_MAX:][::-1]
    if not runs:
        return
    headings = [Heading(title=title, is_needed=title != "took") for title in ("what", "when", "took", "gained")]
    yield '<h2>Last maintenance</h2><div class="card scroll">'
    yield from table(
        headings,
        [
            (
                "attention" if run.errors else "",
                (
                    run.verb if run.branch in {None, "main"} else f"{run.verb} on {run.branch}",
                    iso_from_us(run.ended_at_us),
                    took_text(run),
                    gained_text(run),
                ),
            )
            for run in runs
        ],
        kind="words",
    )
    if len(report.health.runs) > len(runs):
        yield f'<p class="note">The last {len(runs)} of {len(report.health.runs)} runs.</p>'
    yield "</div>"


def _rest(report: "HealthReport") -> Iterator[str]:
    health = report.health
    lines = [
        *(
            f"<b>{escape(internal.name)}</b>{f' on {escape(internal.branch)}' if internal.branch else ''} · "
            f"{counted(len(internal.layout.fragments), 'fragment')}, "
            f"{counted(internal.versions, 'version')}, {spell_bytes(internal.bytes)}"
            for internal in health.internal
        ),
        *(
            f"branch <b>{escape(branch.name)}</b> · version {branch.graph_version}, last used "
            f"{iso_from_us(branch.last_active_us)[:10]}, owns {counted(branch.owned_tables, 'table')}, "
            f"keeps {counted(branch.old_versions_kept, 'old version')}"
            for branch in health.branches
        ),
        *(
            f"lock <b>{escape(name)}</b> · {escape(str(holder))} since {escape(holder.since)}"
            for name, holder in health.locks.items()
        ),
    ]
    yield '<h2>Behind the scenes</h2><div class="card">' + "".join(f"<p>{line}</p>" for line in lines) + "</div>"
