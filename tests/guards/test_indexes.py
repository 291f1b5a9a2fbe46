"""Index coverage, folding, building in parts, and the plans that prove an index is used.

Pins lance-notes 8 to 11, 14 and 18, lessons 73 and 75.
"""

import pickle

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.indices import IndicesBuilder

DIMENSION = 8


def vectors(count: int, *, start: int = 0, are_null: bool = False) -> pa.Table:
    values = np.random.default_rng(start).random((count, DIMENSION), dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), DIMENSION)
    if are_null:
        column = pa.nulls(count, column.type)
    return pa.table({"id": [f"v{start + row}" for row in range(count)], "vector": column})


def write_vectors(table, *counts: int) -> lance.LanceDataset:
    start = 0
    for count in counts:
        mode = "append" if start else "create"
        lance.write_dataset(
            vectors(count, start=start),
            table.uri,
            mode=mode,
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )
        start += count
    return table.open()


def coverage(dataset: lance.LanceDataset, name: str) -> tuple[int, int, int]:
    stats = dataset.stats.index_stats(name)
    return stats["num_indexed_rows"], stats["num_unindexed_rows"], stats["num_unindexed_fragments"]


def segments(dataset: lance.LanceDataset, name: str) -> int:
    return sum(len(index.segments) for index in dataset.describe_indices() if index.name == name)


def words(table, text: str) -> str:
    return "".join(sorted(table.open().to_table(full_text_query=text)["id"].to_pylist()))


def plan(table, where: str) -> str:
    return table.open().scanner(filter=where).explain_plan()


# Coverage and folding.


def test_coverage_counts_rows_and_fragments(table):
    table.create("ab").create_scalar_index("id", "BTREE")
    table.append("cde")

    assert coverage(table.open(), "id_idx") == (2, 3, 1)


def test_fold_commits_once_when_there_is_something_and_not_otherwise(table):
    table.create("ab").create_scalar_index("id", "BTREE")
    table.append("c")

    table.open().optimize.optimize_indices()
    folded = table.open()
    table.open().optimize.optimize_indices()

    assert folded.version == 4
    assert coverage(folded, "id_idx") == (3, 0, 0)
    assert table.open().version == 4


@pytest.mark.parametrize(("column", "kind"), [("id", "BTREE"), ("note", "INVERTED")])
def test_default_fold_leaves_scalar_indexes_with_one_segment(table, column, kind):
    table.create("ab").create_scalar_index(column, kind)
    for letter in "cd":
        table.append(letter, note="word")
        table.open().optimize.optimize_indices()

    assert segments(table.open(), f"{column}_idx") == 1


def test_default_fold_adds_a_segment_to_a_vector_index_and_asking_for_all_makes_one(table):
    dataset = write_vectors(table, 300)
    dataset.create_index("vector", "IVF_PQ", num_partitions=1, num_sub_vectors=2)
    for start in (300, 400):
        lance.write_dataset(vectors(50, start=start), table.uri, mode="append")
        table.open().optimize.optimize_indices()

    before = segments(table.open(), "vector_idx")
    table.open().optimize.optimize_indices(num_indices_to_merge=before)

    assert before == 3
    assert segments(table.open(), "vector_idx") == 1
    assert coverage(table.open(), "vector_idx") == (400, 0, 0)


def test_vector_fold_with_a_number_commits_even_with_nothing_to_do(table):
    dataset = write_vectors(table, 300)
    dataset.create_index("vector", "IVF_PQ", num_partitions=1, num_sub_vectors=2)
    before = table.open().version

    table.open().optimize.optimize_indices(num_indices_to_merge=1)

    assert table.open().version == before + 1


def test_vector_index_over_nulls_builds(table):
    data = vectors(10, are_null=True)
    dataset = lance.write_dataset(data, table.uri, enable_stable_row_ids=True, data_storage_version="2.2")

    dataset.create_index("vector", "IVF_PQ", num_partitions=1, num_sub_vectors=2)

    assert [index.name for index in table.open().describe_indices()] == ["vector_idx"]


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_inherited_vector_index_is_readable_over_generations(table, generation):
    dataset = write_vectors(table, 300)
    dataset.create_index("vector", "IVF_PQ", num_partitions=1, num_sub_vectors=2)
    branch = table.open()
    for level in range(generation):
        branch = branch.create_branch(f"g{level}", (f"g{level - 1}" if level else None, branch.version))

    search = {"column": "vector", "q": vectors(1)["vector"][0].as_py(), "k": 1, "refine_factor": 50}
    scanner = table.open_ref(f"g{generation - 1}").scanner(columns=["id"], nearest=search)

    assert "ANNSubIndex" in scanner.explain_plan()
    assert scanner.to_table()["id"].to_pylist() == ["v0"]


