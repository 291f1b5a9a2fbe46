"""Lance's row delta and row versions: when they tell the truth, and when they are silent.

Pins branching 1, 6.4 and 9, lessons 14, 15 and 87.
"""

import lance
import pytest
from lance import LanceOperation


def inserted(dataset: lance.LanceDataset, **interval: int) -> list[str]:
    return sorted(dataset.delta(**interval).get_inserted_rows().read_all()["id"].to_pylist())


def updated(dataset: lance.LanceDataset, **interval: int) -> list[str]:
    return sorted(dataset.delta(**interval).get_updated_rows().read_all()["id"].to_pylist())


def deleted(dataset: lance.LanceDataset, **interval: int) -> list[int]:
    return sorted(dataset.delta(**interval).get_deleted_row_ids().read_all().column(0).to_pylist())


def test_delta_reports_inserts_updates_and_deletes(table):
    table.create("abc")
    table.append("d")
    table.upsert(table.open(), "a", age=5)
    table.open().delete("id = 'b'")

    dataset = table.open()
    assert inserted(dataset, compared_against=1) == ["d"]
    assert updated(dataset, compared_against=1) == ["a"]
    assert deleted(dataset, compared_against=1) == [1]


def test_delta_is_not_disturbed_by_maintenance(table):
    table.create("abc", "d")
    table.open().create_scalar_index("id", "BTREE")
    table.open().delete("id = 'b'")
    table.open().optimize.compact_files()

    dataset = table.open()
    assert inserted(dataset, compared_against=2) == []
    assert updated(dataset, compared_against=2) == []
    assert deleted(dataset, compared_against=2) == [1]


def test_delta_is_blind_to_a_restore(table):
    table.create("ab")
    table.open().delete("id = 'a'")
    table.commit(2, LanceOperation.Restore(1))

    dataset = table.open()
    assert table.ids(table.open(2)) == "b"
    assert table.ids(dataset) == "ab"
    assert inserted(dataset, compared_against=2) == []
    assert updated(dataset, compared_against=2) == []


def test_delta_across_an_overwrite_calls_everything_new(table):
    table.create("ab")
    lance.write_dataset(table.rows("ab"), table.uri, mode="overwrite")

    assert inserted(table.open(), compared_against=1) == ["a", "b"]
    assert updated(table.open(), compared_against=1) == []


def test_delta_from_a_newer_handle_leaves_out_rows_updated_again(table):
    table.create("a")
    for age in (5, 6):
        table.upsert(table.open(), "a", age=age)

    interval = {"begin_version": 1, "end_version": 2}
    assert updated(table.open(2), **interval) == ["a"]
    assert updated(table.open(3), **interval) == []


def test_delta_from_a_newer_handle_leaves_out_rows_deleted_since(table):
    table.create("a")
    table.append("b")
    table.open().delete("id = 'b'")

    interval = {"begin_version": 1, "end_version": 2}
    assert inserted(table.open(2), **interval) == ["b"]
    assert inserted(table.open(3), **interval) == []


def test_delta_from_a_newer_handle_shows_inserts_with_their_later_values(table):
    table.create("a")
    table.append("b")
    table.upsert(table.open(), "b", age=5)

    ages = [
        table.open(version).delta(begin_version=1, end_version=2).get_inserted_rows().read_all()["age"].to_pylist()
        for version in (2, 3)
    ]
    assert ages == [[0], [5]]


def test_row_ids_and_row_versions_repeat_across_branches_with_other_content(table):
    dataset = table.create("a")
    dataset.create_branch("b", 1)

    table.append("m")
    table.append("n", ref="b")

    columns = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    main, branch = (
        handle.to_table(columns=columns, filter="id != 'a'", with_row_id=True).to_pylist()[0]
        for handle in (table.open(), table.open_ref("b"))
    )
    assert (main.pop("id"), branch.pop("id")) == ("m", "n")
    assert main == branch == {"_rowid": 1, "_row_created_at_version": 2, "_row_last_updated_at_version": 2}


def test_delta_on_a_ref_is_right_from_its_fork_on(table):
    dataset = table.create("ab", "c")
    dataset.create_branch("b", 2)
    table.append("d", ref="b")
    table.open_ref("b").delete("id = 'a'")

    branch = table.open_ref("b")
    assert inserted(branch, compared_against=2) == ["d"]
    assert deleted(branch, compared_against=2) == [0]


def test_delta_on_a_ref_refuses_deletes_since_before_its_fork(table):
    dataset = table.create("ab", "c")
    dataset.create_branch("b", 2)
    table.open_ref("b").delete("id = 'a'")

    with pytest.raises(RuntimeError, match="was not found"):
        deleted(table.open_ref("b"), compared_against=1)
