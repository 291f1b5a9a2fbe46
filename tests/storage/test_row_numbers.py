"""Numbers of rows on their way from a worker to the commit: the same when they arrive, in few bytes."""

import random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.row_numbers import packed_numbers, unpacked_numbers
from omnigraph.storage.staging import stage_written
from omnigraph.storage.worker_files import TablePlace
from support import harbor

ROWS = 5_000


@given(numbers=st.lists(st.integers(0, 2**64 - 1)), start=st.integers(0, 3))
def test_numbers_come_back_as_they_were(numbers: list[int], start: int) -> None:
    window = pa.array(numbers, pa.uint64()).slice(start)

    assert unpacked_numbers(packed_numbers(window)).to_pylist() == numbers[start:]


def test_a_fragment_with_kept_row_ids_is_described_in_few_bytes_and_keeps_them(local_root: str) -> None:
    from lance.fragment import RowIdSequence

    graph = harbor.new_graph(local_root, [harbor.sailor(f"s{number}") for number in range(ROWS)])
    store = graph._context.store
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    table = store.tables.open(pin.address, pin.version)
    rows = table.read()
    row_ids = pa.array(random.Random(1).sample(range(ROWS), ROWS), pa.uint64())
    place = TablePlace(address=pin.address, version=pin.version, target=pin.address)

    described = place.write_rows(store, rows, row_ids=row_ids)

    # Lance itself would spell every byte of them as a number in a text, and 24 bytes for each row.
    assert sum(map(len, described)) < 5 * ROWS
    staged = stage_written(
        store.tables, table, pin.address, described, removed_addresses=pa.array([0], pa.uint64()), properties={}
    )
    operation = staged.build(table)
    kept = [RowIdSequence.from_inline_metadata(made.row_id_meta).to_pyarrow() for made in operation.new_fragments]
    assert pa.concat_arrays(kept).to_pylist() == row_ids.to_pylist()