# Plans: an index counts as used only when the plan says so.


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id = 'b'", "b"),
        ("id IN ('a', 'c')", "ac"),
        ("id >= 'b' AND id < 'd'", "bc"),
        ("starts_with(id, 'd')", "d"),
    ],
)
def test_btree_alone_serves_equality_membership_ranges_and_prefixes(table, where, expected):
    table.create("abcd").create_scalar_index("id", "BTREE")

    assert "ScalarIndexQuery" in plan(table, where)
    assert table.ids(where=where) == expected


def test_equality_is_not_served_by_a_btree_beside_full_text_and_ngram(table):
    dataset = table.create("abcd")
    for kind in ("INVERTED", "NGRAM", "BTREE"):
        dataset.create_scalar_index("id", kind, name=f"id_{kind.lower()}")

    assert "ScalarIndexQuery" not in plan(table, "id = 'b'")
    assert table.ids(where="id = 'b'") == "b"


def test_function_around_the_column_is_not_served(table):
    table.create("abcd").create_scalar_index("id", "BTREE")

    assert "ScalarIndexQuery" not in plan(table, "lower(id) = 'b'")


def test_uncovered_rows_are_found_beside_the_index(table):
    table.create("ab").create_scalar_index("id", "BTREE")
    table.append("c")

    assert "ScalarIndexQuery" in plan(table, "id = 'c'")
    assert table.ids(where="id = 'c'") == "c"


# Building in parts.


@pytest.mark.parametrize(
    ("column", "kind"), [("id", "BTREE"), ("note", "INVERTED"), ("note", "NGRAM"), ("age", "BITMAP")]
)
def test_segments_built_apart_travel_pickled_and_become_one_index(table, column, kind):
    table.create("ab")
    table.append("cd", note="some words")
    built = [
        pickle.loads(pickle.dumps(table.open().create_index_uncommitted(column, kind, name="i", fragment_ids=[number])))
        for number in (0, 1)
    ]
    assert table.open().version == 2

    dataset = table.open()
    dataset.commit_existing_index_segments("i", column, [dataset.merge_existing_index_segments(built)])

    assert segments(table.open(), "i") == 1
    assert coverage(table.open(), "i") == (4, 0, 0)


def test_vector_segments_built_apart_share_centroids_and_codebook(table):
    dataset = write_vectors(table, 300, 300)
    builder = IndicesBuilder(dataset, "vector")
    ivf = builder.train_ivf(num_partitions=1, sample_rate=256)
    pq = builder.train_pq(ivf, num_subvectors=2, sample_rate=2)
    built = [
        table.open().create_index_uncommitted(
            "vector",
            "IVF_PQ",
            name="i",
            num_partitions=1,
            num_sub_vectors=2,
            ivf_centroids=ivf.centroids,
            pq_codebook=pq.codebook,
            fragment_ids=[number],
        )
        for number in (0, 1)
    ]

    dataset = table.open()
    dataset.commit_existing_index_segments("i", "vector", [dataset.merge_existing_index_segments(built)])

    query = vectors(1)["vector"][0].as_py()
    nearest = table.open().to_table(nearest={"column": "vector", "q": query, "k": 1, "refine_factor": 10})
    assert segments(table.open(), "i") == 1
    assert nearest["id"].to_pylist() == ["v0"]


def test_building_over_an_existing_index_needs_replace_and_removes_nothing(table):
    table.create("ab").create_scalar_index("id", "BTREE", name="i")

    with pytest.raises(RuntimeError, match="already exists"):
        table.open().create_index_uncommitted("id", "BTREE", name="i", fragment_ids=[0])
    table.open().create_index_uncommitted("id", "BTREE", name="i", fragment_ids=[0], replace=True)

    assert table.open().version == 2
    assert coverage(table.open(), "i") == (2, 0, 0)


def test_several_indexes_go_in_one_transaction_that_also_removes_the_replaced(table):
    table.create("ab").create_scalar_index("id", "BTREE", name="i")
    table.append("cd", note="some words")
    dataset = table.open()
    new = [
        dataset.merge_existing_index_segments(
            [dataset.create_index_uncommitted(column, kind, name=name, fragment_ids=[0, 1], replace=True)]
        )
        for column, kind, name in (("id", "BTREE", "i"), ("note", "INVERTED", "n"))
    ]
    old = table.segments(dataset, "i")

    change = table.transaction(3, LanceOperation.CreateIndex(new_indices=new, removed_indices=old), operation_id="op")
    after = lance.LanceDataset.commit(table.uri, change, max_retries=0)

    assert after.version == 4
    assert after.read_transaction(4).uuid == change.uuid
    assert (segments(after, "i"), segments(after, "n")) == (1, 1)
    assert coverage(after, "i") == (4, 0, 0)
    assert words(table, "words") == "cd"
