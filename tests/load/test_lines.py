"""Chunks of whole lines: nothing lost, nothing split, numbers physical, memory bounded."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph import errors
from omnigraph.pipeline.load.lines import read_chunks

BOM = b"\xef\xbb\xbf"


class Dribble:
    """A stream that returns less than it is asked for, as pipes do."""

    def __init__(self, text: bytes, step: int) -> None:
        self._stream = io.BytesIO(text)
        self._step = step

    def read(self, size: int) -> bytes:
        return self._stream.read(min(size, self._step))


@given(text=st.binary(max_size=60).map(lambda text: text.replace(b"a", b"\n")), size=st.integers(1, 70))
def test_chunks_are_whole_lines_with_physical_numbers_whatever_their_size(text, size):
    chunks = list(read_chunks(io.BytesIO(text), name="f", chunk_bytes=size))

    assert b"".join(chunk.text for chunk in chunks) == text.removeprefix(BOM)
    assert all(chunk.text.endswith(b"\n") for chunk in chunks[:-1])
    first_line = 1
    for chunk in chunks:
        assert chunk.first_line == first_line
        first_line += chunk.text.count(b"\n")


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_a_byte_order_mark_is_skipped_only_at_the_start_of_a_file(step):
    text = BOM + b"a\n" + BOM + b"b\n"

    chunks = list(read_chunks(Dribble(text, step), name="f", chunk_bytes=100))

    assert b"".join(chunk.text for chunk in chunks) == b"a\n" + BOM + b"b\n"


def test_a_line_longer_than_a_chunk_arrives_whole():
    text = b"short\n" + b"x" * 10_000 + b"\nshort\n"

    chunks = list(read_chunks(io.BytesIO(text), name="f", chunk_bytes=64))

    assert any(b"x" * 10_000 in chunk.text for chunk in chunks)
    assert b"".join(chunk.text for chunk in chunks) == text


def test_a_line_beyond_the_limit_is_refused_with_its_place_before_it_is_read_whole():
    stream = io.BytesIO(b"ok\n\n" + b"x" * 1_000_000)

    with pytest.raises(errors.ResourceLimit) as caught:
        list(read_chunks(stream, name="in/a.jsonl", chunk_bytes=100, line_bytes_max=1000))

    assert "in/a.jsonl:3" in caught.value.message
    assert caught.value.details["resource"] == "load_line_bytes"
    assert caught.value.details["limit"] == 1000
    assert stream.tell() < 2000


def test_an_empty_file_has_no_chunks():
    assert list(read_chunks(io.BytesIO(b""), name="f")) == []
