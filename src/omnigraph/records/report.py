"""Findings → the error that rejects a load: its kind, its message, and details that programs may rely on."""

from collections.abc import Sequence
from typing import Any

from omnigraph import errors
from omnigraph.base.units import counted
from omnigraph.records.offences import SET_CODES, Code, Offence, Offences

Entry = dict[str, Any]
"""A finding as it stands in the error document: its members are strings and a line number, unknown ones absent."""


def rejected(
    findings: Offences, *, files: Sequence[str], verb: str = "load", has_records: bool = True
) -> errors.OmniError:
    """Make the error for a load, or another `verb`, that has findings; `files` holds the file names by index.

    Record checks come first and end the load, so they never mix with set checks. Among these, existing ids and nothing
    else are a conflict; anything more is a broken constraint, and so is everything where there are no records.
    """
    entries = [_entry(finding, files) for finding in findings.first]
    message = f"{verb} rejected: {_message(findings, entries[0])}"
    counts: dict[str, Any] = {
        "total_errors": findings.total,
        "by_code": {code.value: findings.by_code[code] for code in sorted(findings.by_code)},
        "errors": entries,
    }
    if has_records and SET_CODES.isdisjoint(findings.by_code):
        return errors.InvalidRecord(message, **_chosen(entries[0], "file", "line", "table_key"), **counts)
    if findings.by_code.keys() == {Code.KEY_CONFLICT}:
        return errors.KeyConflict(message, **_chosen(entries[0], "table_key", "row_id"), **counts)
    place = _chosen(entries[0], "table_key", "property", "row_id")
    return errors.ConstraintViolation(message, **place, rule=findings.first[0].code.value, **counts)


def _message(findings: Offences, first: Entry) -> str:
    extent = counted(findings.total, "error")
    if findings.file_indexes:
        extent += f" in {counted(len(findings.file_indexes), 'file')}"
    place = f"{first['file']}:{first['line']}: " if "file" in first else ""
    return f"{extent}; first: {place}{first['message']}"


def _entry(finding: Offence, files: Sequence[str]) -> Entry:
    members = {
        "file": None if finding.file_index is None else files[finding.file_index],
        "line": finding.line,
        "code": finding.code.value,
        "table_key": finding.table_key,
        "property": finding.property,
        "row_id": finding.row_id,
        "message": finding.message,
    }
    return {name: value for name, value in members.items() if value is not None}


def _chosen(entry: Entry, *names: str) -> Entry:
    return {name: entry[name] for name in names if name in entry}
