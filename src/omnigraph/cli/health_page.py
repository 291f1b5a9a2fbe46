"""The health of a graph as one HTML file: no scripts, no fonts, nothing to fetch.

A person should see within seconds which table hurts, so tables stand in the order of their findings and every number
that matters has a bar beside it.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from omnigraph.base.clock import iso_from_us
from omnigraph.base.units import counted, spell_bytes
from omnigraph.cli.health_runs import gained_text, took_text
from omnigraph.cli.health_view import SIZE_BUCKETS, index_documents, spell_share, table_document

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.findings import Finding
    from omnigraph.maintenance.health.report import HealthReport
    from omnigraph.maintenance.health.space import Leftover

_HEADLINES = {
    "healthy": "Healthy",
    "attention": "Needs attention",
    "action": "Needs action",
}
_RANK = {"action": 0, "attention": 1, "info": 2}
_BARS_MAX = 12
_RUNS_MAX = 8

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5d6779; --line: #e3e7ee; --page: #f6f7fa; --card: #fff;
  --good: #2f9e6e; --warn: #d98a1f; --bad: #d1493f; --data: #4c6fd7; --old: #b9c3d6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --soft: #98a2b5; --line: #2c3342; --page: #12151c;
  --card: #1a1f2a; --good: #4cc38a; --warn: #e5a54b; --bad: #e5675d; --data: #7d9bf0; --old: #46506a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 32px 0 12px; }
p { margin: 4px 0; }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; }
.status { margin-top: 14px; display: flex; gap: 16px; align-items: center; border-left: 6px solid var(--tone); }
.status strong { font-size: 20px; color: var(--tone); }
.healthy { --tone: var(--good); } .attention { --tone: var(--warn); } .action { --tone: var(--bad); }
.info { --tone: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 12px; }
.figure b { display: block; font-size: 19px; white-space: nowrap; font-variant-numeric: tabular-nums; }
.finding { display: grid; grid-template-columns: 92px 1fr; gap: 4px 14px; padding: 12px 0;
  border-top: 1px solid var(--line); }
.finding:first-child { border-top: 0; }
.badge { justify-self: start; align-self: start; padding: 1px 10px; border-radius: 999px; font-size: 12px;
  border: 1px solid var(--tone); color: var(--tone); }
code { font: 13px/1.5 ui-monospace, monospace; background: var(--page); border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 8px; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 8px 10px; border-top: 1px solid var(--line); white-space: nowrap; }
th { border-top: 0; color: var(--soft); font-weight: 500; font-size: 13px; }
th:first-child, td:first-child { text-align: left; }
tr td:first-child { border-left: 4px solid var(--tone, transparent); }
svg { display: block; }
summary { cursor: pointer; color: var(--soft); }
table.words th, table.words td { text-align: left; }
.meter { display: inline-block; width: 120px; height: 8px; margin-right: 10px; border-radius: 4px;
  background: var(--line); overflow: hidden; vertical-align: middle; }
.meter i { display: block; height: 100%; }
.legend { display: flex; gap: 18px; font-size: 13px; color: var(--soft); margin-bottom: 8px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
"""


