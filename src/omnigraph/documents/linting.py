"""What a look at query files found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:  # what checks queries is imported when there is something to check
    from omnigraph.query.columns import ColumnKind
    from omnigraph.query.lint import LintedQuery, LintFinding, LintReport, Operation, TypeUse

_ERROR = "error"
_OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """Reports of one or several files against one schema; `is_single` where one file was named, not a folder."""

    schema_source: dict[str, Json]
    reports: "Sequence[LintReport]"
    is_single: bool

    @property
    def is_ok(self) -> bool:
        """Whether no file has an error."""
        return all(report.is_ok for report in self.reports)


def lint_document(linted: Linted) -> Json:
    """Describe what was found: the document of the one file, or of all files with a document each."""
    if linted.is_single:
        (report,) = linted.reports
        return _report(report, linted.schema_source)
    reports = linted.reports
    return {
        "status": _OK if linted.is_ok else _ERROR,
        "schema_source": linted.schema_source,
        "queries_processed": sum(len(report.results) for report in reports),
        "errors": sum(report.errors for report in reports),
        "warnings": sum(report.warnings for report in reports),
        "infos": sum(report.infos for report in reports),
        "files": [_report(report, linted.schema_source) for report in reports],
    }


def _report(report: "LintReport", schema_source: dict[str, Json]) -> Json:
    return {
        "status": _OK if report.is_ok else _ERROR,
        "schema_source": schema_source,
        "query_path": report.query_path,
        "queries_processed": len(report.results),
        "errors": report.errors,
        "warnings": report.warnings,
        "infos": report.infos,
        "results": [_query(result) for result in report.results],
        "findings": [_finding(finding) for finding in report.findings],
    }


def _query(result: "LintedQuery") -> Json:
    document: dict[str, Json] = {
        "name": result.name,
        "kind": result.kind,
        "status": _OK if result.error is None else _ERROR,
    }
    if result.error is not None:
        document["error"] = result.error
    if result.warnings:
        document["warnings"] = list(result.warnings)
    if result.operation is not None:
        document["operation"] = _operation(result.operation)
    return document


def _operation(operation: "Operation") -> Json:
    return {
        "result": [_column(column) for column in operation.result],
        "reads": [_use(use) for use in operation.reads],
        "writes": [_use(use) for use in operation.writes],
    }


def _column(column: "ColumnKind") -> Json:
    document: dict[str, Json] = {"name": column.name, "kind": column.kind}
    if column.item_kind is not None:
        document["item_kind"] = column.item_kind
    if column.vector_dim is not None:
        document["vector_dim"] = column.vector_dim
    return {**document, "nullable": column.nullable}


def _use(use: "TypeUse") -> Json:
    return {"kind": use.kind, "type_name": use.type_name}


def _finding(finding: "LintFinding") -> Json:
    document: dict[str, Json] = {
        "severity": finding.severity.value,
        "code": finding.code,
        "message": finding.message,
    }
    if finding.type_name is not None:
        document["type_name"] = finding.type_name
    if finding.property is not None:
        document["property"] = finding.property
    if finding.query_names:
        document["query_names"] = list(finding.query_names)
    return document
