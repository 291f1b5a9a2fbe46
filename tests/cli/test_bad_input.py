"""Wrong input at the command line: one report that says where and what, the right exit code, and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SCHEMA = """\
node Sailor {
  name: String @key
  rank: enum(captain, mate)
  age: I32?
  badge: String? @unique
}
edge Mentors: Sailor -> Sailor @card(0..1)
"""
SEED = """\
{"type": "Sailor", "data": {"name": "Ana", "rank": "captain", "badge": "b1"}}
{"type": "Sailor", "data": {"name": "Bo", "rank": "mate"}}
{"edge": "Mentors", "from": "Ana", "to": "Bo", "data": {"id": "m1"}}
"""
GOOD = b'{"type": "Sailor", "data": {"name": "Cy", "rank": "mate"}}\n'


@pytest.fixture
def crew(workplace: Path, run) -> str:
    """A graph of two sailors, made the way a user makes it."""
    workplace.joinpath("crew.pg").write_text(SCHEMA, encoding="utf-8")
    workplace.joinpath("seed.jsonl").write_text(SEED, encoding="utf-8")
    assert run("init", "--schema", "crew.pg", "crew.omni").code == 0
    assert run("load", "--data", "seed.jsonl", "--mode", "append", "crew.omni").code == 0
    return "crew.omni"


def listing(directory: str) -> dict[str, bytes | None]:
    """Return what would show that something was written: all files of the tables and all control objects."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.suffix in {".json", ".pg"} else None
        for path in sorted(Path(directory).rglob("*"))
        if path.is_file() and "__locks" not in path.parts
    }


def published(directory: str) -> dict[str, bytes | None]:
    """The listing without data files that a refused write staged and nothing refers to."""
    return {name: content for name, content in listing(directory).items() if "/data/" not in name}


def sailor(**data: object) -> bytes:
    return json.dumps({"type": "Sailor", "data": data}).encode() + b"\n"


def mentors(source: str, target: str) -> bytes:
    return json.dumps({"edge": "Mentors", "from": source, "to": target}).encode() + b"\n"


RECORDS: dict[str, tuple[bytes, int, str, tuple[str, ...]]] = {
    "wrong type": (sailor(name="Di", rank="mate", age="old"), 2, "wrong_type", ("Sailor.age", "I32", '"old"')),
    "unknown type": (b'{"type": "Pirate", "data": {}}\n', 2, "unknown_type", ('"Pirate"',)),
    "unknown property": (sailor(name="Di", rank="mate", nick="D"), 2, "unknown_property", ("Sailor.nick",)),
    "missing required": (sailor(name="Di"), 2, "missing_required", ("Sailor.rank",)),
    "outside the enum": (sailor(name="Di", rank="cook"), 2, "invalid_enum", ("cook", "captain, mate")),
    "no endpoint field": (b'{"edge": "Mentors", "from": "Ana"}\n', 2, "bad_envelope", ("to",)),
    "truncated last line": (b'{"type": "Sailor", "data": {"na', 2, "invalid_json", ("strict JSON",)),
    "invalid UTF-8": (b'{"type": "Sailor", "data": {"name": "\xff"}}\n', 2, "invalid_utf8", ("0xff",)),
    "NaN": (b'{"type": "Sailor", "data": {"name": "Di", "rank": "mate", "age": NaN}}\n', 2, "invalid_json", ("NaN",)),
    "repeated member": (b'{"type": "Sailor", "type": "Sailor", "data": {}}\n', 2, "duplicate_member", ('"type"',)),
    "an array": (b"[1, 2]\n", 2, "not_an_object", ("object",)),
    "two objects": (GOOD.rstrip() + GOOD, 2, "invalid_json", ("after the value",)),
    "after blank lines": (b"\n \r\n" + sailor(name="Di"), 4, "missing_required", ("Sailor.rank",)),
}


@pytest.mark.parametrize("case", RECORDS)
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_bad_record_is_reported_with_its_file_and_line(crew: str, run, case: str, mode: str) -> None:
    bad, line, code, words = RECORDS[case]
    Path("bad.jsonl").write_bytes(GOOD + bad)
    before = listing(crew)

    ran = run("load", "--data", "bad.jsonl", "--mode", mode, crew, "--json")

    assert ran.code == 1
    document = ran.document
    assert document["kind"] == "invalid_record"
    assert document["code"] == "bad_request"
    assert document["invalid_record"]["total_errors"] == 1
    assert (document["invalid_record"]["file"], document["invalid_record"]["line"]) == ("bad.jsonl", line)
    (entry,) = document["invalid_record"]["errors"]
    assert (entry["file"], entry["line"], entry["code"]) == ("bad.jsonl", line, code)
    for word in words:
        assert word in entry["message"]
    assert f"bad.jsonl:{line}: " in document["error"]
    assert ran.err.count(f"bad.jsonl:{line}: [{code}] ") == 1
    assert "Traceback" not in ran.out + ran.err
    assert listing(crew) == before


SETS: dict[str, tuple[bytes, str, int, str, str, tuple[str, ...]]] = {
    "key exists": (sailor(name="Ana", rank="mate"), "append", 5, "key_conflict", "key_conflict", ("'Ana'",)),
    "key twice": (GOOD, "append", 1, "constraint_violation", "duplicate_id", ("'Cy'", "bad.jsonl:1", "bad.jsonl:2")),
    "value taken": (
        sailor(name="Di", rank="mate", badge="b1"),
        "merge",
        1,
        "constraint_violation",
        "unique_violation",
        ("@unique violation on Sailor.badge", "'b1'", "'Ana'", "'Di'"),
    ),
    "no such node": (
        mentors("Bo", "Zed"),
        "merge",
        1,
        "constraint_violation",
        "orphan_edge",
        ("to", "'Zed'", "Sailor", "not found"),
    ),
    "too many edges": (
        mentors("Ana", "Cy"),
        "append",
        1,
        "constraint_violation",
        "card_violation",
        ("@card violation on edge Mentors", "'Ana'", "2", "max 1"),
    ),
}


