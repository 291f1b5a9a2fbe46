"""Where an embed run over files writes to: a file, or a directory with a file for each one of the input."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.errors import Io
from omnigraph.pipeline.load.sources import InputFile
from omnigraph.pipeline.outputs import appearing_directory, appearing_file

Write = Callable[[bytes], object]
_CODEC_BY_SUFFIX = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The output of one run."""

    output: Path
    is_directory: bool

    @contextmanager
    def appearing(self, files: Sequence[InputFile]) -> Iterator[Iterator[tuple[InputFile, Write]]]:
        """Give each input file something to write to, in order; the output appears when the block has ended well."""
        if self.is_directory:
            with appearing_directory(self.output, may_replace=True) as directory:
                yield self._into(directory, files)
            return
        make_directory(self.output.parent)
        with appearing_file(self.output) as stream:
            yield self._one_after_the_other(stream, files)

    def _into(self, directory: Path, files: Sequence[InputFile]) -> Iterator[tuple[InputFile, Write]]:
        for file in files:
            path = directory / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as stream, _packed(stream, path) as write:
                yield file, write

    def _one_after_the_other(self, stream: BinaryIO, files: Sequence[InputFile]) -> Iterator[tuple[InputFile, Write]]:
        for file in files:
            with _packed(stream, self.output) as write:
                yield file, write


@contextmanager
def _packed(stream: BinaryIO, path: Path) -> Iterator[Write]:
    """Compress what is written, if the name of the file says so."""
    codec = _CODEC_BY_SUFFIX.get(path.suffix)
    if codec is None:
        yield stream.write
        return
    sink = pa.CompressedOutputStream(pa.PythonFile(stream, "wb"), codec)
    yield sink.write
    sink.flush()
    sink.close()


def make_directory(path: Path) -> None:
    """Make a directory and those above it; raise `Io` if that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Io(f"Cannot make {path}: {error.strerror}.", path=str(path)) from error
