"""Every commit stays readable exactly as it was, by every name it has, and rows keep their identity through updates."""

import hashlib
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.catalog.arrow import table_schema
from omnigraph.errors import SnapshotNotFound
from omnigraph.graph import Graph
from omnigraph.graphs.snapshot import Snapshot
from support import harbor
from support.processes import child

COMMITS = 30
SEED = 20_311

READER = """
import hashlib, json, sys
sys.path[:0] = json.loads(sys.argv[2])
import omnigraph
from support import harbor

graph = omnigraph.open(sys.argv[1], read_only=True)
versions = range(1, graph.snapshot().graph_version + 1)
print(json.dumps([hashlib.sha256(harbor.content(graph, version=v).encode()).hexdigest() for v in versions]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a commit showed when it was the head."""

    version: int
    commit_id: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def present(graph: Graph) -> Past:
    snapshot = graph.snapshot()
    return Past(version=snapshot.graph_version, commit_id=snapshot.commit_id, text=harbor.content(graph))


class RandomWrites:
    """Changes that always change something; `step` makes values that were never there before."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self._graph = graph
        self._random = random.Random(seed)

    def commit(self, step: int) -> None:
        choices: list[Callable[[int], object]] = [
            self._append,
            self._merge,
            self._overwrite,
            self._update,
            self._delete,
        ]
        self._random.choice(choices)(step)

    def _names(self) -> list[str]:
        return sorted(self._graph.snapshot().table("Sailor").to_arrow(["id"])["id"].to_pylist())

    def _append(self, step: int) -> object:
        name = f"new-{step}"
        other = self._random.choice([*self._names(), name])
        records = [harbor.sailor(name, age=step), harbor.edge("Mentors", name, other), harbor.ship(f"H{step}")]
        return self._graph.load(harbor.lines(records), mode="append")

    def _merge(self, step: int) -> object:
        changed = self._random.sample(self._names(), k=min(2, len(self._names())))
        records = [harbor.sailor(name, "deckhand", age=1000 + step) for name in changed]
        return self._graph.load(harbor.lines([*records, harbor.sailor(f"merged-{step}")]), mode="merge")

    def _overwrite(self, step: int) -> object:
        notes = [{"type": "Note", "data": {"text": f"{step}-{number}"}} for number in range(self._random.randint(1, 3))]
        return self._graph.load(harbor.lines(notes), mode="overwrite")

    def _update(self, step: int) -> object:
        with self._graph.write() as batch:
            batch.update("Ship", {"tons": step + 0.5}, where=[])
            batch.upsert("Ship", [{"hull": "S0", "title": f"t{step}"}])
        return batch

    def _delete(self, step: int) -> object:
        with self._graph.write() as batch:
            batch.delete("Sailor", ids=self._random.sample(self._names(), k=1))
            batch.insert("Note", [{"text": f"deleted at {step}"}])
        return batch


@pytest.mark.slow
def test_every_earlier_commit_reads_back_as_it_was(store_root: str) -> None:
    print("seed", SEED)
    graph = harbor.new_graph(store_root)
    writes = RandomWrites(graph, SEED)
    history = [present(graph)]

    for step in range(COMMITS):
        writes.commit(step)
        history.append(present(graph))

    assert [past.version for past in history] == list(range(2, COMMITS + 3))
    assert len({past.text for past in history}) == len(history)
    for back, past in enumerate(reversed(history)):
        assert harbor.content(graph, version=past.version) == past.text
        assert harbor.content(graph, commit=past.commit_id) == past.text
        assert graph.snapshot_at(f"main~{back}").commit_id == past.commit_id
        assert graph.snapshot_at(f"main@{past.version}").commit_id == past.commit_id
    assert digests_in_a_fresh_process(store_root)[1:] == [past.digest for past in history]


def digests_in_a_fresh_process(uri: str) -> list[str]:
    with child(READER, uri, json.dumps(sys.path)) as reader:
        digests: list[str] = json.loads(reader.hear())
    return digests


def test_a_snapshot_does_not_move_with_its_branch(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    pinned = graph.snapshot()
    before = ids(pinned)

    with graph.write() as batch:
        batch.delete("Sailor", ids=["Ana"])

    assert ids(pinned) == before == ["Ana", "Bo", "Cy"]
    assert ids(graph.snapshot()) == ["Bo", "Cy"]


def ids(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.table("Sailor").to_arrow(["id"])["id"].to_pylist())


@pytest.mark.parametrize("address", ["main~2", "main@3", "main@0", "main~99"])
def test_before_the_first_and_after_the_last_commit_there_is_nothing(local_root: str, address: str) -> None:
    graph = harbor.new_graph(local_root)

    with pytest.raises(SnapshotNotFound):
        graph.snapshot_at(address)


# --- identity of rows


def marks(graph: Graph, type_name: str) -> dict[str, tuple[int, int, int]]:
    """Return row id, version of creation and version of the last update of each entity."""
    names = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    table = graph.snapshot().table(type_name).scanner(columns=names, with_row_id=True).to_table()
    return {
        row["id"]: (row["_rowid"], row["_row_created_at_version"], row["_row_last_updated_at_version"])
        for row in table.to_pylist()
    }


def merge_changes(graph: Graph) -> None:
    changes = [harbor.sailor("Bo", age=99), harbor.sailor("Cy", "deckhand"), harbor.sailor("New")]
    graph.load(harbor.lines(changes), mode="merge")
    with graph.write() as batch:
        batch.delete("Sailor", ids=["Ana"])


def write_changes(graph: Graph) -> None:
    with graph.write() as batch:
        batch.update("Sailor", {"age": 99}, ids=["Bo"])
        batch.upsert("Sailor", [{"name": "Cy", "rank": "deckhand"}, {"name": "New", "rank": "mate"}])
        batch.delete("Sailor", ids=["Ana"])


@pytest.mark.parametrize("change", [merge_changes, write_changes])
def test_an_update_keeps_the_row_and_the_delta_lists_exactly_what_happened(
    local_root: str, change: Callable[[Graph], None]
) -> None:
    graph = harbor.new_graph(local_root)
    before = marks(graph, "Sailor")
    pinned = graph.snapshot().table("Sailor").pin.version

    change(graph)

    after = marks(graph, "Sailor")
    assert set(after) == {"Bo", "Cy", "New"}
    assert after["Bo"][:2] == before["Bo"][:2]
    assert after["Bo"][2] > before["Bo"][2]
    assert after["Cy"] == before["Cy"], "an equal row is not written again"
    dataset = graph.snapshot().table("Sailor")._table.dataset
    delta = dataset.delta(compared_against=pinned)
    assert delta.get_inserted_rows().read_all()["id"].to_pylist() == ["New"]
    assert delta.get_updated_rows().read_all()["id"].to_pylist() == ["Bo"]
    assert delta.get_deleted_row_ids().read_all().column(0).to_pylist() == [before["Ana"][0]]


EVERYTHING = """
node Thing {
    key: String @key  text: String?  kind: enum(a, b)  flag: Bool?  small: I32  big: U64?  real: F64?  narrow: F32?
    day: Date?  time: DateTime?  list: [I64]?  vector: Vector(2)?  blob: Blob?  made: Vector(2) @embed("text")
}
edge Link: Thing -> Thing { weight: F64  blob: Blob?  tags: [String]? }
"""
THINGS = [
    {"type": "Thing", "data": {"key": "t1", "kind": "a", "small": 1, "blob": "base64:AA==", "vector": [1, 2]}},
    {"type": "Thing", "data": {"key": "t2", "kind": "b", "small": 2, "list": [], "time": 0}},
    {"edge": "Link", "from": "t1", "to": "t2", "data": {"id": "l1", "weight": 0.5, "tags": ["x"]}},
]


def test_every_way_of_writing_keeps_the_canonical_schema_with_all_its_metadata(local_root: str) -> None:
    graph = omnigraph.init(local_root, EVERYTHING)
    born = schemas(graph)

    for mode in ("append", "merge", "overwrite"):
        changed = json.loads(
            json.dumps(THINGS).replace("0.5", str(0.5 + len(mode))).replace('"small": 1', '"small": 9')
        )
        graph.load(harbor.lines(THINGS if mode == "append" else changed), mode=mode)
        assert schemas(graph) == born, mode
    with graph.write() as batch:
        batch.update("Thing", {"small": 5}, where=[])
        batch.delete("Link", ids=["l1"])
        batch.insert("Link", [{"from": "t2", "to": "t1", "weight": 1, "blob": b""}])
    assert schemas(graph) == born


def schemas(graph: Graph) -> dict[str, list[tuple[str, bool, dict[bytes, bytes], str]]]:
    """Return the stored fields by table, after checking them against what the catalog declares."""
    found = {}
    for pin in graph.snapshot().tables:
        table = graph.snapshot().table(pin.table_key)
        declared = table_schema(table.entity)
        assert table.schema.names == declared.names
        for stored, canonical in zip(table.schema, declared, strict=True):
            assert stored.nullable == canonical.nullable
            for key, value in (canonical.metadata or {}).items():
                # Lance answers for the blob extension with a type of its own.
                assert key.startswith(b"ARROW:extension") or stored.metadata[key] == value
            if not isinstance(stored.type, pa.ExtensionType):
                assert stored.type == canonical.type
        found[pin.table_key] = [(each.name, each.nullable, each.metadata, str(each.type)) for each in table.schema]
    return found
