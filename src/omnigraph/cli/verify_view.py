"""What `verify` found, as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.base.units import counted, spell_bytes, spell_seconds
from omnigraph.cli.output import Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.verify.report import Problem, VerifyReport

_PROBLEMS_SHOWN = 20
"""Per table; a directory that is gone as a whole has thousands of lost files, and one line of them says it."""


def verify_text(report: "VerifyReport") -> Text:
    """Group what is wrong by table; one line says what was looked at."""
    lines = [line for name, problems in _grouped(report) for line in _table_lines(name, problems)]
    return [*lines, *_summary(report)]


def _grouped(report: "VerifyReport") -> Iterator[tuple[str, list["Problem"]]]:
    by_table: dict[str, list[Problem]] = {}
    for problem in report.problems:
        on_branch = f" on {problem.branch}" if problem.branch else ""
        by_table.setdefault(f"{problem.table_key or 'graph'}{on_branch}", []).append(problem)
    yield from sorted(by_table.items())


def _table_lines(name: str, problems: "list[Problem]") -> Iterator[str]:
    yield f"{name}: {counted(len(problems), 'problem')}"
    by_lost: dict[tuple[str | None, str | None], list[Problem]] = {}
    for problem in problems:
        by_lost.setdefault((problem.lost, problem.remedy), []).append(problem)
    for (lost, remedy), found in by_lost.items():
        yield from (f"  {problem.message}" for problem in found[:_PROBLEMS_SHOWN])
        if len(found) > _PROBLEMS_SHOWN:
            yield f"  … and {len(found) - _PROBLEMS_SHOWN} more; --json lists all"
        if lost is not None:
            yield f"    {lost}"
        if remedy is not None:
            yield f"    → {remedy}"


def _summary(report: "VerifyReport") -> Iterator[str]:
    looked = (
        f"{counted(report.tables, 'table')} of {', '.join(report.branches)}: "
        f"{counted(report.graph_versions, 'graph version')}, {counted(report.files, 'file')}, "
        f"{spell_bytes(report.bytes)}"
    )
    took = spell_seconds(report.duration_ms / 1_000)
    if report.deep:
        looked += f"; {spell_bytes(report.bytes_read)} and {counted(report.rows_read, 'row')} read ({report.engine})"
    if report.versions_reclaimed:
        looked += f"; {counted(report.versions_reclaimed, 'table version')} reclaimed by cleanup"
    if report.is_clean:
        yield f"✓ whole: {looked}; {took}"
    else:
        yield f"✗ {counted(len(report.problems), 'problem')} in {looked}; {took}"
    if report.files_without_checksum:
        many = counted(report.files_without_checksum, "file")
        yield f"  {many} not checkable byte for byte: no checksum was recorded when they were written"
    if not report.deep:
        yield "  contents were not read; --deep does"
