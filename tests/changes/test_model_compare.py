"""Comparing two states of a table gives one answer, whatever made them and whichever way it is found.

Random histories of one table, made by raw Lance calls on several refs; every pair of states is compared and must give
what a comparison of plain dictionaries gives.
"""

import itertools
import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from lance import LanceOperation

from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.model import NodeType, Property, PropertyType, Scalar
from omnigraph.changes.compare import TableState, changed_by_content, changed_by_history
from omnigraph.engine.local import LocalEngine
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress

ENTITY = NodeType(
    name="Thing",
    type_id=1,
    table_incarnation_id=2,
    properties=(
        Property(name="note", property_id=3, type=PropertyType(scalar=Scalar.STRING, nullable=True)),
        Property(name="size", property_id=4, type=PropertyType(scalar=Scalar.F64, nullable=True)),
        Property(name="tags", property_id=5, type=PropertyType(scalar=Scalar.STRING, is_list=True, nullable=True)),
    ),
)
SCHEMA = table_schema(ENTITY)
IDS = "abcdefgh"

values = st.fixed_dictionaries(
    {
        "note": st.sampled_from([None, "", "x"]),
        "size": st.sampled_from([None, 0.0, -0.0, 1.5, math.nan]),
        "tags": st.sampled_from([None, [], ["a, b"], ["a", "b"]]),
    }
)
some_ids = st.sets(st.sampled_from(IDS), min_size=1, max_size=4).map(sorted)
operations = st.one_of(
    st.tuples(st.just("write"), some_ids, values),
    st.tuples(st.just("delete"), some_ids),
    st.tuples(st.just("delete and write"), some_ids, values),
    st.tuples(st.sampled_from(["compact", "restore", "fork", "index", "replace"])),
)
histories = st.lists(st.tuples(st.integers(0, 2), operations, st.integers(0, 9)), min_size=1, max_size=9)


class History:
    """A table with refs, moved by raw Lance calls, and what each of its states holds."""

    def __init__(self, root: Path) -> None:
        self.context = GraphContext.over(GraphStore.open(str(root)), LocalEngine())
        self.uri = str(root / "things")
        self.refs: list[str | None] = [None]
        lance.write_dataset(
            self.rows(IDS[:4], {"note": "first", "size": 1.0, "tags": None}),
            self.uri,
            schema=SCHEMA,
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )

    def rows(self, ids: Any, image: dict[str, Any]) -> pa.Table:
        return pa.Table.from_pylist([{"id": id_, **image} for id_ in ids], schema=SCHEMA)

    def open(self, ref: str | None) -> lance.LanceDataset:
        return lance.dataset(self.uri if ref is None else f"{self.uri}/tree/{ref}", session=lance.Session())

    def run(self, ref: str | None, operation: tuple[Any, ...], number: int) -> None:
        dataset = self.open(ref)
        steps: dict[str, Callable[..., object]] = {
            "write": lambda ids, image: self.upsert(dataset, ids, image),
            "delete": lambda ids: dataset.delete(f"id IN ({', '.join(repr(id_) for id_ in ids)})"),
            "delete and write": lambda ids, image: (
                dataset.delete(f"id IN ({', '.join(repr(id_) for id_ in ids)})"),
                self.upsert(self.open(ref), ids, image),
            ),
            "compact": dataset.optimize.compact_files,
            "restore": lambda: lance.LanceDataset.commit(
                dataset if ref is None else f"{self.uri}/tree/{ref}",
                LanceOperation.Restore(self.versions(ref)[number % len(self.versions(ref))]),
                read_version=dataset.version,
            ),
            "fork": lambda: self.fork(ref, dataset.version),
            "index": lambda: dataset.create_scalar_index("id", "BTREE", replace=True),
            "replace": lambda: lance.write_dataset(
                self.rows(IDS[2:6], {"note": "new", "size": 2.0, "tags": None}),
                self.uri if ref is None else f"{self.uri}/tree/{ref}",
                schema=SCHEMA,
                mode="overwrite",
            ),
        }
        steps[operation[0]](*operation[1:])

    def upsert(self, dataset: lance.LanceDataset, ids: list[str], image: dict[str, Any]) -> None:
        builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        builder.execute(self.rows(ids, image))

    def fork(self, ref: str | None, version: int) -> None:
        name = f"r{len(self.refs)}"
        self.open(None).create_branch(name, (ref, version))
        self.refs.append(name)

    def versions(self, ref: str | None) -> list[int]:
        return sorted(int(entry["version"]) for entry in self.open(ref).versions())

    def states(self) -> list[TableState]:
        return [
            TableState(entity=ENTITY, table=self.context.store.tables.open(TableAddress("things", ref), version))
            for ref in self.refs
            for version in self.versions(ref)
        ]


def entities(state: TableState) -> dict[str, str]:
    """Read a state into a dictionary whose values compare as the contract says."""
    return {row.pop("id"): repr(_canonical(row)) for row in state.table.read().to_pylist()}


def _canonical(row: dict[str, Any]) -> dict[str, Any]:
    size = row["size"]
    return {**row, "size": None if size is None else ("nan" if math.isnan(size) else size + 0.0)}


def expected(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    return (
        dict.fromkeys(after.keys() - before.keys(), "insert")
        | dict.fromkeys(before.keys() - after.keys(), "delete")
        | {id_: "update" for id_ in before.keys() & after.keys() if before[id_] != after[id_]}
    )


def as_dict(changes: pa.Table) -> dict[str, str]:
    found = dict(zip(changes["id"].to_pylist(), changes["op"].to_pylist(), strict=True))
    assert len(found) == changes.num_rows
    return found


@settings(max_examples=12)
@given(steps=histories)
def test_any_two_states_compare_like_dictionaries(steps: list[tuple[int, tuple[Any, ...], int]]) -> None:
    root = Path(tempfile.mkdtemp())
    history = History(root)
    for ref_number, operation, number in steps:
        history.run(history.refs[ref_number % len(history.refs)], operation, number)
    states = history.states()
    contents = [entities(state) for state in states]

    for (before, was), (after, now) in itertools.product(zip(states, contents, strict=True), repeat=2):
        truth = expected(was, now)
        told = changed_by_history(history.context, before, after)
        assert as_dict(changed_by_content(history.context, before, after)) == truth
        assert told is None or as_dict(told) == truth
    shutil.rmtree(root)