@pytest.mark.parametrize("case", SETS)
def test_records_that_do_not_fit_the_graph_are_reported_with_their_place(crew: str, run, case: str) -> None:
    bad, mode, exit_code, kind, code, words = SETS[case]
    Path("bad.jsonl").write_bytes(GOOD + bad)
    before = published(crew)

    ran = run("load", "--data", "bad.jsonl", "--mode", mode, crew, "--json")

    assert ran.code == exit_code
    document = ran.document
    assert document["kind"] == kind
    assert document["code"] == ("conflict" if exit_code == 5 else "bad_request")
    assert document[kind]["by_code"] == {code: 1}
    (entry,) = document[kind]["errors"]
    assert (entry["file"], entry["line"], entry["code"]) == ("bad.jsonl", 2, code)
    for word in words:
        assert word in entry["message"]
    assert "Traceback" not in ran.out + ran.err
    assert published(crew) == before


def test_many_bad_records_are_counted_and_the_first_twenty_are_printed(crew: str, run) -> None:
    Path("bad.jsonl").write_bytes(b"".join(sailor(name=f"s{number}") for number in range(30)))

    ran = run("load", "--data", "bad.jsonl", "--mode", "merge", crew)

    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.count("[missing_required]") == 20
    assert "bad.jsonl:20: " in ran.err
    assert "… and 10 more" in ran.err


@pytest.mark.parametrize("is_valid", [True, False])
def test_a_line_of_ten_megabytes_loads_or_is_reported_briefly(crew: str, run, is_valid: bool) -> None:
    name = "x" * 10_000_000
    Path("long.jsonl").write_bytes(GOOD + sailor(name=name, rank="mate" if is_valid else name))

    ran = run("load", "--data", "long.jsonl", "--mode", "append", crew, "--json")

    if is_valid:
        assert ran.code == 0
        assert ran.document["total_rows"] == 2
    else:
        assert ran.code == 1
        (entry,) = ran.document["invalid_record"]["errors"]
        assert (entry["line"], entry["code"]) == (2, "invalid_enum")
        assert len(ran.out) + len(ran.err) < 5_000


BAD_SCHEMAS = {
    "syntax": ("node Sailor {\n  name String\n}\n", 2, "String"),
    "unknown endpoint": ("node A { k: String @key }\nedge E: A -> Ghost\n", 2, "Ghost"),
    "nullable key": ("node A {\n  k: String? @key\n}\n", 2, "A.k"),
    "bad pattern": ('node A {\n  s: String\n  @check(s, "(")\n}\n', 3, "A.s"),
    "list of blobs": ("node A {\n\n  b: [Blob]\n}\n", 3, "Blob"),
}


@pytest.mark.parametrize("case", BAD_SCHEMAS)
def test_a_wrong_schema_is_refused_with_its_place_and_nothing_is_created(workplace: Path, run, case: str) -> None:
    text, line, word = BAD_SCHEMAS[case]
    workplace.joinpath("bad.pg").write_text(text, encoding="utf-8")

    ran = run("init", "--schema", "bad.pg", "new.omni", "--json")

    assert ran.code == 1
    document = ran.document
    assert document["kind"] == "parse_error"
    assert document["parse_error"]["source"] == "bad.pg"
    assert document["parse_error"]["line"] == line
    assert word in document["error"]
    assert f"bad.pg:{line}" in document["error"]
    assert "Traceback" not in ran.err
    assert not Path("new.omni").exists()


def test_all_mistakes_of_a_schema_come_in_one_report(workplace: Path, run) -> None:
    workplace.joinpath("bad.pg").write_text(
        "node A {\n  k: String? @key\n  n: I32\n  n: I64\n  @range(k, 1..2)\n  @index(ghost)\n}\nedge E: A -> Gone\n",
        encoding="utf-8",
    )

    ran = run("init", "--schema", "bad.pg", "new.omni")

    assert ran.code == 1
    for line in (2, 4, 5, 6, 8):
        assert f"bad.pg:{line}:" in ran.err, ran.err
    assert not Path("new.omni").exists()


MISSING: dict[str, Callable[[Path], None]] = {
    "no such file": lambda path: None,
    "an empty directory": lambda path: path.mkdir(),
    "a damaged archive": lambda path: path.with_suffix(".jsonl.gz").write_bytes(b"\x1f\x8bnot gzip"),
}


@pytest.mark.parametrize("case", MISSING)
def test_input_that_cannot_be_read_is_one_error_that_names_it(crew: str, run, case: str) -> None:
    path = Path("input")
    MISSING[case](path)
    named = "input.jsonl.gz" if case == "a damaged archive" else "input"
    before = listing(crew)

    ran = run("load", "--data", named, "--mode", "merge", crew, "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "io"
    assert named in ran.document["error"]
    assert "Traceback" not in ran.err
    assert listing(crew) == before


def test_a_real_process_prints_no_traceback_and_ends_with_the_code(crew: str, run_process) -> None:
    Path("bad.jsonl").write_bytes(GOOD + b'{"type": "Sailor", "data": {"na')

    ran = run_process("load", "--data", "bad.jsonl", "--mode", "append", crew)

    assert ran.code == 1
    assert ran.out == ""
    assert "bad.jsonl:2: [invalid_json]" in ran.err
    assert "Traceback" not in ran.err