def health_page(report: "HealthReport") -> str:
    """Return the whole page."""
    health = report.health
    worst = _worst_by_table(report.findings)
    tables = sorted(
        (table_document(table) for table in health.tables),
        key=lambda table: (_RANK.get(worst.get(_key(table), ""), 3), -table["bytes"] - table["reclaimable_bytes"]),
    )
    body = "\n".join(
        [
            *_head(report, tables),
            *_findings(report),
            *_space(tables, health.leftovers),
            *_tables(tables, worst),
            *_indexes(report),
            *_fragments(tables),
            *_runs(report),
            *_rest(report),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Health of {escape(health.uri)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _head(report: "HealthReport", tables: list[dict[str, Any]]) -> Iterator[str]:
    health, status = report.health, report.status.value
    urgent = sum(finding.severity != "info" for finding in report.findings)
    yield f"<h1>{escape(health.uri)}</h1>"
    yield f'<p class="soft">looked at {iso_from_us(health.looked_at_us)} UTC</p>'
    yield (
        f'<div class="card status {status}"><strong>{_HEADLINES[status]}</strong>'
        f"<span>{counted(urgent, 'finding') if urgent else 'Nothing to do.'}</span></div>"
    )
    maintained = iso_from_us(health.last_maintenance.created_at_us)[:10] if health.last_maintenance else "never"
    figures = {
        "rows": f"{sum(table['rows'] or 0 for table in tables):,}",
        "live data": spell_bytes(sum(table["bytes"] for table in tables)),
        "reclaimable": spell_bytes(health.reclaimable_bytes),
        "fragments": f"{sum(table['fragments'] for table in tables):,}",
        "branches": str(1 + len(health.branches)),
        "last optimized": maintained,
    }
    yield '<div class="figures">'
    for name, value in figures.items():
        yield f'<div class="card figure"><span class="soft">{name}</span><b>{escape(value)}</b></div>'
    yield "</div>"


def _findings(report: "HealthReport") -> Iterator[str]:
    if not report.findings:
        return
    yield '<h2>What to do</h2><div class="card">'
    for finding in report.findings:
        where = " on ".join(part for part in (finding.table_key, finding.branch) if part)
        named = f"<b>{escape(where)}</b> · " if where else ""
        fix = "" if finding.severity == "info" else f"<p><code>{escape(finding.fix)}</code></p>"
        yield (
            f'<div class="finding {finding.severity.value}"><span class="badge">{finding.severity.value}</span>'
            f"<div><p>{named}{escape(finding.message)}</p>{fix}</div></div>"
        )
    yield "</div>"


def _space(tables: list[dict[str, Any]], leftovers: "tuple[Leftover, ...]") -> Iterator[str]:
    bars = [(_name(table), table["bytes"], table["reclaimable_bytes"]) for table in tables]
    bars += [(f"{left.name} (dropped)" if left.is_dropped else left.name, 0, left.bytes) for left in leftovers]
    shown = sorted(bars, key=lambda bar: -bar[1] - bar[2])[:_BARS_MAX]
    largest = max((live + old for _, live, old in shown), default=0)
    if not largest:
        return
    yield '<h2>Where the bytes are</h2><div class="card">'
    yield (
        '<div class="legend"><span><i style="background:var(--data)"></i>live</span>'
        '<span><i style="background:var(--old)"></i>what cleanup would remove</span></div>'
    )
    yield _bars(
        [
            (
                name,
                [(live, "var(--data)"), (old, "var(--old)")],
                largest,
                " + ".join(spell_bytes(size) for size in (live, old) if size) or spell_bytes(0),
            )
            for name, live, old in shown
        ]
    )
    yield "</div>"


def _bars(rows: list[tuple[str, list[tuple[float, str]], float, str]]) -> str:
    """Draw one horizontal bar per row: its name, its parts as a share of a whole, and what it says."""
    height, left, width = 26, 220, 560
    lines = [
        f'<svg viewBox="0 0 1000 {height * len(rows)}" width="100%" role="img" font-size="13" font-family="inherit">'
    ]
    for number, (name, parts, whole, says) in enumerate(rows):
        y, x = number * height, float(left)
        shown = name if len(name) <= 30 else f"{name[:29]}…"
        lines.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end" fill="currentColor">{escape(shown)}</text>')
        for value, color in parts:
            long = width * value / whole
            lines.append(
                f'<rect x="{x:.1f}" y="{y + 5}" width="{max(long, 1.5 if value else 0):.1f}" height="16" rx="3" '
                f'fill="{color}"/>'
            )
            x += long
        lines.append(f'<text x="{x + 8:.1f}" y="{y + 17}" fill="var(--soft)">{escape(says)}</text>')
    return "\n".join([*lines, "</svg>"])


def _tables(tables: list[dict[str, Any]], worst: dict[tuple[str, str | None], str]) -> Iterator[str]:
    titles = ("table", "rows", "size", "fragments", "deleted rows", "versions", "indexed", "pin", "newest")
    yield '<h2>Tables</h2><div class="card scroll"><table><thead><tr>'
    yield "".join(f"<th>{title}</th>" for title in titles) + "</tr></thead><tbody>"
    for table in tables:
        cells = (
            _name(table),
            "?" if table["rows"] is None else f"{table['rows']:,}",
            spell_bytes(table["bytes"]),
            str(table["fragments"]),
            f"{table['deleted_ratio']:.0%}",
            str(table["versions"]),
            "?" if table["coverage"] is None else spell_share(table["coverage"]),
            str(table["manifest_version"]),
            "gone" if table["lance_head_version"] is None else str(table["lance_head_version"]),
        )
        tone = worst.get(_key(table), "")
        yield f'<tr class="{tone}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _fragments(tables: list[dict[str, Any]]) -> Iterator[str]:
    counts = {label: sum(table["fragment_sizes"][label] for table in tables) for _, label in SIZE_BUCKETS}
    most = max(counts.values(), default=0)
    if not most:
        return
    yield '<h2>Fragments by size</h2><div class="card">'
    colors = ("var(--bad)", "var(--warn)", "var(--data)", "var(--data)")
    yield _bars(
        [
            (label, [(counts[label], color)], most, str(counts[label]))
            for (_, label), color in zip(SIZE_BUCKETS, colors, strict=True)
        ]
    )
    yield "</div>"


def _indexes(report: "HealthReport") -> Iterator[str]:
    """List every index, the least complete first; folded up unless one of them is incomplete."""
    rows = sorted(
        (
            (index["coverage"], _name(table_document(table)), index)
            for table in report.health.tables
            for index in index_documents(table)
        ),
        key=lambda row: row[:2],
    )
    if not rows:
        return
    incomplete = sum(coverage < 1.0 for coverage, _, _ in rows)
    counts = f"{len(rows)} {'index' if len(rows) == 1 else 'indexes'}, {incomplete or 'none'} incomplete"
    yield f'<h2>Indexes</h2><details class="card scroll"{" open" if incomplete else ""}><summary>{counts}</summary>'
    yield "<table><thead><tr><th>table</th><th>columns</th><th>kind</th><th>segments</th><th>knows of the rows</th>"
    yield "</tr></thead><tbody>"
    for coverage, name, index in rows:
        cells = (
            name,
            ", ".join(index["columns"]),
            index["kind"] or f"{index['declared_as']}, not built",
            str(index["segments"]),
        )
        tone = "var(--good)" if coverage == 1.0 else "var(--warn)" if coverage >= 0.5 else "var(--bad)"
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield (
            f'<td><span class="meter"><i style="width:{coverage:.0%};background:{tone}"></i></span>'
            f"{spell_share(coverage)}</td></tr>"
        )
    yield "</tbody></table></details>"


def _runs(report: "HealthReport") -> Iterator[str]:
    runs = report.health.runs[-_RUNS_MAX:][::-1]
    if not runs:
        return
    yield '<h2>Last maintenance</h2><div class="card scroll"><table class="words"><thead><tr>'
    yield "".join(f"<th>{title}</th>" for title in ("what", "when", "took", "gained")) + "</tr></thead><tbody>"
    for run in runs:
        what = run.verb if run.branch in {None, "main"} else f"{run.verb} on {run.branch}"
        cells = (what, iso_from_us(run.ended_at_us), took_text(run), gained_text(run))
        tone = ' class="attention"' if run.errors else ""
        yield f"<tr{tone}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


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


def _worst_by_table(findings: "tuple[Finding, ...]") -> dict[tuple[str, str | None], str]:
    worst: dict[tuple[str, str | None], str] = {}
    for finding in findings:  # the most urgent come first
        if finding.table_key is not None:
            worst.setdefault((finding.table_key, finding.branch), finding.severity.value)
    return worst


def _key(table: dict[str, Any]) -> tuple[str, str | None]:
    return table["table_key"], table["branch"]


def _name(table: dict[str, Any]) -> str:
    return str(table["table_key"]) if table["branch"] is None else f"{table['table_key']} on {table['branch']}"
