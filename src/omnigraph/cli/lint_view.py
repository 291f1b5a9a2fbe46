"""What `lint` found, as text."""

from typing import TYPE_CHECKING

from omnigraph.base.units import counted
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # what checks queries is imported when there is something to check
    from omnigraph.documents.linting import Linted
    from omnigraph.query.lint import LintReport

_ERROR = "error"
_OK = "ok"


def lint_text(linted: "Linted") -> Text:
    """Say for each file how its queries are, then what is wrong in full."""
    blocks: list[str | Grid] = []
    for report in linted.reports:
        blocks += _report_text(report)
    return blocks


def _report_text(report: "LintReport") -> list[str | Grid]:
    blocks: list[str | Grid] = [
        (
            f"{report.query_path}: {counted(len(report.results), 'query')}, {counted(report.errors, 'error')}, "
            f"{counted(report.warnings, 'warning')}"
        )
    ]
    if report.results:
        blocks.append(
            Grid(
                columns=(
                    TextColumn(title="status"),
                    TextColumn(title="kind"),
                    TextColumn(title="query", is_whole=True),
                ),
                rows=tuple(
                    (_OK if result.error is None else _ERROR, result.kind, result.name) for result in report.results
                ),
            )
        )
    for result in report.results:
        if result.error is not None:
            blocks.append(f"error: {result.name}: {result.error}")
        blocks += [f"warning: {result.name}: {warning}" for warning in result.warnings]
    blocks += [f"{finding.severity}: {finding.code}: {finding.message}" for finding in report.findings]
    return blocks
