"""Building an index on rewritten files before the rewrite is committed: what Lance does with numbers that we chose.

Fragments are numbered far above those in use and shown in a version beside the line. A BTREE that is built there is
right once the rewrite is committed with the same numbers, whatever was appended meanwhile.
"""

import json
import pathlib
from dataclasses import replace

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.fragment import FragmentMetadata

from omnigraph.storage.proto_messages import TYPES, declare_messages, field
from omnigraph.storage.version_files import detached_path, manifest_message, version_path
from support.rewrites import task_by_hand

LETTERS = "abcdefghijklmn"
NUMBER = 4_100


def open_fresh(uri: str, version: int | None = None) -> lance.LanceDataset:
    return lance.dataset(uri, version=version, session=lance.Session())


@pytest.fixture(params=["main line", "ref"])
def uri(request, table) -> str:
    """Lay out four fragments under a BTREE and a full-text index, with two deleted rows."""
    dataset = table.create("abcd", "efg", "hij", "kl")
    dataset.create_scalar_index("id", "BTREE", name="by_id")
    table.open().create_scalar_index("note", "INVERTED", name="by_note")
    address = table.uri
    if request.param == "ref":
        table.open().create_branch("b", table.open().version)
        address = table.ref_uri("b")
    open_fresh(address).delete("id IN ('b', 'f')")
    return address


def rewritten(uri: str, numbers: tuple[int, ...] = (1, 2), number: int = NUMBER) -> dict:
    dataset = open_fresh(uri)
    made = json.loads(task_by_hand(dataset, numbers, has_eager_remappable_index=False).execute(dataset).json())
    made["new_fragments"][0]["id"] = number
    return made


def described(fragments: list[dict]) -> list[FragmentMetadata]:
    return [FragmentMetadata.from_json(json.dumps(fragment)) for fragment in fragments]


def shown(uri: str, made: dict) -> lance.LanceDataset:
    """Commit what the rewrite made as rows of their own, beside the line of versions."""
    own = {"row_id_meta": None, "created_at_version_meta": None, "last_updated_at_version_meta": None}
    change = LanceOperation.Append(described([new | own for new in made["new_fragments"]]))
    dataset = open_fresh(uri)
    beside = lance.LanceDataset.commit(dataset, change, read_version=dataset.version, detached=True, max_retries=5)
    return open_fresh(uri, beside.version)


def built(dataset: lance.LanceDataset, made: dict) -> lance.Index:
    """Build the index in two pieces, as two workers would, over what will be there after the rewrite."""
    gone = {old["id"] for old in made["original_fragments"]}
    numbers = [fragment.fragment_id for fragment in dataset.get_fragments() if fragment.fragment_id not in gone]
    pieces = [
        dataset.create_index_uncommitted("id", "BTREE", name="by_id", fragment_ids=some, replace=True)
        for some in (numbers[:1], numbers[1:])
    ]
    return dataset.merge_existing_index_segments(pieces)


def commit_rewrite(uri: str, made: dict) -> None:
    group = LanceOperation.RewriteGroup(described(made["original_fragments"]), described(made["new_fragments"]))
    head = open_fresh(uri)
    change = LanceOperation.Rewrite(groups=[group], rewritten_indices=[])
    lance.LanceDataset.commit(head, change, read_version=head.version, max_retries=0)


def commit_index(uri: str, table, segment: lance.Index, numbers: set[int]) -> None:
    head = open_fresh(uri)
    change = LanceOperation.CreateIndex(
        new_indices=[replace(segment, dataset_version=head.version, fragment_ids=numbers)],
        removed_indices=table.segments(head, "by_id"),
    )
    lance.LanceDataset.commit(head, change, read_version=head.version, max_retries=0)


def answers(uri: str, letters: str = LETTERS) -> dict[str, list[str]]:
    found = {}
    for letter in letters:
        lookup = open_fresh(uri).scanner(filter=f"id = '{letter}'", columns=["id"])
        assert "ScalarIndexQuery" in lookup.explain_plan()
        found[letter] = lookup.to_table()["id"].to_pylist()
    return found


def numbers_of(uri: str) -> list[int]:
    return [fragment.fragment_id for fragment in open_fresh(uri).get_fragments()]


def append(uri: str, table, letters: str) -> None:
    lance.write_dataset(table.rows(letters), uri, mode="append", session=lance.Session())


RIGHT = {letter: [] if letter in "bf" else [letter] for letter in LETTERS}


def test_a_version_beside_the_line_moves_nothing_and_can_be_built_on(uri):
    before = open_fresh(uri).version

    made = rewritten(uri)
    state = shown(uri, made)

    assert (open_fresh(uri).version, numbers_of(uri)) == (before, [0, 1, 2, 3])
    assert [fragment.fragment_id for fragment in state.get_fragments()] == [0, 1, 2, 3, NUMBER]
    assert sorted(built(state, made).fragment_ids) == [0, 3, NUMBER]


