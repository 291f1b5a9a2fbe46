"""Whole inputs: many files, many chunks, one set of tables or one set of errors."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from omnigraph import errors
from omnigraph.pipeline.load.lines import CHUNK_BYTES
from omnigraph.pipeline.load.parse import ParsedInput, parse_files, parse_input
from omnigraph.pipeline.load.sources import LocalInputs, find_inputs
from omnigraph.records.offences import Code


def sailor(name: str, **data: object) -> bytes:
    return json.dumps({"type": "Sailor", "data": {"name": name, "rank": "mate", **data}}).encode() + b"\n"


def mentors(source: str, target: str) -> bytes:
    return json.dumps({"edge": "Mentors", "from": source, "to": target}).encode() + b"\n"


def parse_path(path: Path, catalog, **options) -> ParsedInput:
    store = LocalInputs()
    return parse_input(find_inputs(str(path), store=store), store=store, catalog=catalog, **options)


def content(parsed: ParsedInput) -> dict[str, list[dict[str, object]]]:
    return {
        table_key: table.drop_columns(["__position", "__file", "__line"]).to_pylist()
        for table_key, table in parsed.tables.items()
    }


def test_a_directory_of_plain_and_compressed_files_is_one_input_in_path_order(tmp_path, sailors):
    (tmp_path / "b").mkdir()
    (tmp_path / "a.jsonl").write_bytes(sailor("Ana") + b"\n" + sailor("Bo"))
    (tmp_path / "b" / "c.ndjson").write_bytes(mentors("Ana", "Cy"))
    (tmp_path / "b" / "d.jsonl.gz").write_bytes(gzip.compress(sailor("Cy")))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.compress(b"\xef\xbb\xbf" + sailor("Di")))
    (tmp_path / "_x.jsonl").write_bytes(b"not read")

    parsed = parse_path(tmp_path, sailors)

    assert parsed.files == ("a.jsonl", "b/c.ndjson", "b/d.jsonl.gz", "c.jsonl.zst")
    places = parsed.tables["node:Sailor"].select(["id", "__file", "__line"]).to_pylist()
    assert places == [
        {"id": "Ana", "__file": 0, "__line": 1},
        {"id": "Bo", "__file": 0, "__line": 3},
        {"id": "Cy", "__file": 2, "__line": 1},
        {"id": "Di", "__file": 3, "__line": 1},
    ]
    assert parsed.tables["edge:Mentors"].num_rows == 1
    positions = parsed.tables["node:Sailor"]["__position"].to_pylist()
    assert positions == sorted(set(positions))


def test_splitting_a_file_into_a_directory_does_not_change_the_content(tmp_path, sailors):
    lines = [sailor(f"s{number}", age=number % 100) for number in range(40)] + [mentors("s1", "s2")] * 3
    (tmp_path / "whole.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "parts").mkdir()
    for start in range(0, len(lines), 7):
        (tmp_path / "parts" / f"{start:03}.jsonl").write_bytes(b"".join(lines[start : start + 7]).rstrip(b"\n"))

    assert content(parse_path(tmp_path / "parts", sailors)) == content(parse_path(tmp_path / "whole.jsonl", sailors))


@pytest.mark.parametrize("text", [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_input_without_records_has_no_tables_and_no_errors(tmp_path, sailors, text):
    (tmp_path / "a.jsonl").write_bytes(text)

    parsed = parse_path(tmp_path, sailors)

    assert (parsed.tables, parsed.findings.total) == ({}, 0)


def test_errors_of_all_files_are_counted_and_the_good_rows_dropped(tmp_path, sailors):
    (tmp_path / "a.jsonl").write_bytes(sailor("Ana") + sailor("Bo", age=500))
    (tmp_path / "b.jsonl").write_bytes(sailor("Cy"))
    (tmp_path / "c.jsonl").write_bytes(sailor("Di") * 3 + b"{\n" * 30)

    parsed = parse_path(tmp_path, sailors, max_errors=3)

    assert parsed.tables == {}
    assert parsed.findings.by_code == {Code.INVALID_JSON: 30, Code.RANGE_VIOLATION: 1}
    assert [(found.file_index, found.line) for found in parsed.findings.first] == [(0, 2), (2, 4), (2, 5)]
    assert parsed.findings.file_indexes == {0, 2}


def test_a_truncated_file_is_an_error_even_if_its_first_lines_are_whole(tmp_path, sailors):
    lines = b"".join(sailor(f"s{number}", bio="X" + str(number) * 50) for number in range(5000))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-20])

    with pytest.raises(errors.Io, match=r"a\.jsonl\.gz"):
        parse_path(tmp_path, sailors)


def test_python_memory_stays_at_a_few_chunks_however_large_the_file_is(tmp_path, sailors):
    block = b"".join(sailor(f"s{number}") for number in range(20_000))
    (tmp_path / "a.jsonl").write_bytes(block * 50)
    store = LocalInputs()
    files = find_inputs(str(tmp_path), store=store)

    tracemalloc.start()
    rows = sum(chunk.tables["node:Sailor"].num_rows for chunk in parse_files(files, store=store, catalog=sailors))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert rows == 1_000_000
    assert files[0].size_bytes > 6 * CHUNK_BYTES
    assert peak_bytes < 5 * CHUNK_BYTES
