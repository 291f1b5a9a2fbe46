"""Old manifests in memory: what their rows mean, what the steps make of them, and which stamps are refused."""

import json
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base import ids
from omnigraph.errors import GraphCorrupt, GraphTooNew, Internal, SchemaDrift, SnapshotNotFound
from omnigraph.manifest.commits import Commit, CommitKind
from omnigraph.manifest.migrations.migration import Migration
from omnigraph.manifest.migrations.old_graph import OldGraph, understand
from omnigraph.manifest.migrations.registry import MIGRATIONS, checked, upgrade_rows
from omnigraph.manifest.rows import MANIFEST_SCHEMA
from omnigraph.manifest.snapshot import GraphSnapshot, fold
from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION, Stamp, read_stamp
from support import harbor, old_graphs
from support.old_graphs import DROP, FIRST_LOAD, GENESIS, SECOND_LOAD, UNLOGGED, version_row

OLD_ROWS = [*old_graphs.rows_before_fork(), *old_graphs.UNLOGGED_ROWS]
OLD_COLUMNS = old_graphs.manifest_schema(3).names


def logged(*, without: tuple[str, ...] = ()) -> list[Commit]:
    return [
        Commit(
            graph_commit_id=record["graph_commit_id"],
            parent_commit_id=record["parent_commit_id"],
            graph_branch=record["graph_branch"],
            graph_version=record["graph_version"],
            kind=CommitKind(record["kind"]),
            actor_id=None,
            created_at_us=0,
        )
        for record in old_graphs.log_records()
        if record["graph_commit_id"] not in without
    ]


def old_table(rows: list[dict[str, object]], stamp: int = 3) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=old_graphs.manifest_schema(stamp))


def understood(rows: list[dict[str, object]] = OLD_ROWS, schema: str = harbor.SCHEMA) -> OldGraph:
    return understand(old_table(rows), logged(), schema, branch="main")


def upgraded(rows: list[dict[str, object]] = OLD_ROWS, *, stamp: int = 3) -> pa.Table:
    return upgrade_rows(old_table(rows, stamp), Stamp(version=stamp), understood(rows)).sort_by("object_id")


def snapshot(rows: pa.Table, graph_version: int = 5) -> GraphSnapshot:
    return fold(rows, branch="main", incarnation="main", graph_version=graph_version, commit_id=UNLOGGED)


def pins(found: GraphSnapshot) -> dict[str, tuple[str, str | None, int, int]]:
    return {key: (pin.location, pin.ref, pin.version, pin.row_count) for key, pin in found.pins.items()}


class TestRegistry:
    def test_every_older_stamp_has_the_step_to_the_next_one(self):
        assert {stamp: step.to for stamp, step in MIGRATIONS.items()} == {1: 2, 2: 3, 3: 4}
        assert max(MIGRATIONS) + 1 == INTERNAL_SCHEMA_VERSION

    @pytest.mark.parametrize(
        "steps",
        [
            {1: MIGRATIONS[1], 3: MIGRATIONS[3]},
            {2: MIGRATIONS[2], 3: MIGRATIONS[3]},
            {**MIGRATIONS, 4: MIGRATIONS[3]},
            {1: MIGRATIONS[1], 2: MIGRATIONS[3], 3: MIGRATIONS[3]},
        ],
        ids=["gap", "no first", "one too many", "skips a stamp"],
    )
    def test_a_gap_in_the_steps_stops_the_program(self, steps: dict[int, Migration]):
        with pytest.raises(Internal, match="migrations lead"):
            checked(steps)


