"""Old graphs on disk: reading them writes nothing, the first write migrates them, and nobody's commit is lost by it."""

import io
import json
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import GraphCorrupt, SchemaContractMissing
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.migrations.run import migrate_branch
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.store import GraphStore
from support import harbor, old_graphs
from support.old_graphs import MARKER, STAMP

STAMPS = [1, 2, 3]


@pytest.fixture(params=STAMPS, ids="stamp {}".format)
def stamp(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def old_root(local_root: str, stamp: int) -> str:
    """The path of a graph of each old stamp."""
    old_graphs.build(local_root, stamp=stamp)
    return local_root


def described(graph: Graph, **at: int) -> object:
    """Everything a snapshot shows, the stamp on disk aside."""
    snapshot = graph.snapshot(**at)
    return (
        snapshot.graph_version,
        snapshot.commit_id,
        snapshot.tables,
        snapshot.schema_source,
        snapshot.catalog,
        graph.commits(),
        harbor.content(graph, **at),
    )


def manifest_rows(uri: str) -> list[dict[str, object]]:
    return lance.dataset(f"{uri}/__manifest").to_table().to_pylist()


def write(uri: str) -> Graph:
    """Open for writing and add a sailor."""
    graph = omnigraph.open(uri)
    graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")
    return graph


class TestReading:
    def test_an_old_graph_reads_as_its_program_left_it(self, old_root: str, stamp: int):
        snapshot = omnigraph.open(old_root, read_only=True).snapshot()

        pins = {pin.table_key: (pin.location, pin.ref, pin.version, pin.row_count) for pin in snapshot.tables}
        assert pins == old_graphs.PINS
        assert (snapshot.graph_version, snapshot.commit_id) == (5, old_graphs.UNLOGGED)
        assert snapshot.internal_schema_version == stamp
        assert snapshot.table("Sailor").to_arrow()["id"].to_pylist() == ["Ana", "Bo", "Cy"]

    def test_reading_an_old_graph_leaves_every_byte_as_it_was(self, old_root: str):
        before = old_graphs.contents_of(old_root)

        graph = omnigraph.open(old_root, read_only=True)
        described(graph)
        described(graph, version=3)
        graph.export(io.BytesIO())

        assert old_graphs.contents_of(old_root) == before

    def test_an_old_graph_without_its_schema_text_names_the_file(self, old_root: str):
        Path(old_root, "_schema.pg").unlink()

        with pytest.raises(SchemaContractMissing, match=r"_schema\.pg"):
            omnigraph.open(old_root, read_only=True).snapshot()

    def test_a_handle_opened_before_the_migration_follows_it(self, old_root: str):
        reader = omnigraph.open(old_root, read_only=True)
        before = described(reader)

        omnigraph.open(old_root)
        assert described(reader) == before
        write(old_root)

        assert "Di" in reader.snapshot().table("Sailor").to_arrow()["id"].to_pylist()


class TestMigrating:
    def test_a_snapshot_is_the_same_before_and_after(self, old_root: str):
        before = described(omnigraph.open(old_root, read_only=True))

        omnigraph.open(old_root)

        after = omnigraph.open(old_root, read_only=True)
        assert described(after) == before
        assert after.snapshot().internal_schema_version == 4

    def test_the_first_write_migrates_and_succeeds(self, old_root: str):
        """The graph is not opened for writing first: the write itself must migrate."""
        graph = harbor.open_with_short_leases(old_root)

        result = graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")

        assert (result.commit.graph_version, result.commit.parent_commit_id) == (6, old_graphs.UNLOGGED)
        assert [commit.graph_version for commit in graph.commits()] == [6, 5, 4, 3, 2, 1]
        assert graph.commits()[2].actor_id == "act-old"
        assert harbor.pins_equal_heads(graph)
        assert old_graphs.metadata_of(old_root) == {STAMP: "4", "omnigraph:root_uri": old_root}

    def test_a_second_open_changes_nothing_more(self, old_root: str):
        omnigraph.open(old_root)
        version = lance.dataset(f"{old_root}/__manifest").version

        omnigraph.open(old_root)

        assert lance.dataset(f"{old_root}/__manifest").version == version

    def test_a_migrated_graph_has_its_schema_objects_and_copies(self, old_root: str):
        omnigraph.open(old_root)

        state = json.loads(Path(old_root, "__schema_state.json").read_text())
        assert Path(old_root, "_schemas", f"{state['ir_hash']}.ir.json").exists()
        assert Path(old_root, "_schemas", f"{state['source_sha256']}.pg").read_text() == harbor.SCHEMA

    def test_old_rows_stay_and_have_no_graph_version(self, old_root: str):
        before = manifest_rows(old_root)

        omnigraph.open(old_root)

        after = manifest_rows(old_root)
        kept = [{name: row[name] for name in before[0]} for row in after if row["graph_version"] is None]
        assert sorted(kept, key=lambda row: row["object_id"]) == sorted(before, key=lambda row: row["object_id"])
        assert len({row["object_id"] for row in after}) == len(after)

    def test_object_id_becomes_the_key(self, old_root: str):
        omnigraph.open(old_root)

        assert (
            old_graphs.KEY.items()
            <= {
                key.decode(): value.decode()
                for key, value in lance.dataset(f"{old_root}/__manifest").schema.field("object_id").metadata.items()
            }.items()
        )

    def test_staging_branches_are_swept_and_others_stay(self, old_root: str):
        omnigraph.open(old_root)

        assert old_graphs.refs_of(old_root, "__manifest") == ["review"]
        assert old_graphs.refs_of(old_root, "nodes/Sailor.lance") == ["review"]

    def test_a_staging_branch_that_a_live_one_was_made_from_stays(self, local_root: str):
        old_graphs.build(local_root, stamp=2)
        staging = lance.dataset(f"{local_root}/nodes/Sailor.lance/tree/__run__01")
        staging.create_branch("kept", ("__run__01", staging.version))

        omnigraph.open(local_root)

        assert old_graphs.refs_of(local_root, "nodes/Sailor.lance") == ["__run__01", "kept", "review"]
        assert old_graphs.metadata_of(local_root)[STAMP] == "4"

    def test_cleanup_settings_are_stripped_before_anything_is_committed(self, old_root: str):
        manifest = lance.dataset(f"{old_root}/__manifest")
        eager = {"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"}
        manifest.update_config(eager)
        versions = {version["version"] for version in lance.dataset(f"{old_root}/__manifest").versions()}

        write(old_root)

        after = lance.dataset(f"{old_root}/__manifest")
        assert versions <= {version["version"] for version in after.versions()}
        assert not eager.keys() & after.config().keys()

    def test_a_dropped_table_stays_dropped_and_on_disk(self, old_root: str):
        graph = write(old_root)

        assert "node:Parrot" not in {pin.table_key for pin in graph.snapshot().tables}
        assert lance.dataset(f"{old_root}/nodes/Parrot.lance").count_rows() == 1


class TestDuplicates:
    @pytest.fixture
    def doubled(self, local_root: str) -> str:
        old_graphs.build(local_root, stamp=1)
        old_graphs.append(local_root, "__manifest", old_graphs.UNLOGGED_ROWS)
        return local_root

    def test_rows_with_one_id_are_listed_and_nothing_is_written(self, doubled: str):
        before = old_graphs.contents_of(doubled)

        with pytest.raises(GraphCorrupt, match="table_version:node:Ship:3"):
            omnigraph.open(doubled)

        after = old_graphs.contents_of(doubled)
        assert {path: after[path] for path in before} == before
        assert {path.split("/")[0] for path in after.keys() - before.keys()} <= {"__locks"}

    def test_reads_go_on_meanwhile(self, doubled: str):
        assert omnigraph.open(doubled, read_only=True).snapshot().graph_version == 5


class TestBranches:
    @staticmethod
    def context(uri: str) -> GraphContext:
        return GraphContext.over(GraphStore.open(uri), LocalEngine())

    @staticmethod
    def state(context: GraphContext) -> ManifestState:
        return context.manifest.load("review")

    def test_a_branch_reads_the_same_before_and_after_its_own_migration(self, old_root: str):
        before = self.state(self.context(old_root)).snapshot

        context = self.context(old_root)
        migrate_branch(context.store, context.schemas, self.state(context))

        after = self.state(self.context(old_root))
        pins = {key: (pin.location, pin.ref, pin.version, pin.row_count) for key, pin in after.snapshot.pins.items()}
        assert after.snapshot == before
        assert after.stamp.is_current
        assert pins == old_graphs.REVIEW_PINS
        assert after.head.graph_commit_id == old_graphs.ON_REVIEW

    def test_the_first_write_to_a_branch_migrates_it(self, old_root: str):
        graph = omnigraph.open(old_root)

        graph.load(harbor.lines([harbor.sailor("Di")]), mode="append", branch="review")

        sailors = graph.snapshot("review").table("Sailor").to_arrow()["id"].to_pylist()
        assert sorted(sailors) == ["Ana", "Bo", "Cy", "Di", "Rex"]
        assert old_graphs.metadata_of(old_root, ref="review")[STAMP] == "4"
        assert [commit.graph_version for commit in graph.commits("review")] == [6, 5, 4, 3, 2, 1]

    def test_each_branch_is_migrated_by_itself(self, old_root: str, stamp: int):
        omnigraph.open(old_root)

        on_review = old_graphs.metadata_of(old_root, ref="review")
        assert on_review == ({STAMP: str(stamp)} if stamp > 1 else {})
        assert self.state(self.context(old_root)).snapshot.commit_id == old_graphs.ON_REVIEW

    def test_branches_agree_on_identities_whoever_is_migrated_first(self, old_root: str):
        context = self.context(old_root)
        migrate_branch(context.store, context.schemas, self.state(context))
        main = omnigraph.open(old_root).snapshot()

        review = self.state(self.context(old_root)).snapshot

        assert {key: pin.identity for key, pin in review.pins.items()} == {
            pin.table_key: pin.identity for pin in main.tables
        }
        assert review.schema == main._pinned.schema


def test_a_publisher_of_an_old_program_no_longer_lands(local_root: str):
    old_graphs.build(local_root, stamp=3)
    stale = lance.dataset(f"{local_root}/__manifest")

    omnigraph.open(local_root)
    row = old_graphs.version_row("node:Note", 2, 1, old_graphs.commit_id(9))
    with pytest.raises(OSError, match="Too many concurrent writers"):
        (
            stale.merge_insert("object_id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .conflict_retries(0)
            .use_index(False)
            .execute(pa.Table.from_pylist([row], schema=stale.schema))
        )

    assert row["object_id"] not in {found["object_id"] for found in manifest_rows(local_root)}


def test_an_interrupted_step_is_marked_for_everybody(local_root: str):
    """A manifest whose rows are complete but whose marker is left reads as before, and the next write takes it away."""
    old_graphs.build(local_root, stamp=3)
    content = harbor.content(omnigraph.open(local_root))
    lance.dataset(f"{local_root}/__manifest").update_schema_metadata({MARKER: "3"})

    reader = omnigraph.open(local_root, read_only=True)
    assert harbor.content(reader) == content
    write(local_root)

    assert MARKER not in old_graphs.metadata_of(local_root)
    assert reader.snapshot().graph_version == 6
