"""Row ids that rewritten rows keep: in any order, and small where they come in long runs."""

import random
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance import LanceOperation
from lance.fragment import RowIdSequence, write_fragments

from omnigraph.storage import kept_row_ids
from omnigraph.storage.kept_row_ids import row_id_metadata, with_row_ids
from omnigraph.storage.staging import stage_written
from omnigraph.storage.worker_files import TablePlace
from support import harbor

EVENS = [*range(1_000, 2_000, 2)]
ODDS = [*range(1, 1_000, 2)]


@given(st.lists(st.lists(st.integers(0, 2**40), min_size=1, max_size=20, unique=True), min_size=1, max_size=6))
def test_ids_come_back_in_their_order(runs: list[list[int]]) -> None:
    ids = [*dict.fromkeys(number for run in runs for number in sorted(run))]
    before = kept_row_ids._RUN_ROWS_MIN
    kept_row_ids._RUN_ROWS_MIN = 1
    try:
        found = RowIdSequence.from_inline_metadata(row_id_metadata(pa.array(ids, pa.uint64()))).to_pyarrow()
    finally:
        kept_row_ids._RUN_ROWS_MIN = before

    assert found.to_pylist() == ids


def test_two_runs_take_bits_and_not_bytes() -> None:
    spelled = row_id_metadata(pa.array([*EVENS, *ODDS], pa.uint64())).asdict()["Inline"]

    assert len(spelled) < 300


def test_ids_without_order_stay_one_sequence() -> None:
    ids = random.Random(7).sample(range(10_000), 1_000)

    spelled = row_id_metadata(pa.array(ids, pa.uint64())).asdict()

    assert spelled == RowIdSequence(ids).to_inline_metadata().asdict()


def test_a_fragment_that_travels_keeps_its_row_ids_in_few_bytes(local_root: str) -> None:
    count = 3_000
    graph = harbor.new_graph(local_root, [harbor.sailor(f"s{number}") for number in range(count)])
    store = graph._context.store
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    table = store.tables.open(pin.address, pin.version)
    row_ids = pa.array(random.Random(1).sample(range(count), count), pa.uint64())
    place = TablePlace(state=pin.state, target=pin.address)

    described = place.write_rows(store, table.read(), row_ids=row_ids)

    assert sum(map(len, described)) < 6 * count, "Lance's own text takes 12 and more for each row"
    gone = pa.array([0], pa.uint64())
    (staged,) = stage_written(store.tables, table, pin.address, described, removed_addresses=gone, properties={})
    kept = [
        RowIdSequence.from_inline_metadata(made.row_id_meta).to_pyarrow() for made in staged.build(table).new_fragments
    ]
    assert pa.concat_arrays(kept).to_pylist() == row_ids.to_pylist()


@pytest.mark.parametrize("inserted", [0, 300])
def test_a_table_finds_rows_by_ids_that_came_in_runs(tmp_path: Path, inserted: int) -> None:
    """An update with two runs, then a look-up, an index, a compaction and a look-up again."""
    uri = str(tmp_path / "t.lance")
    rows = pa.table({"id": pa.array(range(2_000), pa.int64()), "age": pa.array([0] * 2_000, pa.int64())})
    dataset = lance.write_dataset(rows, uri, enable_stable_row_ids=True)
    dataset.create_scalar_index("id", "BTREE")
    moved = [*EVENS, *ODDS]
    values = [*moved, *range(5_000, 5_000 + inserted)]
    written = write_fragments(
        pa.table({"id": pa.array(values, pa.int64()), "age": pa.array([1] * len(values), pa.int64())}),
        dataset,
        enable_stable_row_ids=True,
    )
    fragments = with_row_ids(written, pa.array(moved, pa.uint64()))
    remaining = dataset.get_fragment(0).delete(f"id IN ({', '.join(map(str, moved))})")
    change = LanceOperation.Update(updated_fragments=[remaining], new_fragments=fragments)
    dataset = lance.LanceDataset.commit(uri, change, read_version=dataset.version)

    def ages() -> dict[int, tuple[int, int]]:
        found = dataset.to_table(columns=["id", "age"], with_row_id=True)
        return {row["_rowid"]: (row["id"], row["age"]) for row in found.to_pylist()}

    expected = {number: (number, int(number in {*moved})) for number in range(2_000)}
    assert {key: value for key, value in ages().items() if key < 2_000} == expected
    assert len(ages()) == 2_000 + inserted
    dataset.optimize.optimize_indices()
    assert dataset.to_table(filter="id = 1001 OR id = 1 OR id = 1000")["age"].to_pylist().count(1) == 2
    dataset.optimize.compact_files()
    dataset = lance.dataset(uri)
    assert {key: value for key, value in ages().items() if key < 2_000} == expected
    assert sorted(dataset.to_table(filter="id < 3 OR id = 1998")["id"].to_pylist()) == [0, 1, 2, 1998]
