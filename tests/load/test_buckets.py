"""Buckets of keys: whoever cuts them, equal values meet in one bucket, and every row is in exactly one."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.catalog.model import NodeType
from omnigraph.errors import EngineUnavailable
from omnigraph.pipeline.load.bulk.buckets import Facet, buckets_for, identity_facet, keep_facets
from omnigraph.storage.cut_files import read_cuts
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.store import GraphStore
from omnigraph.writes.exchange.cutting import Buckets

PORT = NodeType(name="Port", type_id=1, table_incarnation_id=2, properties=())
TWO_COLUMNS = Facet(PORT, ("src", "dst"), has_owner=True)
TEXTS = st.one_of(st.none(), st.text(max_size=3))
MIB = 1 << 20


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> GraphStore:
    return GraphStore.open(str(tmp_path_factory.mktemp("graph")))


def keys_of(rows: list[tuple[str | None, str | None]]) -> pa.Table:
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    owners = [str(number) for number in range(len(rows))]
    return pa.table(
        [owners, sources, targets], schema=pa.schema([(name, pa.string()) for name in ("id", "src", "dst")])
    )


@settings(max_examples=30)
@given(
    readers=st.lists(st.lists(st.tuples(TEXTS, TEXTS), max_size=20), min_size=1, max_size=3), count=st.integers(1, 5)
)
def test_equal_values_of_all_readers_meet_and_no_row_is_lost_or_doubled(store, readers, count):
    scratch = Scratch(store, "operation")
    buckets = Buckets(count=count, mark=buckets_for(1 << 40, stored_rows=0, slots=1).mark)
    for number, rows in enumerate(readers):
        keep_facets(buckets, scratch, f"reader-{number}", [("i", TWO_COLUMNS, keys_of(rows))])

    found: list[tuple[int, int, str, str, str]] = []
    for bucket in range(count):
        for number in range(len(readers)):
            tables = dict(read_cuts(scratch, f"reader-{number}", bucket))
            kept = tables.get(TWO_COLUMNS.relation("i"), TWO_COLUMNS.schema.empty_table()).to_pylist()
            found += [(bucket, number, row["owner"], row["src"], row["dst"]) for row in kept]

    assert sorted((reader, int(owner)) for _, reader, owner, _, _ in found) == [
        (reader, place)
        for reader, rows in enumerate(readers)
        for place, (source, target) in enumerate(rows)
        if source is not None and target is not None
    ]
    buckets_of: dict[tuple[str, str], set[int]] = {}
    for bucket, _, _, source, target in found:
        buckets_of.setdefault((source, target), set()).add(bucket)
    assert all(len(places) == 1 for places in buckets_of.values())


@pytest.mark.parametrize(
    ("size_bytes", "stored_rows", "slots", "count"),
    [
        (0, 0, 4, 1),
        (512 * MIB, 0, 4, 1),
        (513 * MIB, 0, 4, 2),
        (0, 10_000_000, 4, 2),
        (513 * MIB, 0, 1_000, 2),
        (2_049 * MIB, 0, 4, 8),
        (1 << 60, 0, 4, 4096),
    ],
)
def test_buckets_follow_what_there_is_to_look_at_and_fill_the_slots(size_bytes, stored_rows, slots, count):
    assert buckets_for(size_bytes, stored_rows=stored_rows, slots=slots).count == count


def test_a_worker_that_would_cut_differently_is_refused(store):
    other = Buckets(count=2, mark=1)

    with pytest.raises(EngineUnavailable, match="different versions of DuckDB"):
        keep_facets(other, Scratch(store, "operation"), "x", [("i", identity_facet(PORT), keys_of([("a", "b")]))])


def test_a_reader_keeps_one_file_however_many_buckets_there_are(tmp_path):
    scratch = Scratch(GraphStore.open(str(tmp_path)), "operation")
    buckets = Buckets(count=500, mark=buckets_for(1 << 40, stored_rows=0, slots=1).mark)

    for number in range(3):
        keys = keys_of([(f"s{number}-{row}", "t") for row in range(800)])
        keep_facets(buckets, scratch, f"reader-{number}", [("i", TWO_COLUMNS, keys)])

    assert len([file for file in tmp_path.rglob("*") if file.is_file()]) == 3
    kept = [rows.num_rows for n in range(3) for b in range(500) for _, rows in read_cuts(scratch, f"reader-{n}", b)]
    assert sum(kept) == 2_400
    assert len(kept) > 1_000
