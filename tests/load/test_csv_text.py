"""Following CSV text on its way to Arrow, whatever the blocks it comes in."""

import csv
import io

import pyarrow.csv as pa_csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.pipeline.load.csv_text import CheckedCsv, CsvProblem, header_problem
from omnigraph.records.offences import Code

cells = st.text(st.sampled_from('ab ",\n\ré'), max_size=6)
tables = st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=6)


# A pair of return and line feed that two blocks share would count as two line ends.
tables_without_returns = st.lists(
    st.lists(st.text(st.sampled_from('ab ",\né'), max_size=6), min_size=2, max_size=2), min_size=1, max_size=6
)


def problem_of(text: bytes, block_bytes: int = 1 << 20) -> CsvProblem | None:
    checked = CheckedCsv(io.BytesIO(text))
    while checked.read(block_bytes):
        pass
    return checked.problem


@given(tables, st.integers(1, 7), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_what_a_csv_writer_writes_has_no_problem_and_passes_unchanged(rows, block_bytes, quoting):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting, lineterminator="\n").writerows(rows)
    text = out.getvalue().encode()
    checked = CheckedCsv(io.BytesIO(text))

    passed = b"".join(iter(lambda: checked.read(block_bytes), b""))

    assert checked.problem is None
    assert passed == text


@given(tables_without_returns, st.integers(1, 7), st.data())
def test_a_text_that_ends_inside_quotes_is_told_by_the_line_of_the_quote(rows, block_bytes, data):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    whole = out.getvalue().encode()
    swallowed = data.draw(st.text(st.sampled_from("ab,\n"), max_size=5)).encode()

    problem = problem_of(whole + b'"' + swallowed, block_bytes)

    line_ends = whole.count(b"\n")
    assert problem is not None
    assert problem.code is Code.BAD_ENVELOPE
    assert f"line {1 + line_ends} " in problem.message
    assert problem.row == len(rows)


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        (b'a,b\n1,"x', 1, "the quote that opens on line 2 of the file is never closed"),
        (b'a,b\n1,"x\n2,y\n', 1, "line 2"),
        (b'a,b\n"1\n1",x\n2,"y""\n', 2, "line 4"),
        (b'a,b\n1,"x"y\n', 1, "stands 'y'"),
        (b'a,b\n1,"say "hi" now"\n', 1, "behind the quoted cell that opens on line 2"),
        (b"a,b\n1,2\n3,\xff\n", 2, "not UTF-8: byte 0xff on line 3"),
        (b"a,b\n1,2\n3,\xc3", 2, "not UTF-8"),
        (b'"a,b\n1,2\n', 0, "line 1"),
    ],
)
def test_what_is_wrong_is_placed(text, row, said, block_bytes):
    problem = problem_of(text, block_bytes)

    assert problem is not None
    assert problem.row == row
    if block_bytes > 100 or "stands" not in said:
        assert said in problem.message


@pytest.mark.parametrize(
    "text",
    [b"", b"a,b\n", b'a\n"x\n"', b'a\n"x\n"\n', b'a,b\n5" pipe,it is 3" wide\n', b'\xef\xbb\xbf"a",b\n1,2', b'a\n""\n'],
)
@pytest.mark.parametrize("block_bytes", [1, 2, 1000])
def test_odd_but_sound_text_passes(text, block_bytes):
    assert problem_of(text, block_bytes if not text.startswith(b"\xef") else 1000) is None


@pytest.mark.parametrize(
    ("head", "names", "said"),
    [
        (b"a,b\n", ["a", "b"], None),
        (b"\na,b\n", ["a", "b"], "the first line is empty"),
        (b"\xef\xbb\xbf\r\na", ["a"], "the first line is empty"),
        (b"a,,b", ["a", "", "b"], "no name for column 2"),
        (b"  ,b", ["  ", "b"], "no name for column 1"),
        (b"a,b,a", ["a", "b", "a"], "names the column 'a' twice"),
    ],
)
def test_a_header_names_every_column_once(head, names, said):
    problem = header_problem(head, names)

    assert (problem is None) if said is None else (problem is not None and said in problem.message)


def test_arrow_reads_through_it():
    table = pa_csv.open_csv(CheckedCsv(io.BytesIO(b"a,b\n1,2\n"))).read_all()

    assert table.to_pylist() == [{"a": 1, "b": 2}]
