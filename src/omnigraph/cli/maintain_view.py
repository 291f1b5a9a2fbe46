"""What `maintain` found and did, and what it did before, as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.base import clock
from omnigraph.base.units import counted, spell_seconds
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.journal import JournalEntry
    from omnigraph.maintenance.maintain.report import GraphReport, MaintainReport, StepReport

_AT_REST = ("nothing_due", "unchanged", "disabled")
_IN_WORDS = {
    "due": "due",
    "done": "done",
    "nothing_due": "in good order",
    "unchanged": "unchanged since",
    "left": "left to the next run",
    "failed": "failed",
    "quiet_hours": "waiting for the end of quiet hours",
    "elsewhere": "maintained elsewhere",
    "disabled": "switched off",
}


def maintain_text(report: "MaintainReport") -> Text:
    """Show the graphs with which something is, what needs a person, and how many of each kind there were."""
    shown = [graph for graph in report.graphs if graph.status.value not in _AT_REST]
    grid = Grid(
        columns=(
            TextColumn(title="graph", is_whole=True),
            TextColumn(title="status"),
            TextColumn(title="what and why"),
        ),
        rows=tuple(
            (graph.name if first else "", graph.status.value.replace("_", " ") if first else "", line)
            for graph in shown
            for first, line in _with_first(list(_lines(graph)))
        ),
        plain=tuple(f"{graph.name}: {line}" for graph in shown for line in _lines(graph)),
    )
    return [
        *([grid] if shown else []),
        *(
            f"needs a person: {name}{f' {finding.place}' if finding.place else ''}: {finding.message}\n  {finding.fix}"
            for name, finding in report.for_people
        ),
        *(
            f"note: {graph.name}: {finding.message}\n  {finding.fix}"
            for graph in report.graphs
            for finding in graph.plan.notes
        ),
        _summary(report),
    ]


def journal_text(entries: "Sequence[JournalEntry]") -> Text:
    """Show one line for each earlier run, newest first."""
    if not entries:
        return ["no run has been recorded yet"]
    rows = tuple(_journal_cells(entry) for entry in reversed(entries))
    titles = ("ended", "host", "took", "graphs", "what")
    return [Grid(columns=tuple(TextColumn(title=title, is_whole=title == "ended") for title in titles), rows=rows)]


def _lines(graph: "GraphReport") -> Iterator[str]:
    if not graph.steps:
        yield f"{_IN_WORDS[graph.status.value]}: {graph.reason}"
    for step in graph.steps:
        yield from _step_lines(step)


def _step_lines(step: "StepReport") -> Iterator[str]:
    from omnigraph.maintenance.maintain.report import spell_step

    outcome = {"planned": "", "done": "done, ", "left": "left: ", "elsewhere": "skipped: ", "failed": "failed: "}
    told = f" — {outcome[step.status.value]}{step.detail}" if step.detail else ""
    yield f"{spell_step(step.step)}: {'; '.join(step.step.why)}{told}"


def _with_first(lines: list[str]) -> list[tuple[bool, str]]:
    return [(place == 0, line) for place, line in enumerate(lines)]


def _summary(report: "MaintainReport") -> str:
    counts = Counter(graph.status.value for graph in report.graphs)
    told = ", ".join(f"{counts[status]} {_counted_as(status)}" for status in _IN_WORDS if counts[status])
    verb = "would maintain" if report.dry_run else "stopped early on" if report.is_stopped else "looked at"
    took = spell_seconds(report.duration_ms / 1_000) if report.duration_ms >= 10_000 else f"{report.duration_ms} ms"
    many = counted(len(report.graphs), "graph")
    return f"{verb} {many} of {report.about}: {told}; took {took}" if told else f"{report.about} has no graphs"


def _counted_as(status: str) -> str:
    return "unchanged" if status == "unchanged" else _IN_WORDS[status]


def _journal_cells(entry: "JournalEntry") -> tuple[str, ...]:
    graphs = [graph for graph in _list(entry.document, "graphs") if isinstance(graph, Mapping)]
    counts = Counter(str(graph.get("status")) for graph in graphs)
    people = sum(bool(graph.get("needs_person")) for graph in graphs)
    told = [f"{counts[status]} {_counted_as(status)}" for status in _IN_WORDS if counts[status]]
    told += [f"{people} in need of a person"] if people else []
    return (
        clock.iso_from_us(entry.ended_at_us),
        entry.host,
        spell_seconds((entry.ended_at_us - entry.started_at_us) / 1e6),
        str(len(graphs)),
        ", ".join(told),
    )


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name) if isinstance(document, Mapping) else None
    return list(found) if isinstance(found, list) else []