class TestUpgradedRows:
    def test_the_newest_pins_of_the_old_shape_are_the_snapshot(self):
        found = snapshot(upgraded())

        assert pins(found) == old_graphs.PINS
        found.check_against(understood().catalog)

    @pytest.mark.parametrize("stamp", [1, 2])
    def test_the_first_two_steps_change_no_row(self, stamp: int):
        assert upgraded(stamp=stamp).equals(upgraded())

    def test_types_are_numbered_as_in_a_new_graph_and_dropped_ones_after_them(self):
        old = understood()

        last_of_schema = max(entity.table_incarnation_id for entity in old.catalog.entity_types())
        parrot = old.identity_by_table["node:Parrot"]
        assert old.catalog.node_by_name["Note"].type_id == 1
        assert (parrot.type_id, parrot.incarnation_id) == (last_of_schema + 1, last_of_schema + 2)
        assert old.catalog.next_identity_id == last_of_schema + 3

    def test_the_oldest_commit_names_the_identity_domain(self):
        assert understood().catalog.identity_domain == GENESIS
        assert snapshot(upgraded()).schema.identity_domain == GENESIS

    def test_every_row_carries_the_commit_that_wrote_it_and_its_graph_version(self):
        rows = upgraded().to_pylist()

        written = {(row["graph_version"], row["graph_commit_id"]) for row in rows}
        assert written == {(1, GENESIS), (2, FIRST_LOAD), (3, DROP), (4, SECOND_LOAD), (5, UNLOGGED)}

    def test_a_dropped_type_keeps_its_tombstone_and_its_location(self):
        rows = upgraded().to_pylist()

        (tombstone,) = [row for row in rows if row["object_type"] == "table_tombstone"]
        assert (tombstone["table_key"], tombstone["graph_version"]) == ("node:Parrot", 3)
        assert tombstone["location"] == "nodes/Parrot.lance"

    def test_a_pin_above_the_tombstone_brings_the_table_back(self):
        schema = harbor.SCHEMA + "node Parrot { name: String }"
        rows = [*OLD_ROWS, version_row("node:Parrot", 3, 1, UNLOGGED)]
        old = understand(old_table(rows), logged(), schema, branch="main")

        found = snapshot(upgrade_rows(old_table(rows), Stamp(version=3), old))

        assert pins(found)["node:Parrot"] == ("nodes/Parrot.lance", None, 3, 1)

    def test_of_two_pins_in_one_commit_the_higher_counts(self):
        rows = [*OLD_ROWS, version_row("node:Ship", 4, 9, UNLOGGED)]

        assert pins(snapshot(upgraded(rows)))["node:Ship"] == ("nodes/Ship.lance", None, 4, 9)

    def test_older_snapshots_are_readable_back_to_the_last_change_of_types(self):
        rows = upgraded()

        assert pins(snapshot(rows, 3))["node:Sailor"] == ("nodes/Sailor.lance", None, 2, 2)
        with pytest.raises(SnapshotNotFound, match="the oldest version that can be read is 3"):
            snapshot(rows, 2)

    def test_upgrading_twice_is_upgrading_once(self):
        once = upgraded()

        again = upgrade_rows(once, Stamp(version=4, migrating_from=3), understood())

        assert again.equals(once)

    def test_rows_of_both_shapes_give_the_new_ones_alone(self):
        once = upgraded()
        both = pa.concat_tables([old_table(OLD_ROWS), once], promote_options="default")

        again = upgrade_rows(both, Stamp(version=4, migrating_from=3), understood())

        assert again.select(once.column_names).sort_by("object_id").equals(once)

    def test_columns_without_values_are_still_the_old_shape(self):
        """An interrupted step may have added the columns and nothing else."""
        bare = old_table(OLD_ROWS)
        for column in MANIFEST_SCHEMA:
            if column.name not in OLD_COLUMNS:
                bare = bare.append_column(column.with_nullable(True), pa.nulls(len(bare), column.type))

        again = upgrade_rows(bare, Stamp(version=4, migrating_from=3), understood())

        assert again.sort_by("object_id").equals(upgraded())

    @settings(max_examples=20)
    @given(st.randoms(use_true_random=False))
    def test_the_order_of_rows_means_nothing(self, chance: random.Random):
        shuffled = chance.sample(OLD_ROWS, k=len(OLD_ROWS))

        assert upgraded(shuffled).equals(upgraded())


class TestHead:
    def test_a_commit_that_nobody_logged_is_the_head(self):
        head = understood().head

        assert head.graph_commit_id == UNLOGGED
        assert (head.parent_commit_id, head.graph_version, head.graph_branch) == (SECOND_LOAD, 5, "main")
        assert head.created_at_us == ids.ulid_ms(UNLOGGED) * 1_000

    def test_a_logged_head_is_taken_as_it_was_logged(self):
        old = understand(old_table(old_graphs.rows_before_fork()), logged(), harbor.SCHEMA, branch="main")

        assert old.head == next(commit for commit in logged() if commit.graph_commit_id == SECOND_LOAD)

    def test_commits_of_other_branches_do_not_count(self):
        assert old_graphs.ON_REVIEW not in {commit.graph_commit_id for commit in understood().history}

    def test_a_genesis_that_nobody_logged_is_the_first_graph_version(self):
        live = [row for row in OLD_ROWS if row["table_key"] != "node:Parrot"]
        born = [row for row in live if row["object_type"] == "table" or row["table_version"] == 1]

        old = understand(old_table(born), [], harbor.SCHEMA, branch="main")

        assert (old.head.graph_version, old.head.kind, old.head.parent_commit_id) == (1, CommitKind.GENESIS, None)

    def test_two_unlogged_commits_are_corruption(self):
        with pytest.raises(GraphCorrupt, match=f"{SECOND_LOAD}, {UNLOGGED}"):
            understand(old_table(OLD_ROWS), logged(without=(SECOND_LOAD,)), harbor.SCHEMA, branch="main")


