"""Into which pieces the builds of large indexes are cut."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.catalog.model import TableKey
from omnigraph.maintenance.optimize import builds
from omnigraph.maintenance.optimize.builds import PIECE_ROWS, IndexJob, cut, share_slots
from omnigraph.maintenance.optimize.table_plan import IndexBuild
from omnigraph.storage.access import TableAccess
from omnigraph.storage.indexing import IndexOutcome, MergeTask
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.tables import StateAddress, TableAddress

BOOK = TableKey("node:Book")
ACCESS = TableAccess(graph_uri="g.omni", state=StateAddress(address=TableAddress("nodes/x"), version=3))


def build(lance_type="BTREE"):
    return IndexBuild(name="og_x", column="x", lance_type=lance_type, parameters={}, is_new=True)


def fragments(*rows):
    return [
        FragmentLayout(fragment_id=number, physical_rows=count, deleted_rows=0, bytes=count)
        for number, count in enumerate(rows)
    ]


@given(
    st.lists(st.integers(0, 3 * PIECE_ROWS), min_size=1, max_size=30),
    st.integers(1, 64),
)
def test_pieces_share_out_every_fragment_once_and_none_is_empty(rows, slots):
    pieces = cut(fragments(*rows), slots=slots)

    assert [number for piece in pieces for number in piece] == list(range(len(rows)))
    assert all(pieces)
    assert len(pieces) <= max(1, min(slots, sum(rows) // PIECE_ROWS))


def test_a_large_table_keeps_every_worker_busy_with_about_the_same():
    pieces = cut(fragments(*[PIECE_ROWS] * 12), slots=4)

    assert [len(piece) for piece in pieces] == [3, 3, 3, 3]


def test_indexes_of_small_tables_stay_whole():
    assert len(cut(fragments(PIECE_ROWS, PIECE_ROWS - 1), slots=8)) == 1


def test_large_indexes_are_cut_as_far_as_the_others_leave_slots_and_vectors_always():
    large = [(build("BTREE"), 4 * PIECE_ROWS), (build("INVERTED"), 4 * PIECE_ROWS), (build("IVF_PQ"), 4 * PIECE_ROWS)]
    small = [(build("BTREE"), 1_000)] * 40

    assert share_slots(8, [*large, *small])[:3] == [4, 4, 8]
    assert share_slots(2, [*large, *large])[:3] == [1, 1, 2]
    assert share_slots(8, []) == []


def test_a_piece_that_was_not_built_leaves_nothing_to_commit():
    job = IndexJob(key="j", table_key=BOOK, build=build(), access=ACCESS, pieces=((0,), (1,)))

    late = job.finish([IndexOutcome(key="j/0", segment="s"), IndexOutcome(key="j/1")])
    failed = job.finish([IndexOutcome(key="j/0", segment="s"), IndexOutcome(key="j/1", error="no space left")])

    assert (late.segment, late.error) == (None, None)
    assert (failed.segment, failed.error) == (None, "no space left")


def test_pieces_that_are_all_built_are_left_to_a_worker_to_merge():
    job = IndexJob(key="j", table_key=BOOK, build=build(), access=ACCESS, pieces=((0,), (1,)))

    left = job.finish([IndexOutcome(key="j/0", segment="s", seconds=1.0), IndexOutcome(key="j/1", segment="t")])

    assert left == MergeTask(key="j", access=ACCESS, column="x", pieces=("s", "t"), seconds=1.0)


def test_tasks_are_known_by_their_job():
    job = IndexJob(key="node:Book og_x", table_key=BOOK, build=build("IVF_PQ"), access=ACCESS, pieces=((0,), (1, 2)))

    tasks = list(job.tasks(None, None))

    assert job.needs_training
    assert {builds.job_key(task.key) for task in tasks} == {job.key}
    assert [task.fragment_ids for task in tasks] == [(0,), (1, 2)]
    assert all(task.is_piece for task in tasks)
