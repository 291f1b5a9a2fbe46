"""Compare-and-swap on one table: what makes publication through `__manifest` safe, and what would silently undo it.

Pins lance-notes 2, storage 4.3, 15.3 and 18, lessons 1, 2, 18 and 31.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.optimize import Compaction


def test_second_upsert_of_one_new_key_from_one_base_fails(table):
    table.create("a")
    first, second = table.open(), table.open()

    table.upsert(first, "n")
    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(second, "n")

    assert table.ids() == "an"


def test_upserts_of_disjoint_new_keys_from_one_base_both_land(table):
    table.create("a")
    first, second = table.open(), table.open()

    table.upsert(first, "m")
    table.upsert(second, "n")

    assert table.ids() == "amn"


def test_index_on_the_key_lets_a_duplicate_in(table):
    table.create("abc")
    table.open().create_scalar_index("id", "BTREE")
    first, second = table.open(), table.open()

    table.upsert(first, "n", use_index=True)
    table.upsert(second, "n", use_index=True)

    assert table.ids() == "abcnn"


def test_index_on_the_key_is_harmless_when_it_is_not_used(table):
    table.create("abc")
    table.open().create_scalar_index("id", "BTREE")
    first, second = table.open(), table.open()

    table.upsert(first, "n")
    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(second, "n")

    assert table.ids() == "abcn"


def test_key_without_annotation_lets_a_duplicate_in(table):
    table.create("a", schema=table.schema.set(0, pa.field("id", pa.string(), nullable=False)))
    first, second = table.open(), table.open()

    table.upsert(first, "n")
    table.upsert(second, "n")

    assert table.ids() == "ann"


def test_staged_upserts_lose_their_key_filter(table):
    dataset = table.create("a")
    staged = [
        dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute_uncommitted(rows)[0]
        for rows in (table.rows("n"), table.rows("n"))
    ]

    for change in staged:
        lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert table.ids() == "ann"


def test_stale_append_after_a_filtered_upsert_lets_a_duplicate_in(table):
    dataset = table.create("a")
    staged = table.stage("n")

    table.upsert(dataset, "n")
    table.commit(1, lance.LanceOperation.Append(staged))

    assert table.ids() == "ann"


def test_updates_of_one_row_conflict(table):
    table.create("ab")
    first, second = table.open(), table.open()

    table.upsert(first, "a", age=1)
    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(second, "a", age=2)

    assert table.open().to_table(filter="id = 'a'")["age"].to_pylist() == [1]


def test_updates_of_two_rows_of_one_fragment_do_not_conflict(table):
    table.create("ab")
    first, second = table.open(), table.open()

    table.upsert(first, "a", age=1)
    table.upsert(second, "b", age=2)

    assert dict(zip(*table.open().to_table(columns=["id", "age"]).to_pydict().values(), strict=True)) == {
        "a": 1,
        "b": 2,
    }


def test_one_shared_row_turns_racing_publishers_into_one_chain(table):
    """Five writers publish six times each; every publish reads the shared row and replaces it with its successor."""
    table.create(["head"])

    def publish(writer: int) -> list[int]:
        parents = []
        while len(parents) < 6:
            dataset = table.open()
            parent = dataset.to_table(filter="id = 'head'")["age"][0].as_py()
            data = pa.concat_tables(
                [table.rows(["head"], age=parent + 1), table.rows([f"row-{writer}-{len(parents)}"], age=parent + 1)]
            )
            builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            try:
                builder.conflict_retries(0).use_index(False).execute(data)
            except OSError:
                continue  # Somebody else's publish landed, so the loops end together.
            parents.append(parent)
        return parents

    with ThreadPoolExecutor(5) as pool:
        parents = [parent for result in pool.map(publish, range(5)) for parent in result]

    ages = table.open().to_table(filter="id != 'head'")["age"].to_pylist()
    assert sorted(parents) == list(range(30))
    assert sorted(ages) == list(range(1, 31))


def test_publish_from_a_handle_older_than_a_compaction_fails_and_changes_nothing(table):
    table.create("a", "b")
    stale = table.open()
    table.open().optimize.compact_files()
    version = table.open().version

    with pytest.raises(OSError, match="Too many concurrent writers"):
        table.upsert(stale, "an")

    assert table.open().version == version
    assert table.ids() == "ab"


def test_compaction_planned_before_a_publish_fails_and_leaves_the_publish_intact(table):
    dataset = table.create("a", "b")
    result = Compaction.plan(dataset, {}).tasks[0].execute(dataset)
    table.upsert(table.open(), "an", age=7)

    with pytest.raises(OSError, match="Retryable commit conflict"):
        Compaction.commit(table.open(), [result])

    assert table.ids() == "abn"
    assert table.ids(where="age = 7") == "an"


def test_publish_from_a_base_whose_files_were_cleaned_up_fails(table):
    table.create("h")
    stale = table.open()
    for letter in "bcd":
        table.upsert(table.open(), "h" + letter)
    table.open().cleanup_old_versions(retain_versions=1)

    with pytest.raises(OSError, match="Not found"):
        table.upsert(stale, "hz")

    assert table.ids() == "bcdh"


def test_publish_from_a_base_whose_successors_were_cleaned_up_forks_the_shared_row(table):
    """Lance checks conflicts only against versions that still exist; hence the floor under cleanup of internal tables.

    The stale handle's data file survives because other rows live in it, so nothing else stops the publish.
    """
    table.create("ha")
    stale = table.open()
    for letter in "bc":
        table.upsert(table.open(), "h" + letter)
    table.open().cleanup_old_versions(retain_versions=1)

    table.upsert(stale, "hz")

    assert table.ids() == "abchhz"


def test_key_filter_of_a_cleaned_up_version_no_longer_guards(table):
    table.create("a")
    stale = table.open()
    for letter in "nb":
        table.upsert(table.open(), letter)
    table.open().cleanup_old_versions(retain_versions=1)

    table.upsert(stale, "n")

    assert table.ids() == "abnn"


def test_key_filter_costs_some_33_kilobytes_in_the_manifest_and_again_in_the_transaction_file(table):
    table.create("a")

    table.upsert(table.open(), "n")

    (manifest,), (file,) = table.files("_versions/*613.manifest"), table.files("_transactions/1-*.txn")
    sizes = [Path(table.uri, path).stat().st_size for path in (manifest, file)]
    assert all(32_000 < size < 36_000 for size in sizes)


def test_source_with_a_new_key_twice_inserts_both(table):
    table.create("a")

    table.upsert(table.open(), "nn")

    assert table.ids() == "ann"


def test_source_with_an_existing_key_twice_is_refused(table):
    table.create("a")

    with pytest.raises(OSError, match="Ambiguous merge inserts"):
        table.upsert(table.open(), "aa")

    assert table.ids() == "a"


def test_upsert_from_a_handle_opened_before_a_stamp_change_lands_after_it(table):
    table.create("a")
    stale = table.open()
    table.open().update_schema_metadata({"stamp": "5"})

    table.upsert(stale, "n")

    assert table.ids() == "an"
    assert table.open().schema.metadata[b"stamp"] == b"5"
