"""Which of the two ways of comparing is taken, and what each of them reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceOperation

from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.model import NodeType, Property, PropertyType, Scalar
from omnigraph.changes.compare import TableState, changed_by_content, changed_by_history, changed_entities
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import Internal
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress

ENTITY = NodeType(
    name="Thing",
    type_id=1,
    table_incarnation_id=2,
    properties=(Property(name="size", property_id=3, type=PropertyType(scalar=Scalar.I64, nullable=True)),),
)
SCHEMA = table_schema(ENTITY)


class Things:
    """One table of things, moved by raw Lance calls."""

    def __init__(self, root: Path) -> None:
        self.context = GraphContext.over(GraphStore.open(str(root)), LocalEngine())
        self.uri = str(root / "things")

    def create(self, *fragments: str) -> None:
        """Write one fragment and one version per word; every letter is an id."""
        for number, word in enumerate(fragments):
            lance.write_dataset(
                self.rows(word),
                self.uri,
                mode="append" if number else "create",
                enable_stable_row_ids=True,
                data_storage_version="2.2",
            )

    def rows(self, letters: Sequence[str], size: int = 0) -> pa.Table:
        return pa.table({"id": list(letters), "size": [size] * len(letters)}, schema=SCHEMA)

    def open(self, ref: str | None = None) -> lance.LanceDataset:
        return lance.dataset(self.uri if ref is None else f"{self.uri}/tree/{ref}", session=lance.Session())

    def upsert(self, letters: str, size: int, ref: str | None = None) -> None:
        builder = self.open(ref).merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        builder.execute(self.rows(letters, size))

    def state(self, version: int, ref: str | None = None) -> TableState:
        return TableState(entity=ENTITY, table=self.context.store.tables.open(TableAddress("things", ref), version))

    def by_history(self, before: TableState, after: TableState) -> list[tuple[str, str]] | None:
        found = changed_by_history(self.context, before, after)
        return None if found is None else as_list(found)

    def by_content(self, before: TableState, after: TableState) -> list[tuple[str, str]]:
        return as_list(changed_by_content(self.context, before, after))

    def lose_data_of(self, version: int) -> None:
        """Remove the data files that a version has, so that reading any of them fails."""
        for fragment in lance.dataset(self.uri, version=version).get_fragments():
            for file in fragment.data_files():
                (Path(self.uri) / "data" / file.path).unlink()


def as_list(changes: pa.Table) -> list[tuple[str, str]]:
    return sorted(zip(changes["id"].to_pylist(), changes["op"].to_pylist(), strict=True))


@pytest.fixture
def things(tmp_path: Path) -> Things:
    return Things(tmp_path)


def test_history_tells_writes_deletes_compactions_and_indexes(things: Things):
    things.create("abcd", "e")
    things.upsert("af", 5)
    things.open().delete("id = 'b'")
    things.open().create_scalar_index("id", "BTREE")
    things.open().optimize.compact_files()
    newest = things.open().version

    changed = [("a", "update"), ("b", "delete"), ("f", "insert")]
    assert things.by_history(things.state(2), things.state(newest)) == changed
    inverse = [("a", "update"), ("b", "insert"), ("f", "delete")]
    assert things.by_history(things.state(newest), things.state(2)) == inverse


def test_history_goes_through_forks(things: Things):
    things.create("ab", "c")
    things.open().delete("id = 'a'")
    things.open().create_branch("one", 3)
    things.upsert("b", 5, ref="one")
    things.open().create_branch("two", ("one", 4))
    things.open("two").delete("id = 'c'")

    assert things.by_history(things.state(1), things.state(5, "two")) == [("a", "delete"), ("b", "update")]
    assert things.by_history(things.state(2), things.state(5, "two")) == [
        ("a", "delete"),
        ("b", "update"),
        ("c", "delete"),
    ]
    assert things.by_history(things.state(3), things.state(3, "one")) == []


def test_siblings_are_compared_by_content(things: Things):
    things.create("ab")
    things.open().create_branch("one", 1)
    things.upsert("c", 1)
    things.upsert("d", 1, ref="one")

    assert things.by_history(things.state(2), things.state(2, "one")) is None
    assert things.by_content(things.state(2), things.state(2, "one")) == [("c", "delete"), ("d", "insert")]


@pytest.mark.parametrize("operation", ["restore", "replace", "add column", "drop column", "unreadable"])
def test_history_is_not_believed_across(operation: str, things: Things):
    things.create("ab", "c")
    things.open().delete("id = 'a'")
    dataset = things.open()
    match operation:
        case "restore":
            lance.LanceDataset.commit(dataset, LanceOperation.Restore(2), read_version=3)
        case "replace":
            lance.write_dataset(things.rows("bc"), things.uri, mode="overwrite")
        case "add column":
            dataset.add_columns({"more": "1"})
        case "drop column":
            dataset.add_columns({"more": "1"})
            things.open().drop_columns(["more"])
        case "unreadable":
            things.upsert("b", 1)
            manifest = Path(things.uri) / "_versions" / f"{2**64 - 1 - 4:020d}.manifest"
            things.upsert("b", 0)
            manifest.unlink()
    newest = things.open().version

    after = [] if operation == "restore" else [("a", "delete")]
    assert things.by_history(things.state(2), things.state(newest)) is None
    assert as_list(changed_entities(things.context, things.state(2), things.state(newest))) == after


def test_a_long_history_of_a_small_table_is_not_read(things: Things):
    things.create("ab")
    for size in range(66):
        things.open().update_config({"round": str(size)})
    things.upsert("a", 9)
    newest = things.open().version

    assert things.by_history(things.state(1), things.state(newest)) is None
    assert things.by_history(things.state(newest - 2), things.state(newest)) == [("a", "update")]


def test_neither_way_reads_data_that_both_states_share(things: Things):
    things.create("abcd")
    things.upsert("e", 1)
    lance.LanceDataset.commit(things.open(), LanceOperation.Restore(1), read_version=2)
    things.upsert("f", 1)
    things.lose_data_of(1)

    assert things.by_history(things.state(3), things.state(4)) == [("f", "insert")]
    assert things.by_content(things.state(2), things.state(4)) == [("e", "delete"), ("f", "insert")]


def test_of_a_fragment_that_lost_rows_only_those_are_compared(things: Things):
    things.create("abcdef")
    things.open().delete("id IN ('b', 'f')")
    things.open().create_branch("one", 1)
    things.open("one").delete("id IN ('a', 'b')")

    assert things.by_content(things.state(1), things.state(2)) == [("b", "delete"), ("f", "delete")]
    assert things.by_content(things.state(2), things.state(2, "one")) == [("a", "delete"), ("f", "insert")]


def test_images_come_by_row_and_by_id(things: Things):
    things.create("abc")
    things.upsert("b", 5)
    before, after = things.state(1), things.state(2)
    changed = changed_entities(things.context, before, after)

    def rows(found: pa.Table) -> list[dict[str, Any]]:
        return found.to_pylist()

    assert rows(before.images_at(changed["before_row"].combine_chunks())) == [{"id": "b", "size": 0}]
    assert rows(after.images_at(changed["after_row"].combine_chunks())) == [{"id": "b", "size": 5}]
    assert rows(after.images(pa.array(["b", "nobody"]))) == [{"id": "b", "size": 5}]


def test_an_absent_table_is_one_without_rows(things: Things):
    things.create("ab")
    state = things.state(1)

    assert as_list(changed_entities(things.context, None, state)) == [("a", "insert"), ("b", "insert")]
    assert as_list(changed_entities(things.context, state, None)) == [("a", "delete"), ("b", "delete")]
    assert as_list(changed_entities(things.context, None, None)) == []


def test_states_with_different_columns_are_never_compared(things: Things):
    things.create("ab")
    other = NodeType(name="Thing", type_id=1, table_incarnation_id=2, properties=())

    with pytest.raises(Internal):
        changed_entities(things.context, things.state(1), TableState(entity=other, table=things.state(1).table))
