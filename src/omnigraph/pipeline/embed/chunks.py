"""A chunk of a load file: its records read, given their vectors, and spelled again."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from omnigraph.pipeline.embed.records import EmbedJob, EmbedRecord
from omnigraph.pipeline.load.lines import Chunk
from omnigraph.providers.config import EmbedConfig
from omnigraph.providers.embedder import embed_texts
from omnigraph.records.strict_json import Number

CHUNK_BYTES = 2**20
"""Small chunks, because a chunk's records are Python objects while their vectors are fetched."""


def embed_chunk(chunk: Chunk, job: EmbedJob, config: EmbedConfig | None, advance: Callable[[int], None]) -> bytes:
    """Return the lines of a chunk with the vectors that they need; records that do not change keep their bytes."""
    records = [EmbedRecord.read(line, job) for _, line in numbered_lines(chunk)]
    _fill(records, job.spec.dimension, config, advance)
    return b"".join(record.line for record in records)


def numbered_lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold something, with their numbers and their ends."""
    *lines, last = chunk.text.split(b"\n")
    for place, line in enumerate([*(line + b"\n" for line in lines), last]):
        if line.strip():
            yield chunk.first_line + place, line


def _fill(
    records: Sequence[EmbedRecord], dimension: int, config: EmbedConfig | None, advance: Callable[[int], None]
) -> None:
    wanting = [record for record in records if record.needs_vector]
    if not wanting:
        return
    assert config is not None
    vectors = embed_texts(config, [record.text for record in wanting], dimension=dimension, advance=advance)
    # Arrow prints the fewest digits that read back as the same float32.
    spelled = vectors.flatten().cast(pa.utf8()).to_pylist()
    for place, record in enumerate(wanting):
        record.set_vector([Number(digits) for digits in spelled[place * dimension : (place + 1) * dimension]])