def test_a_rewrite_keeps_its_numbers_and_a_btree_built_on_them_before_is_right(uri, table):
    made = rewritten(uri)
    segment = built(shown(uri, made), made)
    append(uri, table, "mn")

    commit_rewrite(uri, made)

    assert numbers_of(uri) == [0, 3, 4, NUMBER]
    indexes = {index.name: index for index in open_fresh(uri).describe_indices()}
    assert [sorted(part.fragment_ids) for part in indexes["by_id"].segments] == [[0, 3]], "it lost what was rewritten"
    assert [sorted(part.fragment_ids) for part in indexes["by_note"].segments] == [[0, 3, NUMBER]], "this one keeps it"
    assert answers(uri) == RIGHT
    commit_index(uri, table, segment, {0, 3, NUMBER})
    assert open_fresh(uri).stats.index_stats("by_id")["num_unindexed_rows"] == 2
    assert answers(uri) == RIGHT
    append(uri, table, "op")
    assert numbers_of(uri)[-1] == NUMBER + 1
    assert answers(uri, "eop") == {"e": ["e"], "o": ["o"], "p": ["p"]}


def test_a_row_deleted_in_a_fragment_that_stays_is_not_found_by_what_was_built_before(uri, table):
    made = rewritten(uri)
    segment = built(shown(uri, made), made)
    open_fresh(uri).delete("id = 'k'")

    commit_rewrite(uri, made)
    commit_index(uri, table, segment, {0, 3, NUMBER})

    assert answers(uri, "kl") == {"k": [], "l": ["l"]}


def test_entries_for_a_number_that_was_passed_over_are_never_asked_for(table):
    """One of two rewrites is given up; the other took a higher number, so that nobody gets the lower one."""
    table.create("abcd", "efg", "hij", "kl").create_scalar_index("id", "BTREE", name="by_id")
    given_up, kept = rewritten(table.uri, (2, 3), NUMBER), rewritten(table.uri, (0, 1), NUMBER + 1)
    both = {side: given_up[side] + kept[side] for side in ("original_fragments", "new_fragments")}
    segment = built(shown(table.uri, both), both)

    commit_rewrite(table.uri, kept)
    commit_index(table.uri, table, segment, {NUMBER + 1})

    everything = {letter: [letter] for letter in "abcdefghijkl"}
    assert answers(table.uri, "abcdefghijkl") == everything
    append(table.uri, table, "mn")
    assert numbers_of(table.uri) == [2, 3, NUMBER + 1, NUMBER + 2]
    assert answers(table.uri) == everything | {"m": ["m"], "n": ["n"]}
    table.open().optimize.optimize_indices(index_names=["by_id"], num_indices_to_merge=2)
    assert table.open().stats.index_stats("by_id")["num_unindexed_rows"] == 0
    assert answers(table.uri) == everything | {"m": ["m"], "n": ["n"]}


def test_an_index_for_a_number_that_a_later_fragment_gets_answers_wrongly(table):
    """Why every number has to be passed over or taken before the index is committed."""
    table.create("ab", "cd").create_scalar_index("id", "BTREE", name="by_id")
    made = rewritten(table.uri, (0, 1), 2)
    segment = built(shown(table.uri, made), made)

    commit_index(table.uri, table, segment, {2})
    append(table.uri, table, "xy")

    assert numbers_of(table.uri) == [0, 1, 2]
    assert table.open().to_table(filter="id = 'x'").num_rows == 0


@pytest.mark.parametrize("way", ["delete", "rewrite"])
def test_the_manifest_remembers_the_highest_number_even_of_a_fragment_that_is_gone(table, way):
    table.create("ab", "cd")
    if way == "delete":
        table.open().delete("id IN ('c', 'd')")
    else:
        commit_rewrite(table.uri, rewritten(table.uri, (0, 1), 7))
        table.open().delete("true")
    (manifest,) = declare_messages(
        f"omnigraph.guard_{way}", {"Manifest": [field("max_fragment_id", 11, TYPES.TYPE_UINT32)]}
    ).values()

    with pathlib.Path(version_path(table.uri, table.open().version)).open("rb") as file:
        known = manifest.read(manifest_message(file.read()))

    assert known.max_fragment_id == (1 if way == "delete" else 7)


def test_cleanup_of_lance_leaves_versions_beside_the_line(table):
    """So we remove them ourselves."""
    table.create("ab", "cd")
    state = shown(table.uri, rewritten(table.uri, (0, 1)))

    explained = table.open().explain_cleanup_old_versions(retain_versions=1, delete_unverified=True, include_files=True)

    path = detached_path(table.uri, state.version)
    assert pa.fs.LocalFileSystem().get_file_info(path).is_file
    assert not any(path.endswith(file.path.rpartition("/")[2]) for file in explained.candidate_files)
