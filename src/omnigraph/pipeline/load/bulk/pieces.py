"""Pieces of input: byte ranges of files whose lines stay whole, so that any worker can read any of them alone.

A line belongs to the piece in which it begins. Its number inside the file is known only when all pieces before it have
been counted, so pieces number their own lines, and `LineNumbers` adds them up afterwards.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Protocol

from omnigraph.base import work
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.pipeline.load.lines import CHUNK_BYTES, LINE_BYTES_MAX, ByteStream, Chunk, read_chunks
from omnigraph.pipeline.load.sources import CountedInputs, InputFile, InputReader, LocalInputs, store_of
from omnigraph.records.offences import Offence, Offences
from omnigraph.records.parse import ParsedChunk, parse_chunk
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.uris import is_bucket_uri

EXPANSION = 8
"""How much larger than its compressed form NDJSON is taken to be."""
PIECE_BYTES_MIN = 8 << 20
PIECE_BYTES_MAX = 128 << 20
_PIECES_PER_SLOT = 2
"""More pieces even out unequal workers; fewer make larger data files."""


class NumberedPiece(Protocol):
    """Which part of which file a piece is."""

    @property
    def ordinal(self) -> int:
        """Pieces count in the order of files and of parts within them."""
        ...

    @property
    def file(self) -> InputFile:
        """The file that the piece is a part of."""
        ...


class InputPiece(NumberedPiece, Protocol):
    """A piece that any worker can read."""

    @property
    def input_bytes(self) -> int:
        """How much it holds, as far as that is known; what is compressed is taken at a guess."""
        ...

    @property
    def stored_bytes(self) -> int:
        """How much of its file it is, as that is stored."""
        ...

    def parse(self, catalog: Catalog, scratch: Scratch, *, max_errors: int) -> Iterator[ParsedChunk]:
        """Yield its records; places are the ordinal, and numbers that begin with 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one task reads: a range of a file, or bytes that were spooled because nobody could read them twice."""

    ordinal: int
    """Pieces count in the order of files and of ranges within them."""
    file: InputFile
    start: int = 0
    end: int | None = None
    """None is the end of the file."""
    spooled_as: str | None = None
    input_bytes: int = 0

    @property
    def stored_bytes(self) -> int:
        """How much of its file it is, as that is stored."""
        if self.spooled_as is not None:
            return self.input_bytes
        return (self.file.size_bytes or 0) - self.start if self.end is None else self.end - self.start

    def parse(self, catalog: Catalog, scratch: Scratch, *, max_errors: int) -> Iterator[ParsedChunk]:
        """Yield the records of this piece."""
        for chunk in self.chunks(scratch):
            yield parse_chunk(
                chunk.text,
                first_line=chunk.first_line,
                file_index=self.ordinal,
                catalog=catalog,
                max_errors=max_errors,
            )

    def chunks(self, scratch: Scratch) -> Iterator[Chunk]:
        """Yield the lines of this piece; their numbers begin with 1."""
        if self.spooled_as is not None:
            stream = io.BytesIO(scratch.read(self.spooled_as))
            for chunk in read_chunks(stream, name=self.file.name, is_file_start=self.ordinal == 0):
                yield chunk
                work.did(len(chunk.text))
        else:
            yield from self.file_chunks()

    def file_chunks(self, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Yield the lines of a piece of a file."""
        is_whole = self.start == 0 and self.end is None
        store = store_of(self.file.path) if is_whole else _Range(self.start, self.end)
        with InputReader(self.file, CountedInputs(store)) as reader:
            yield from read_chunks(reader, name=self.file.name, chunk_bytes=chunk_bytes, is_file_start=self.start == 0)


def plan_pieces(files: Sequence[InputFile], *, slots: int) -> tuple[Piece, ...]:
    """Cut plain files into ranges of useful size; compressed ones are read from beginning to end."""
    files = [_anywhere(file) for file in files]
    size = piece_bytes(sum(file.size_bytes or 0 for file in files), slots=slots)
    ranges = [(file, start, end) for file in files for start, end in _ranges(file, size)]
    return tuple(
        Piece(ordinal=ordinal, file=file, start=start, end=end, input_bytes=_text_bytes(file, start, end))
        for ordinal, (file, start, end) in enumerate(ranges)
    )


