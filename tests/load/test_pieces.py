"""Pieces of input: wherever files are cut, their lines stay whole, in order, and keep their numbers."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.pipeline.load.bulk import pieces as module
from omnigraph.pipeline.load.bulk.pieces import LineNumbers, plan_pieces
from omnigraph.pipeline.load.sources import LocalInputs, find_inputs
from omnigraph.records.offences import Code, Offence, OffenceCollector

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=20)


def chunks_of(piece):
    return b"".join(chunk.text for chunk in piece.chunks(None))


@example(files=[[BYTE_ORDER_MARK]], size=1, ends_open=False)
@given(files=st.lists(LINES, min_size=1, max_size=3), size=st.integers(1, 40), ends_open=st.booleans())
def test_pieces_hold_every_line_once_in_order_and_know_where_it_stood(files, size, ends_open, tmp_path_factory):
    directory = tmp_path_factory.mktemp("input")
    for number, lines in enumerate(files):
        text = b"\n".join(lines) + (b"" if ends_open else b"\n")
        Path(directory, f"{number}.jsonl").write_bytes(text)
    inputs = find_inputs(str(directory), store=LocalInputs())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE_BYTES_MIN", size)
        patch.setattr(module, "PIECE_BYTES_MAX", size)
        pieces = plan_pieces(inputs, slots=2)

    read = {piece.ordinal: chunks_of(piece) for piece in pieces}
    for file in inputs:
        whole = b"".join(read[piece.ordinal] for piece in pieces if piece.file.index == file.index)
        assert whole == Path(directory, file.name).read_bytes().removeprefix(BYTE_ORDER_MARK)
    places = LineNumbers(pieces, {ordinal: text.count(b"\n") for ordinal, text in read.items()})
    for piece in pieces:
        before = sum(
            text.count(b"\n")
            for ordinal, text in read.items()
            if ordinal < piece.ordinal and pieces[ordinal].file.index == piece.file.index
        )
        assert places.spell(piece.ordinal, 1) == f"{piece.file.name}:{before + 1}"


def test_a_byte_order_mark_counts_at_the_start_of_a_file_only(tmp_path, monkeypatch):
    mark = BYTE_ORDER_MARK
    (tmp_path / "a.jsonl").write_bytes(mark + b"one\n" + mark + b"two\n")
    monkeypatch.setattr(module, "PIECE_BYTES_MIN", 7)
    monkeypatch.setattr(module, "PIECE_BYTES_MAX", 7)

    pieces = plan_pieces(find_inputs(str(tmp_path), store=LocalInputs()), slots=1)

    assert [chunks_of(piece) for piece in pieces] == [b"one\n", mark + b"two\n"]


def test_findings_of_pieces_become_findings_of_files(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(b"1\n2\n3\n4\n")
    (tmp_path / "b.jsonl").write_bytes(b"5\n")
    monkeypatch.setattr(module, "PIECE_BYTES_MIN", 4)
    monkeypatch.setattr(module, "PIECE_BYTES_MAX", 4)
    pieces = plan_pieces(find_inputs(str(tmp_path), store=LocalInputs()), slots=1)
    collector = OffenceCollector()
    for piece, line in ((1, 2), (2, 1)):
        collector.add(Offence(code=Code.INVALID_JSON, message="no", file_index=piece, line=line))

    found = LineNumbers(pieces, {0: 2, 1: 2, 2: 1}).located(collector.result())

    assert [(finding.file_index, finding.line) for finding in found.first] == [(0, 4), (1, 1)]
    assert found.file_indexes == {0, 1}
