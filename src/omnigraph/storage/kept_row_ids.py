"""Rows that replace stored ones keep their row ids, so that history shows an update and not a delete and an insert.

The ids travel with the description of a file, from workers to whoever commits, and then stay in every version of the
table. An ascending sequence takes a bit per row, any other four bytes or more; rows come in some ascending runs more
often than in one, so each long run is a sequence of its own.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_RUN_ROWS_MIN = 256
"""Shorter runs, on average, take more than they spare."""


def with_row_ids(fragments: Sequence[Any], row_ids: pa.Array) -> list[Any]:
    """Attach the kept row ids to the leading rows of the new fragments."""
    from lance.fragment import FragmentMetadata

    attached, start = [], 0
    for fragment in fragments:
        kept = row_ids.slice(start, fragment.physical_rows)
        start += fragment.physical_rows
        metadata = row_id_metadata(kept) if len(kept) else None
        attached.append(
            FragmentMetadata(
                id=fragment.id, files=fragment.files, physical_rows=fragment.physical_rows, row_id_meta=metadata
            )
        )
    return attached


def row_id_metadata(row_ids: pa.Array) -> Any:
    """Spell the row ids of one file for Lance, in their order."""
    from lance.fragment import RowIdMeta, RowIdSequence

    # Lance's own description of these classes leaves out that they can be taken apart.
    sequences: list[Any] = [RowIdSequence(run.to_pylist()).to_inline_metadata() for run in _runs(row_ids)]
    form: Any = RowIdMeta
    if len(sequences) == 1:
        return sequences[0]
    # A message of protobuf that consists of a repeated field: those of its parts in a row are the message of the whole.
    return form.from_dict({"Inline": [byte for part in sequences for byte in part.asdict()["Inline"]]})


def packed_row_ids(metadata: Any) -> str:
    """Spell what Lance knows of row ids as text that travels in their size.

    Lance's own text has a number for each byte: whoever commits holds those of all workers, and would need eighty bytes
    for every row whose id ascends from no other.
    """
    return b64encode(bytes(metadata.asdict()["Inline"])).decode()


def unpacked_row_ids(packed: str) -> Any:
    """Return what was packed, as Lance knows it."""
    from lance.fragment import RowIdMeta

    form: Any = RowIdMeta
    return form.from_dict({"Inline": list(b64decode(packed))})


def _runs(row_ids: pa.Array) -> Iterator[pa.Array]:
    """Cut ids where they descend; all of them in one if they do so too often."""
    steps = pc.pairwise_diff(row_ids.cast(pa.int64()))
    descents = pc.indices_nonzero(pc.less(pc.fill_null(steps, 1), 0)).to_pylist()
    if (len(descents) + 1) * _RUN_ROWS_MIN > len(row_ids):
        descents = []
    for start, end in zip([0, *descents], [*descents, len(row_ids)], strict=True):
        yield row_ids.slice(start, end - start)
