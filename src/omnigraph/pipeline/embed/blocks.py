"""Blocks: rows of a table that lie side by side, and what workers of an embed run share among each other.

Fragments would be too large for that: a table that was compacted may be a single one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.pipeline.embed.targets import Target
from omnigraph.storage.tables import ROW_ADDRESS

_BLOCK_BITS = 12
"""The rows of a block, as a power of two: their texts are asked for at once."""
_FRAGMENT_BITS = 32
"""A row's address is the number of its fragment and, in so many bits, its place in there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What there is to embed: the bytes of texts, by table and block."""

    bytes_by_block: dict[TableKey, dict[int, int]]

    @property
    def bytes(self) -> int:
        """All texts together."""
        return sum(sum(sizes.values()) for sizes in self.bytes_by_block.values())

    def __bool__(self) -> bool:
        return any(self.bytes_by_block.values())


def pending_texts(capture: Capture, targets: Sequence[Target], *, reembed_all: bool) -> Pending:
    """Measure what there is to embed, without holding it."""
    found: dict[TableKey, dict[int, int]] = defaultdict(dict)
    for target in targets:
        sizes = found[target.node.table_key]
        source = target.embed.source
        scan = capture.table(target.node.table_key).scan(
            [source], where=target.wanted(reembed_all=reembed_all), with_row_addresses=True
        )
        for whole in scan:
            batch = whole.filter(pc.not_equal(pc.utf8_trim_whitespace(whole[source]), ""))
            measured = pa.table({"block": _blocks(batch), "bytes": pc.binary_length(batch[source])})
            for row in measured.group_by("block").aggregate([("bytes", "sum")]).to_pylist():
                sizes[row["block"]] = sizes.get(row["block"], 0) + row["bytes_sum"]
    return Pending(bytes_by_block=dict(found))


def fragments_of(blocks: Iterable[int]) -> tuple[int, ...]:
    """Return the fragments that blocks are in."""
    return tuple(dict.fromkeys(block >> (_FRAGMENT_BITS - _BLOCK_BITS) for block in blocks))


def rows_in(blocks: Sequence[int]) -> str:
    """Return a filter for the rows from the first block to the last."""
    first, end = blocks[0] << _BLOCK_BITS, (blocks[-1] + 1) << _BLOCK_BITS
    return f"{ROW_ADDRESS} >= {first} AND {ROW_ADDRESS} < {end}"


def by_block(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put rows together block by block: the same texts are then asked for together, whoever has the blocks."""
    for _, group in groupby((part for batch in batches for part in _cut(batch)), _block_of):
        yield pa.Table.from_batches(group)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where a block ends."""
    blocks = _blocks(batch)
    changes = pc.not_equal(blocks.slice(1), blocks.slice(0, max(len(blocks) - 1, 0)))
    ends = [place + 1 for place in pc.indices_nonzero(changes).to_pylist()]
    for start, end in zip([0, *ends], [*ends, len(blocks)], strict=True):
        if end > start:
            yield batch.slice(start, end - start)


def _block_of(batch: pa.RecordBatch) -> int:
    return int(batch[ROW_ADDRESS][0].as_py()) >> _BLOCK_BITS


def _blocks(batch: pa.RecordBatch) -> pa.Array:
    return pc.shift_right(batch[ROW_ADDRESS], pa.scalar(_BLOCK_BITS, pa.uint64()))
