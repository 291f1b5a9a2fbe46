"""CSV that is broken as CSV is refused with its file and place, never read past, wherever it is read."""

import gzip
from pathlib import Path

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.engine.choice import EngineChoice
from omnigraph.graph import Graph
from omnigraph.pipeline.load.bulk import pieces
from support.bulk_story import refused
from support.table_pieces import SCHEMA, content, in_pieces

# What is wrong, the row it is placed at, and a part of the message.
BROKEN: dict[str, tuple[bytes, int, str]] = {
    "unclosed quote": (b'code,mail\nA,"a\nB,b\nC,c\n', 1, "opens on line 2 of the file is never closed"),
    "unclosed quote at the end": (b'code,mail\nA,a\nB,"b\n', 2, "opens on line 3"),
    "unclosed quote and nothing": (b'code,mail\nA,a\nB,"', 2, "opens on line 3"),
    "unclosed header": (b'code,"mail\nA,a\n', 0, "opens on line 1"),
    "text behind a quote": (b'code,mail\nA,"a"b\n', 1, "stands 'b'"),
    "a quote that is not doubled": (b'code,mail\nA,"say "hi""\n', 1, 'as ""'),
    "more cells": (b"code,mail\nA,a\nB,b,3\n", 2, "the row has 3 cells, the header 2"),
    "fewer cells": (b"code,mail\nA,a\nB\n", 2, "the row has 1 cell, the header 2"),
    "an empty header": (b"\nA,a\n", 0, "the first line is empty"),
    "a header without a name": (b"code,,mail\nA,1,a\n", 0, "no name for column 2"),
    "a name twice": (b"code,mail,mail\nA,a,b\n", 0, "'mail' twice"),
    "no UTF-8": (b"code,mail\nA,a\nB,\xff\n", 2, "byte 0xff on line 3"),
    "an unclosed quote before much": (b'code,mail\nA,"a\n' + b"B,b\n" * 3_000_000, 1, "opens on line 2"),
}


@pytest.fixture
def ports(tmp_path: Path) -> Graph:
    return omnigraph.init(str(tmp_path / "ports.omni"), SCHEMA)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_csv_is_refused_alike_in_one_piece_and_in_many(
    ports: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, row, said = BROKEN[name]
    path = tmp_path / "p.csv"
    path.write_bytes(text)

    with pytest.raises(errors.InvalidRecord) as caught:
        ports.load(path, type="Port", mode="append", engine="local")

    (entry,) = caught.value.details["errors"]
    assert (entry["file"], entry["line"]) == ("p.csv", row)
    assert said in entry["message"]
    told = refused(lambda: ports.load(path, type="Port", mode="append", engine="local"))
    assert refused(lambda: in_pieces(ports, path, mode="append", type="Port")) == told
    monkeypatch.setattr(pieces, "PIECE_BYTES_MIN", 8)
    monkeypatch.setattr(pieces, "PIECE_BYTES_MAX", 8)
    if len(text) < 1000:
        assert refused(lambda: in_pieces(ports, path, mode="append", type="Port")) == told
        packed = tmp_path / "packed" / "p.csv.gz"
        packed.parent.mkdir()
        packed.write_bytes(gzip.compress(text))
        with pytest.raises(errors.InvalidRecord, match=r"p\.csv\.gz:"):
            ports.load(packed, type="Port", mode="append", engine="local")
    assert content(ports) == []
    assert len(ports.commits()) == 1


def test_quotes_that_are_sound_are_read_as_they_are_meant(ports: Graph, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(
        b'\xef\xbb\xbf"code","mail"\r\nA,"a ""quoted"" word"\r\nB,"two\nlines"\r\n\r\nC,5" pipe\r\nD,"last\n"'
    )

    ports.load(path, type="Port", mode="append", engine="local")

    rows = ports.snapshot().table("Port").to_arrow().to_pylist()
    assert {row["code"]: row["mail"] for row in rows} == {
        "A": 'a "quoted" word',
        "B": "two\nlines",
        "C": '5" pipe',
        "D": "last\n",
    }


def test_a_cell_of_many_megabytes_is_a_cell(ports: Graph, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b'code,mail\nA,"' + b"x" * 3_000_000 + b'"\nB,b\n')

    ports.load(path, type="Port", mode="append", engine="local")

    assert {len(row["mail"]) for row in ports.snapshot().table("Port").to_arrow().to_pylist()} == {3_000_000, 1}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_refuses_broken_csv_with_the_same_words(ports: Graph, tmp_path: Path) -> None:
    choice = EngineChoice.named("spark", {})
    for number, name in enumerate(["unclosed quote", "more cells", "a name twice", "no UTF-8"]):
        path = tmp_path / str(number) / "p.csv"
        path.parent.mkdir()
        path.write_bytes(BROKEN[name][0])
        told = refused(lambda: ports.load(path, type="Port", mode="append", engine="local"))  # noqa: B023
        assert refused(lambda: ports.load(path, type="Port", mode="append", engine=choice)) == told, name  # noqa: B023