def piece_bytes(total: int, *, slots: int) -> int:
    """Return a size that gives every slot equally many pieces, as few as may be and not too large ones."""
    rounds = max(_PIECES_PER_SLOT, -(-total // (slots * PIECE_BYTES_MAX)))
    return min(max(total // (slots * rounds) + 1, PIECE_BYTES_MIN), PIECE_BYTES_MAX)


def _text_bytes(file: InputFile, start: int, end: int | None) -> int:
    size = (file.size_bytes or 0) if end is None else end - start
    return size * (EXPANSION if file.codec else 1)


def _anywhere(file: InputFile) -> InputFile:
    """Name a file such that a worker in another directory finds it."""
    return file if is_bucket_uri(file.path) else replace(file, path=str(Path(file.path).absolute()))


def spool_pieces(file: InputFile, stream: ByteStream, scratch: Scratch) -> tuple[Piece, ...]:
    """Keep a stream where workers can read it, a piece at a time."""
    pieces = []
    for ordinal, chunk in enumerate(read_chunks(stream, name=file.name, chunk_bytes=4 * PIECE_BYTES_MIN)):
        name = f"input-{ordinal}"
        scratch.write(name, chunk.text)
        work.did(len(chunk.text))
        pieces.append(Piece(ordinal=ordinal, file=file, spooled_as=name, input_bytes=len(chunk.text)))
    return tuple(pieces)


class LineNumbers:
    """Where the lines of pieces stand in their files."""

    def __init__(self, pieces: Iterable[NumberedPiece], lines_by_piece: Mapping[int, int]) -> None:
        self._file_by_piece: dict[int, InputFile] = {}
        self._lines_before: dict[int, int] = {}
        lines_of_file: dict[int, int] = {}
        for piece in pieces:
            before = lines_of_file.get(piece.file.index, 0)
            self._file_by_piece[piece.ordinal] = piece.file
            self._lines_before[piece.ordinal] = before
            lines_of_file[piece.file.index] = before + lines_by_piece[piece.ordinal]

    def lines_before(self, piece: int) -> int:
        """Return how many lines of its file stand before a piece."""
        return self._lines_before[piece]

    def file_index(self, piece: int) -> int:
        """Return which file a piece is a part of."""
        return self._file_by_piece[piece].index

    def spell(self, piece: int, line: int) -> str:
        """Spell a place as reports show it."""
        return f"{self._file_by_piece[piece].name}:{self._lines_before[piece] + line}"

    def located(self, findings: Offences) -> Offences:
        """Turn findings that name pieces and lines of pieces into findings that name files and lines of files."""
        return replace(
            findings,
            first=tuple(map(self._located, findings.first)),
            file_indexes=frozenset(self._file_by_piece[piece].index for piece in findings.file_indexes),
        )

    def _located(self, finding: Offence) -> Offence:
        if finding.file_index is None or finding.line is None:
            return finding
        piece = finding.file_index
        return replace(
            finding, file_index=self._file_by_piece[piece].index, line=self._lines_before[piece] + finding.line
        )


def _ranges(file: InputFile, size: int) -> Iterator[tuple[int, int | None]]:
    if file.codec is not None or file.size_bytes is None or file.size_bytes <= size:
        yield 0, None
        return
    count = -(-file.size_bytes // size)
    bounds = [file.size_bytes * number // count for number in range(count + 1)]
    yield from pairwise(bounds)


class _Range(LocalInputs):
    """Opens files such that reading gives the lines that begin inside a range."""

    def __init__(self, start: int, end: int | None) -> None:
        super().__init__()
        self._start = start
        self._end = end

    def open(self, path: str) -> BinaryIO:
        """Open a file at the first line that begins in the range."""
        raw = store_of(path).open(path)
        if self._start:
            # From one byte before: if that byte ends a line, the range begins with a line of its own.
            raw.seek(self._start - 1)
            raw.readline(LINE_BYTES_MAX)
        return _Bounded(raw, self._end)  # type: ignore[return-value]  # all that an InputReader asks for


class _Bounded:
    """A file that ends with the line in which byte `end - 1` lies."""

    def __init__(self, raw: BinaryIO, end: int | None) -> None:
        self._raw = raw
        self._end = end

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, more if the last line needs them, none at the end."""
        if self._end is None:
            return self._raw.read(size)
        left = self._end - self._raw.tell()
        if left <= 0:
            return b""
        block = self._raw.read(min(size, left))
        if len(block) == left and not block.endswith(b"\n"):
            block += self._raw.readline(LINE_BYTES_MAX)
        return block

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
