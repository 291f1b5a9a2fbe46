"""`__manifest` against a dictionary: random publishes, and every graph version ever published must read back."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import omnigraph
from omnigraph.base import ids
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import GraphCorrupt, ManifestConflict, ReadSetConflict, SnapshotNotFound
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions, TableRegistration
from omnigraph.manifest.snapshot import GraphSnapshot, fold
from omnigraph.storage.store import GraphStore

NAMES = tuple(TableKey(f"node:{letter}") for letter in "ABCD")
SCHEMA = "node A {}"


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """What the model knows of one visible table."""

    name: TableKey
    ref: str | None
    version: int
    rows: int


Tables = dict[TableIdentity, Pinned]


def shown_by(snapshot: GraphSnapshot) -> Tables:
    return {
        pin.identity: Pinned(name=pin.table_key, ref=pin.ref, version=pin.version, rows=pin.row_count)
        for pin in snapshot.pins.values()
    }


def open_context(uri: str) -> GraphContext:
    return GraphContext.over(GraphStore.open(uri), LocalEngine())


def draft() -> Commit:
    return Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=CommitKind.SCHEMA_APPLY,
        actor_id=None,
        created_at_us=0,
    )


pins = st.tuples(st.sampled_from([None, "ref"]), st.integers(1, 9), st.integers(0, 99))
"""Versions move freely: a pin may go to a lower number on another ref."""


class ManifestMachine(RuleBasedStateMachine):
    """Publishes through one handle and reads through three: that one, one that looks seldom, and new ones."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.uri = f"{self.directory.name}/graph.omni"
        omnigraph.init(self.uri, SCHEMA)
        self.context = open_context(self.uri)
        self.seldom = open_context(self.uri)
        self.seldom.manifest.load("main")
        born = self.context.manifest.load("main")
        self.history: dict[int, tuple[CommitId, Tables]] = {1: (born.head.graph_commit_id, shown_by(born.snapshot))}
        self.published: dict[int, ManifestChanges] = {}
        self.next_id = 1_000

    def teardown(self) -> None:
        assert self._read_back(self.seldom) == self.history
        assert self._read_back(open_context(self.uri)) == self.history
        self.directory.cleanup()

    @property
    def tables(self) -> Tables:
        return self.history[max(self.history)][1]

    @property
    def head(self) -> CommitId:
        return self.history[max(self.history)][0]

    @property
    def free_names(self) -> list[TableKey]:
        return sorted({*NAMES} - {pinned.name for pinned in self.tables.values()})

    def publish(self, changes: ManifestChanges, after: Tables) -> None:
        commit = self.context.publisher.publish("main", changes, draft(), self.expecting(after))
        assert commit.parent_commit_id == self.head
        assert commit.graph_version == max(self.history) + 1
        self.history[commit.graph_version] = commit.graph_commit_id, after
        self.published[commit.graph_version] = changes

    def expecting(self, after: Tables) -> Preconditions:
        """Demand the very state that the model is in; tables that are new must be absent."""
        known: dict[TableIdentity, tuple[str | None, int] | None] = dict.fromkeys(after)
        known |= {identity: (pinned.ref, pinned.version) for identity, pinned in self.tables.items()}
        return Preconditions(incarnation="main", exact_head=self.head, ir_hash=None, expected_pins=known)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def move_pins(self, data: st.DataObject) -> None:
        moved = data.draw(st.dictionaries(st.sampled_from(sorted(self.tables, key=str)), pins, min_size=1))

        after = {
            identity: replace(self.tables[identity], ref=ref, version=version, rows=rows)
            for identity, (ref, version, rows) in moved.items()
        }

        self.publish(ManifestChanges(pins=tuple(map(pin_move, after.items()))), {**self.tables, **after})

    @precondition(lambda self: self.free_names)
    @rule(data=st.data(), pin=pins)
    def add_table(self, data: st.DataObject, pin: tuple[str | None, int, int]) -> None:
        name = data.draw(st.sampled_from(self.free_names))
        identity = TableIdentity(type_id=self.next_id, incarnation_id=self.next_id + 1)
        self.next_id += 2
        ref, version, rows = pin

        added = (identity, Pinned(name=name, ref=ref, version=version, rows=rows))

        changes = ManifestChanges(pins=(pin_move(added),), registrations=(registration(added),))
        self.publish(changes, {**self.tables, identity: added[1]})

    @precondition(lambda self: self.tables and self.free_names)
    @rule(data=st.data())
    def rename_table(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.tables, key=str)))
        name = data.draw(st.sampled_from(self.free_names))

        renamed = (identity, replace(self.tables[identity], name=name))

        self.publish(ManifestChanges(registrations=(registration(renamed),)), {**self.tables, identity: renamed[1]})

    @precondition(lambda self: len(self.tables) > 1)
    @rule(data=st.data())
    def swap_names(self, data: st.DataObject) -> None:
        one, other = data.draw(st.permutations(sorted(self.tables, key=str)))[:2]

        swapped = {
            one: replace(self.tables[one], name=self.tables[other].name),
            other: replace(self.tables[other], name=self.tables[one].name),
        }

        changes = ManifestChanges(registrations=tuple(map(registration, swapped.items())))
        self.publish(changes, {**self.tables, **swapped})

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def drop_table(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.tables, key=str)))

        dropped = (identity, self.tables[identity])

        kept = {other: pinned for other, pinned in self.tables.items() if other != identity}
        self.publish(ManifestChanges(tombstones=(registration(dropped),)), kept)

    @precondition(lambda self: self.tables)
    @rule(data=st.data(), pin=pins)
    def drop_and_add_the_same_name_at_once(self, data: st.DataObject, pin: tuple[str | None, int, int]) -> None:
        old = data.draw(st.sampled_from(sorted(self.tables, key=str)))
        new = TableIdentity(type_id=self.next_id, incarnation_id=self.next_id + 1)
        self.next_id += 2
        ref, version, rows = pin
        added = (new, Pinned(name=self.tables[old].name, ref=ref, version=version, rows=rows))

        changes = ManifestChanges(
            pins=(pin_move(added),),
            registrations=(registration(added),),
            tombstones=(registration((old, self.tables[old])),),
        )

        kept = {other: pinned for other, pinned in self.tables.items() if other != old}
        self.publish(changes, {**kept, new: added[1]})

    @rule()
    def publish_nothing_but_a_commit(self) -> None:
        self.publish(ManifestChanges(), self.tables)

    @precondition(lambda self: self.published)
    @rule(data=st.data())
    def repeat_a_landed_publish(self, data: st.DataObject) -> None:
        """A lost acknowledgement, or a recovery that runs again: the same id never lands twice."""
        graph_version = data.draw(st.sampled_from(sorted(self.published)))
        commit_id = self.history[graph_version][0]

        found = open_context(self.uri).publisher.publish(
            "main",
            self.published[graph_version],
            replace(draft(), graph_commit_id=commit_id),
            Preconditions(incarnation="main", exact_head=None, ir_hash=None),
        )

        assert (found.graph_commit_id, found.graph_version) == (commit_id, graph_version)

    @precondition(lambda self: len(self.history) > 1)
    @rule(data=st.data())
    def publish_from_a_stale_head(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(sorted(self.history)[:-1]))
        stale = replace(self.expecting(self.tables), exact_head=self.history[old][0])

        with pytest.raises(ReadSetConflict):
            self.context.publisher.publish("main", ManifestChanges(), draft(), stale)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def publish_over_a_pin_that_moved(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.tables, key=str)))
        pinned = self.tables[identity]
        wrong = data.draw(st.sampled_from([None, (pinned.ref, pinned.version + 1), ("another", pinned.version)]))
        stale = replace(self.expecting({}), exact_head=None, expected_pins={identity: wrong})

        with pytest.raises(ManifestConflict):
            self.context.publisher.publish("main", ManifestChanges(), draft(), stale)

    @rule()
    def look_through_the_handle_that_looks_seldom(self) -> None:
        assert shown_by(self.seldom.manifest.load("main").snapshot) == self.tables

    @rule()
    def read_every_version_back(self) -> None:
        assert self._read_back(self.context) == self.history

    @invariant()
    def the_head_and_nothing_beyond_it_is_known(self) -> None:
        state = self.context.manifest.load("main")
        assert shown_by(state.snapshot) == self.tables
        for unknown in (0, max(self.history) + 1):
            with pytest.raises(SnapshotNotFound):
                state.snapshot_at(unknown, self.head)

    def _read_back(self, context: GraphContext) -> dict[int, tuple[CommitId, Tables]]:
        state = context.manifest.load("main")
        return {
            commit.graph_version: (
                commit.graph_commit_id,
                shown_by(state.snapshot_at(commit.graph_version, commit.graph_commit_id)),
            )
            for commit in context.log.first_parents(state.head)
        }


