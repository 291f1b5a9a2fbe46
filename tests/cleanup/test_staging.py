"""What operations keep beside the tables while they run: one that was killed leaves it, and cleanup takes it away."""

import pyarrow as pa

from omnigraph.base import ids
from omnigraph.storage.leftovers import stale_scratch
from omnigraph.storage.scratch import Scratch
from support import harbor
from support.writers import run_child


def test_a_killed_load_leaves_its_keys_until_they_are_a_week_old(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    run_child(local_root, "bulk_load", "write.after_stage:kill")
    store = graph._context.store
    (left,) = {path.split("/")[1] for path in store.objects.list("__staging/")}

    newest = max(facts.last_modified for facts in store.objects.facts("__staging/").values())

    assert stale_scratch(store, before=newest) == {}
    assert list(stale_scratch(store, before=newest + 0.001)) == [left]


def test_several_tables_under_one_name_come_back_as_they_were(store_root: str) -> None:
    scratch = Scratch(harbor.new_graph(store_root)._context.store, ids.new_ulid())
    tables = {"a": pa.table({"n": pa.array([1, None], pa.int32())}), "b": pa.table({"s": ["x"]}).slice(0, 0)}

    scratch.write_tables("both", tables)
    scratch.write_tables("neither", {})

    assert scratch.read_tables("both") == tables
    assert scratch.read_tables("neither") == {}


def test_a_table_is_found_if_it_was_kept(store_root: str) -> None:
    scratch = Scratch(harbor.new_graph(store_root)._context.store, ids.new_ulid())
    rows = pa.table({"s": ["x", None]})

    scratch.write_table("folder/kept", rows)

    assert scratch.find_table("folder/kept") == rows
    assert scratch.find_table("folder/other") is None
    scratch.clear_for_good()
    assert scratch.find_table("folder/kept") is None
