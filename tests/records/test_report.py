"""The error that rejects a load: message and document exactly as the contract shows them."""

import pytest

from omnigraph import errors
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.records.report import rejected


def findings(*found: Offence, limit: int = 20):
    collector = OffenceCollector(limit=limit)
    for finding in found:
        collector.add(finding)
    return collector.result()


def record_finding(line: int, code: Code = Code.WRONG_TYPE, *, file_index: int = 0, property_name: str | None = "age"):
    return Offence(
        code=code,
        message=f"message {line}",
        file_index=file_index,
        line=line,
        table_key="node:Sailor" if property_name else None,
        property=property_name,
    )


def test_record_errors_make_the_document_of_the_contract(parse, sailors):
    old = '{"type":"Sailor","data":{"name":"Ana","rank":"mate","age":"old"}}'
    nick = '{"type":"Sailor","data":{"name":"Bo","rank":"mate","nick":"B"}}'
    collector = OffenceCollector()
    collector.include(parse(sailors, nick, old, first_line=7, file_index=1).findings)
    collector.include(parse(sailors, "", old).findings)

    error = rejected(collector.result(), files=("a.jsonl", "b/c.ndjson"))

    assert isinstance(error, errors.InvalidRecord)
    assert error.document() == {
        "error": 'load rejected: 3 errors in 2 files; first: a.jsonl:2: Sailor.age expects I32, got "old"',
        "kind": "invalid_record",
        "code": "bad_request",
        "invalid_record": {
            "file": "a.jsonl",
            "line": 2,
            "table_key": "node:Sailor",
            "total_errors": 3,
            "by_code": {"unknown_property": 1, "wrong_type": 2},
            "errors": [
                {
                    "file": "a.jsonl",
                    "line": 2,
                    "code": "wrong_type",
                    "table_key": "node:Sailor",
                    "property": "age",
                    "message": 'Sailor.age expects I32, got "old"',
                },
                {
                    "file": "b/c.ndjson",
                    "line": 7,
                    "code": "unknown_property",
                    "table_key": "node:Sailor",
                    "property": "nick",
                    "message": "unknown property Sailor.nick",
                },
                {
                    "file": "b/c.ndjson",
                    "line": 8,
                    "code": "wrong_type",
                    "table_key": "node:Sailor",
                    "property": "age",
                    "message": 'Sailor.age expects I32, got "old"',
                },
            ],
        },
    }


def test_what_is_not_known_is_absent(parse, sailors):
    error = rejected(parse(sailors, "{").findings, files=("a.jsonl",))

    assert error.message.startswith("load rejected: 1 error in 1 file; first: a.jsonl:1: not strict JSON")
    assert set(error.details) == {"file", "line", "total_errors", "by_code", "errors"}
    assert set(error.details["errors"][0]) == {"file", "line", "code", "message"}


@pytest.mark.parametrize(("limit", "shown"), [(20, 20), (5, 5), (1, 1), (0, 1)])
def test_errors_are_capped_and_counted(limit, shown):
    found = findings(*(record_finding(line) for line in range(1000, 0, -1)), limit=limit)

    details = rejected(found, files=("a.jsonl",)).details

    assert [entry["line"] for entry in details["errors"]] == list(range(1, shown + 1))
    assert (details["total_errors"], details["by_code"]) == (1000, {"wrong_type": 1000})


def test_errors_are_ordered_by_file_line_and_property():
    found = findings(
        record_finding(3, file_index=1),
        record_finding(9, property_name="b"),
        record_finding(9, property_name="a"),
        record_finding(10, property_name=None, code=Code.INVALID_JSON),
        record_finding(2, property_name="z"),
    )

    entries = rejected(found, files=("a", "b")).details["errors"]

    assert [(entry["file"], entry["line"], entry.get("property")) for entry in entries] == [
        ("a", 2, "z"),
        ("a", 9, "a"),
        ("a", 9, "b"),
        ("a", 10, None),
        ("b", 3, "age"),
    ]


def set_finding(code: Code, *, line: int | None = 4) -> Offence:
    return Offence(
        code=code,
        message=f"{code} of Ana",
        file_index=None if line is None else 0,
        line=line,
        table_key="node:Sailor",
        row_id="Ana",
    )


def test_existing_ids_alone_are_a_conflict():
    error = rejected(findings(set_finding(Code.KEY_CONFLICT)), files=("a.jsonl",))

    assert isinstance(error, errors.KeyConflict)
    assert {name: error.details[name] for name in ("table_key", "row_id", "total_errors")} == {
        "table_key": "node:Sailor",
        "row_id": "Ana",
        "total_errors": 1,
    }


def test_any_other_set_error_makes_it_a_broken_constraint_with_the_rule_of_the_first():
    error = rejected(
        findings(set_finding(Code.KEY_CONFLICT, line=5), set_finding(Code.DUPLICATE_ID)), files=("a.jsonl",)
    )

    assert isinstance(error, errors.ConstraintViolation)
    assert error.details["rule"] == "duplicate_id"
    assert error.details["by_code"] == {"duplicate_id": 1, "key_conflict": 1}


def test_errors_about_retained_entities_have_no_place_and_come_last():
    error = rejected(
        findings(set_finding(Code.ORPHAN_EDGE, line=None), set_finding(Code.UNIQUE_VIOLATION)), files=("a.jsonl",)
    )
    alone = rejected(findings(set_finding(Code.ORPHAN_EDGE, line=None)), files=("a.jsonl",))

    assert [entry.get("line") for entry in error.details["errors"]] == [4, None]
    assert alone.message == "load rejected: 1 error; first: orphan_edge of Ana"
    assert alone.details["errors"][0]["row_id"] == "Ana"