def pin_move(table: tuple[TableIdentity, Pinned]) -> PinMove:
    identity, pinned = table
    return PinMove(
        table_key=pinned.name,
        identity=identity,
        ref=pinned.ref,
        version=pinned.version,
        row_count=pinned.rows,
    )


def registration(table: tuple[TableIdentity, Pinned]) -> TableRegistration:
    identity, pinned = table
    return TableRegistration(table_key=pinned.name, identity=identity, location=f"nodes/{identity}")


TestManifest = ManifestMachine.TestCase
TestManifest.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    print_blob=True,
    phases=[Phase.reuse, Phase.generate],  # shrinking would take longer than a test may
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="module")
def healthy_rows(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """The rows of a manifest with two tables and two graph versions."""
    uri = str(tmp_path_factory.mktemp("healthy") / "graph.omni")
    graph = omnigraph.init(uri, "node A {}\nnode B {}")
    with graph.write() as batch:
        batch.insert("A", [{}])
    return open_context(uri).manifest.load("main").rows


def without(rows: pa.Table, object_type: str) -> pa.Table:
    return rows.filter(pc.not_equal(rows["object_type"], object_type))


def with_column(rows: pa.Table, name: str, change: Callable[[object], object]) -> pa.Table:
    changed = pa.array([change(value) for value in rows[name].to_pylist()], rows.schema.field(name).type)
    return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), changed)


DAMAGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no table rows": lambda rows: without(rows, "table"),
    "no pins": lambda rows: without(rows, "table_version"),
    "no schema": lambda rows: without(rows, "schema"),
    "one row twice": lambda rows: pa.concat_tables([rows, rows.filter(pc.equal(rows["object_type"], "table"))]),
    "two tables of one name": lambda rows: with_column(
        rows, "table_key", lambda key: "node:A" if str(key).startswith("node:") else key
    ),
    "an unknown kind of row": lambda rows: with_column(
        rows, "object_type", lambda kind: "table_alias" if kind == "table" else kind
    ),
    "no location": lambda rows: with_column(rows, "location", lambda _: None),
    "no version": lambda rows: with_column(rows, "table_version", lambda _: None),
    "a schema row without a schema": lambda rows: with_column(rows, "metadata", lambda _: "{}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_manifest_that_contradicts_itself_is_refused(healthy_rows: pa.Table, damage: str) -> None:
    at = {"branch": "main", "incarnation": "main", "graph_version": 2, "commit_id": CommitId("head")}
    assert {*fold(healthy_rows, **at).pins} == {"node:A", "node:B"}

    with pytest.raises(GraphCorrupt):
        fold(DAMAGES[damage](healthy_rows), **at)
