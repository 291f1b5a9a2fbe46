"""What operations keep beside the tables while they run: one that was killed leaves it, and cleanup takes it away."""

from crash.test_writer_matrix import run_child
from omnigraph.base import ids
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.storage.scratch import Scratch, stale_scratch
from support import harbor

KEEP_ALL = CleanupPolicy(keep_versions=1_000)
LONG_AGO = "0" * 26


def test_cleanup_removes_what_a_dead_load_kept_and_leaves_that_of_live_ones(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    store, live = graph._context.store, ids.new_ulid()
    Scratch(store, LONG_AGO).write("keys", b"x" * 1_000)
    Scratch(store, LONG_AGO).write("facets", b"y" * 10)
    Scratch(store, live).write("keys", b"z")

    preview = graph.cleanup(KEEP_ALL)
    assert {path.partition("/")[2].partition("/")[0] for path in store.objects.list("__staging/")} == {LONG_AGO, live}
    done = graph.cleanup(KEEP_ALL, confirm=True)

    assert done.rows == preview.rows
    assert [row.removed.bytes for row in done.rows if row.table_key == "__staging"] == [1_010]
    assert store.objects.list("__staging/") == (f"__staging/{live}/keys",)
    assert "__staging" not in {row.table_key for row in graph.cleanup(KEEP_ALL).rows}


def test_a_killed_load_leaves_its_keys_until_they_are_a_week_old(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "bulk_load", "write.after_stage:kill")
    store = graph._context.store
    (left,) = {path.split("/")[1] for path in store.objects.list("__staging/")}

    week_later = ids.ulid_ms(left) + 7 * 24 * 3_600_000

    assert stale_scratch(store, now_ms=week_later) == ()
    assert [scratch.operation_id for scratch in stale_scratch(store, now_ms=week_later + 1)] == [left]


def test_several_tables_under_one_name_come_back_as_they_were(store_root: str) -> None:
    import pyarrow as pa

    scratch = Scratch(harbor.new_graph(store_root)._context.store, ids.new_ulid())
    tables = {"a": pa.table({"n": pa.array([1, None], pa.int32())}), "b": pa.table({"s": ["x"]}).slice(0, 0)}

    scratch.write_tables("both", tables)
    scratch.write_tables("neither", {})

    assert scratch.read_tables("both") == tables
    assert scratch.read_tables("neither") == {}
