"""The newest state of a table is found without listing its versions, and never taken for one that it is not."""

import shutil
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph.base import ids
from omnigraph.storage.refs import create_ref
from omnigraph.storage.staging import stage_change
from omnigraph.storage.store import GraphStore
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.transactions import CommitInterleaved, commit_staged, create_table

ADDRESS = TableAddress("nodes/t")


@pytest.fixture
def store(local_root: str) -> TableStore:
    return GraphStore.open(local_root).tables


def write(store: TableStore, *numbers: int, mode: str = "append") -> None:
    lance.write_dataset(pa.table({"n": numbers}), store.uri(ADDRESS), mode=mode)


def numbers(store: TableStore) -> list[int]:
    head = store.head(ADDRESS)
    assert head is not None
    return sorted(head.read()["n"].to_pylist())


def test_a_state_that_is_still_the_newest_is_not_opened_again(store: TableStore) -> None:
    write(store, 1, mode="create")

    first = store.head(ADDRESS)

    assert first is not None
    assert store.head(ADDRESS) is first
    assert store.is_newest(first)


def test_a_commit_of_somebody_else_is_seen_at_once(store: TableStore) -> None:
    write(store, 1, mode="create")
    first = store.head(ADDRESS)
    assert first is not None

    write(store, 2)

    assert not store.is_newest(first)
    assert numbers(store) == [1, 2]
    for more in range(3, 9):
        write(store, more)
        assert numbers(store)[-1] == more


def test_a_commit_on_a_ref_is_seen_there_and_nowhere_else(store: TableStore) -> None:
    write(store, 1, mode="create")
    review = TableAddress(ADDRESS.location, "review")
    branch = lance.dataset(store.uri(ADDRESS)).create_branch("review")
    main, before = store.head(ADDRESS), store.head(review)
    assert before is not None

    branch.insert(pa.table({"n": [2]}))

    after = store.head(review)
    assert after is not None
    assert (before.count_rows(), after.count_rows()) == (1, 2)
    assert store.head(ADDRESS) is main


def created(store: TableStore, *numbers: int) -> Table:
    """Create the table by a commit of ours and add rows by another."""
    schema = pa.schema([pa.field("n", pa.int64())])
    empty = create_table(store, ADDRESS, schema, uuid=ids.new_uuid(), properties={})
    return added(store, empty, *numbers)


def added(store: TableStore, table: Table, *numbers: int) -> Table:
    staged = stage_change(
        store,
        table,
        table.address,
        rewritten=None,
        inserted=pa.table({"n": numbers}),
        removed_addresses=pa.array([], pa.uint64()),
        properties={},
    )
    return commit_staged(store, table.address, staged)


def test_our_own_commit_is_the_newest_state_without_a_look(store: TableStore) -> None:
    main = created(store, 1)
    branch = create_ref(store, main, "review")
    assert store.head(ADDRESS) is main

    ours = added(store, branch, 2)

    assert store.head(ours.address) is ours
    assert store.is_newest(ours)
    assert sorted(ours.read()["n"].to_pylist()) == [1, 2]
    assert store.head(ADDRESS) is main
    assert numbers(store) == [1]


def test_a_commit_of_somebody_else_right_after_ours_is_seen_at_once(store: TableStore) -> None:
    ours = created(store, 1)
    for more in range(2, 20):
        write(store, more)

        assert not store.is_newest(ours)
        with pytest.raises(CommitInterleaved):
            added(store, ours, 100)
        newest = store.head(ADDRESS)
        assert newest is not None
        assert newest.version > ours.version
        ours = added(store, newest, 1000 + more)
        assert store.head(ADDRESS) is ours


def test_a_table_that_went_is_gone_and_one_that_came_back_is_another(store: TableStore) -> None:
    write(store, 1, mode="create")
    assert numbers(store) == [1]

    shutil.rmtree(Path(store.uri(ADDRESS)))
    assert store.head(ADDRESS) is None
    write(store, 7, mode="create")

    assert numbers(store) == [7]
    shutil.rmtree(Path(store.uri(ADDRESS)))
    write(store, 8, mode="create")
    assert numbers(store) == [8]


def test_a_newer_version_is_seen_over_a_gap(store: TableStore) -> None:
    write(store, 1, mode="create")
    assert numbers(store) == [1]

    write(store, 2)
    write(store, 3)
    Path(store.uri(ADDRESS), "_versions", f"{2**64 - 3:020}.manifest").unlink()

    assert numbers(store) == [1, 2, 3]


def test_lance_names_manifests_downwards_without_gaps(store: TableStore) -> None:
    write(store, 1, mode="create")
    for more in range(2, 5):
        write(store, more)

    names = {path.name for path in Path(store.uri(ADDRESS), "_versions").glob("*.manifest")}

    assert names == {f"{2**64 - 1 - version:020}.manifest" for version in range(1, 5)}
