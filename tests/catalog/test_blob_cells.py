"""Content and references side by side in one binary column."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.blob_cells import CELL, cells_of, content_cell, content_cells, reference_cell, split_cells

MARKED = reference_cell("s3://b/k")
CONTENTS = st.one_of(
    st.none(), st.binary(max_size=40), st.builds(lambda end: MARKED[:-9] + end, st.binary(max_size=12))
)
URIS = st.one_of(st.none(), st.text(min_size=1, max_size=20))


@given(st.lists(st.tuples(CONTENTS, URIS)))
def test_what_is_put_together_comes_apart_again(values: list[tuple[bytes | None, str | None]]) -> None:
    contents = pa.array([None if uri is not None else content for content, uri in values], CELL)
    uris = pa.array([uri for _, uri in values], pa.utf8())

    apart = split_cells(cells_of(contents, uris))

    assert [column.to_pylist() for column in apart] == [contents.to_pylist(), uris.to_pylist()]


@given(st.lists(st.one_of(st.binary(), st.text()), unique=True))
def test_no_two_values_have_the_same_cell(values: list[bytes | str]) -> None:
    cells = [reference_cell(value) if isinstance(value, str) else content_cell(value) for value in values]

    assert len(set(cells)) == len(values)


@pytest.mark.parametrize("content", [b"", b"plain", MARKED, MARKED[:5], content_cell(MARKED)])
def test_content_stands_for_itself_unless_it_looks_like_a_reference(content: bytes) -> None:
    [cell] = content_cells(pa.array([content], CELL)).to_pylist()

    assert cell == content_cell(content)
    assert (cell == content) == (not content.startswith(MARKED[:-9]))
    assert split_cells(pa.array([cell], CELL))[0].to_pylist() == [content]