class TestDamage:
    def test_a_schema_text_that_lacks_a_type_is_drift(self):
        with pytest.raises(SchemaDrift, match="node:Note"):
            understood(schema=harbor.SCHEMA.replace("node Note { text: String }", ""))

    def test_a_schema_text_with_a_type_more_is_drift(self):
        with pytest.raises(SchemaDrift, match="node:Parrot"):
            understood(schema=harbor.SCHEMA + "node Parrot { name: String }")

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([row for row in OLD_ROWS if row["object_id"] != "table:node:Ship"], "node:Ship has no 'table' row"),
            (
                [row for row in OLD_ROWS if row["object_type"] != "table_version" or row["table_key"] != "node:Note"],
                "node:Note has no 'table_version' row",
            ),
            ([*OLD_ROWS, {**OLD_ROWS[-1], "metadata": None}], "does not name its table version and commit"),
            ([*OLD_ROWS, {**OLD_ROWS[-1], "metadata": "{torn"}], "does not name its table version and commit"),
            ([*OLD_ROWS, {**OLD_ROWS[-1], "object_type": "table_rumour"}], "unknown type, 'table_rumour'"),
            ([], "names no commit"),
        ],
        ids=["no location", "no pin", "no commit", "torn metadata", "unknown type", "empty"],
    )
    def test_rows_that_make_no_sense_are_corruption(self, rows: list[dict[str, object]], words: str):
        with pytest.raises(GraphCorrupt, match=words):
            understood(rows)


class TestStamp:
    @staticmethod
    def read(metadata: dict[str, str], columns: list[str] | None = None) -> Stamp:
        return read_stamp(metadata, columns or MANIFEST_SCHEMA.names, uri="g.omni")

    def test_no_stamp_on_the_first_columns_means_1(self):
        assert self.read({}, OLD_COLUMNS) == Stamp(version=1)

    def test_no_stamp_on_newer_columns_is_damage(self):
        with pytest.raises(GraphCorrupt, match="no internal schema version"):
            self.read({})

    @pytest.mark.parametrize("raw", ["banana", "", "-1", "0", "4.0", " 4", "٤"])
    def test_what_is_not_a_stamp_is_quoted(self, raw: str):
        with pytest.raises(GraphCorrupt) as refused:
            self.read({old_graphs.STAMP: raw})

        assert repr(raw) in refused.value.message

    def test_a_newer_stamp_asks_for_a_newer_program(self):
        newer = INTERNAL_SCHEMA_VERSION + 1

        with pytest.raises(GraphTooNew, match="upgrade omnigraph first") as refused:
            self.read({old_graphs.STAMP: str(newer)})

        assert refused.value.details == {"found": newer, "supported": INTERNAL_SCHEMA_VERSION}

    @pytest.mark.parametrize(
        ("metadata", "shape", "is_current"),
        [
            ({old_graphs.STAMP: "3"}, 3, False),
            ({old_graphs.STAMP: "4", old_graphs.MARKER: "3"}, 3, False),
            ({old_graphs.STAMP: "4"}, 4, True),
        ],
    )
    def test_a_marked_manifest_may_still_have_the_older_shape(
        self, metadata: dict[str, str], shape: int, is_current: bool
    ):
        stamp = self.read(metadata)

        assert (stamp.shape, stamp.is_current) == (shape, is_current)

    @pytest.mark.parametrize("marker", ["4", "1", "banana"])
    def test_a_marker_that_does_not_lead_to_the_stamp_is_corruption(self, marker: str):
        with pytest.raises(GraphCorrupt, match=f"migrating from '{marker}'"):
            self.read({old_graphs.STAMP: "4", old_graphs.MARKER: marker})


def test_the_head_row_holds_the_whole_record():
    (head,) = [row for row in upgraded().to_pylist() if row["object_id"] == "graph_head"]

    assert Commit.from_json(head["metadata"]) == understood().head
    assert json.loads(head["metadata"])["graph_commit_id"] == head["graph_commit_id"]
