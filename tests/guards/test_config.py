"""Stored configuration, and the cleanup hook that it can plant inside every later commit.

Pins lance-notes 16, storage 3.2, lessons 6.
"""

import inspect

import lance
import pytest
from lance import LanceOperation
from lance.optimize import Compaction

# The hook fires in commits whose version is a multiple of the interval: not in the one that stores it as version 3.
EAGER = {"lance.auto_cleanup.interval": "2", "lance.auto_cleanup.older_than": "0s"}


def test_setting_and_deleting_config_are_versions_of_their_own(table):
    dataset = table.create("a")

    dataset.update_config({"lance.auto_cleanup.interval": "1000"})
    dataset.delete_config_keys(["lance.auto_cleanup.interval"])

    assert table.versions() == [1, 2, 3]
    assert "lance.auto_cleanup.interval" in table.open(2).config()
    assert "lance.auto_cleanup.interval" not in table.open(3).config()


def test_new_table_has_no_cleanup_config(table):
    assert not [key for key in table.create("a").config() if key.startswith("lance.auto_cleanup")]


def append(table) -> None:
    table.append("c")


def upsert(table) -> None:
    table.upsert(table.open(), "a")


def staged_commit(table) -> None:
    table.commit(table.open().version, LanceOperation.Append(table.stage("c")))


def compaction(table) -> None:
    dataset = table.open()
    results = [task.execute(dataset) for task in Compaction.plan(dataset, {}).tasks]
    Compaction.commit(dataset, results)


def index_build(table) -> None:
    table.open().create_scalar_index("id", "BTREE")


@pytest.mark.parametrize("change", [append, upsert, staged_commit, compaction, index_build])
def test_cleanup_config_prunes_inside_every_kind_of_commit(table, change):
    dataset = table.create("a", "b")
    dataset.update_config(EAGER)
    before = table.versions()

    change(table)

    assert before == [1, 2, 3]
    assert not {1, 2} & set(table.versions())


def test_stripping_the_config_deletes_nothing(table):
    dataset = table.create("a", "b")
    dataset.update_config(EAGER)

    strip = LanceOperation.UpdateConfig(config_updates=LanceOperation.UpdateMap(dict.fromkeys(EAGER)))
    after = table.commit(3, strip)
    table.append("c")

    assert not [key for key in after.config() if key.startswith("lance.auto_cleanup")]
    assert table.versions() == [1, 2, 3, 4, 5]


def test_storing_the_config_may_prune_at_once(table):
    dataset = table.create("a", "b", "c")

    dataset.update_config(EAGER)

    assert not {1, 2} & set(table.versions())


def test_no_call_offers_to_skip_the_hook():
    calls = (
        lance.write_dataset,
        lance.LanceDataset.commit,
        lance.LanceDataset.insert,
        lance.MergeInsertBuilder.execute,
    )

    options = {name for call in calls for name in inspect.signature(call).parameters if "cleanup" in name}

    # The one there is sets the config of a new table; it skips nothing.
    assert options == {"auto_cleanup_options"}
