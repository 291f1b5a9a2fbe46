"""How a table is divided among tasks: every row once, about as many bytes as wanted, many small fragments together."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.connectors.spark.partitions import PARTITION_BYTES_MAX, PARTITION_BYTES_MIN, FragmentPart, divide
from omnigraph.storage.layout import FragmentLayout

MIB = 1 << 20


def fragment(number: int, rows: int, size: int, deleted: int = 0) -> FragmentLayout:
    return FragmentLayout(fragment_id=number, physical_rows=rows + deleted, deleted_rows=deleted, bytes=size)


@st.composite
def tables(draw: st.DrawFn) -> list[FragmentLayout]:
    sizes = draw(st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 40 * MIB), st.integers(0, 9)), max_size=12))
    return [fragment(number, *size) for number, size in enumerate(sizes)]


@given(tables(), st.none() | st.integers(1, 64 * MIB), st.booleans())
def test_every_row_is_read_once(fragments: list[FragmentLayout], size: int | None, may_cut: bool) -> None:
    read: dict[int, list[tuple[int, int]]] = {}
    rows_by_id = {fragment.fragment_id: fragment.live_rows for fragment in fragments}
    for part in divide(fragments, partition_bytes=size, may_cut=may_cut):
        if part.first_row is None:
            for number in part.fragment_ids:
                read.setdefault(number, []).append((0, rows_by_id[number]))
            assert part.rows == sum(rows_by_id[number] for number in part.fragment_ids)
        else:
            (number,) = part.fragment_ids
            read.setdefault(number, []).append((part.first_row, part.first_row + part.rows))
            assert may_cut
            assert part.rows > 0

    for number, rows in rows_by_id.items():
        ranges = read.get(number, [])
        assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])] if rows else not ranges
        assert not rows or ranges[-1][1] == rows


def test_a_large_fragment_is_cut_so_that_a_cluster_has_something_to_do() -> None:
    parts = divide([fragment(0, 1_000_000, 40 * MIB)], partition_bytes=None, may_cut=True)

    assert len(parts) == 10
    assert {part.rows for part in parts} == {100_000}


def test_small_fragments_are_read_together() -> None:
    parts = divide([fragment(number, 10, 10_000) for number in range(1_000)], partition_bytes=None, may_cut=True)

    assert 1 < len(parts) < 5
    assert sum(part.rows for part in parts) == 10_000


def test_partitions_of_large_tables_are_as_large_as_those_of_files() -> None:
    parts = divide([fragment(n, 1_000_000, 1 << 30) for n in range(64)], partition_bytes=None, may_cut=True)

    assert len(parts) == (64 << 30) // PARTITION_BYTES_MAX


def test_a_table_without_rows_has_no_parts_and_a_tiny_one_has_one() -> None:
    assert divide([fragment(0, 0, 100, deleted=5)], partition_bytes=None, may_cut=True) == []
    assert divide([fragment(0, 3, PARTITION_BYTES_MIN)], partition_bytes=None, may_cut=True) == [
        FragmentPart(fragment_ids=(0,), rows=3)
    ]
