"""Drift forged with raw Lance calls: each kind is named for what it is, and published when somebody vouches for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base import faults
from omnigraph.errors import BranchNotFound, EntityNotFound, InvalidTarget, MaintenanceLocked, RecoveryRequired
from omnigraph.graph import Graph
from omnigraph.maintenance.admission import sole_maintainer
from omnigraph.maintenance.health import tables
from omnigraph.maintenance.health.judging import report_health
from omnigraph.maintenance.optimize.facts import observe_table
from omnigraph.maintenance.repair import drift
from omnigraph.maintenance.repair.drift import Classification
from omnigraph.maintenance.repair.run import RepairAction, RepairRow
from support import harbor
from support.failpoints import armed

SAILOR = "node:Sailor"
BEHIND = ("behind", "refused", "refused", "refused")
VERIFIED = ("verified_maintenance", "preview", "healed", "healed")
SUSPICIOUS = ("suspicious", "preview", "refused", "forced")
UNVERIFIABLE = ("unverifiable", "preview", "refused", "forced")
UNFIT = ("suspicious", "preview", "refused", "refused")


def raw(graph: Graph, type_name: str = "Sailor") -> Any:
    """Open a table as somebody does who knows nothing of the graph."""
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == type_name)
    tables = graph._context.store.tables
    return lance.dataset(tables.uri(pin.address), storage_options=tables.storage_options)


def compaction(dataset: Any) -> None:
    dataset.optimize.compact_files()


def append(dataset: Any) -> None:
    row = dataset.to_table(limit=1).to_pylist()[0] | {"id": "stranger", "name": "stranger"}
    dataset.insert(pa.Table.from_pylist([row], schema=dataset.schema))


def delete(dataset: Any) -> None:
    dataset.delete("id = 'Ana'")


def update(dataset: Any) -> None:
    dataset.update({"age": "age + 1"})


def new_column(dataset: Any) -> None:
    dataset.add_columns({"extra": "1"})


def column_dropped(dataset: Any) -> None:
    dataset.drop_columns(["age"])


def column_added_and_dropped(dataset: Any) -> None:
    new_column(dataset)
    dataset.drop_columns(["extra"])


def upsert(dataset: Any) -> None:
    row = dataset.to_table(filter="id = 'Ana'").to_pylist()[0] | {"age": 7}
    rows = pa.Table.from_pylist([row], schema=dataset.schema)
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)


def overwrite(dataset: Any) -> None:
    lance.write_dataset(
        dataset.to_table(), dataset.uri, mode="overwrite", storage_options=dataset._storage_options or None
    )


def column_made_anew(dataset: Any) -> None:
    dataset.drop_columns(["age"])
    dataset.add_columns({"age": "cast(7 as int)"})


def bare_overwrite(dataset: Any) -> None:
    rows = dataset.to_table()
    bare = pa.schema([pa.field(field.name, field.type) for field in rows.schema])
    lance.write_dataset(
        rows.cast(bare), dataset.uri, mode="overwrite", storage_options=dataset._storage_options or None
    )


def index(dataset: Any) -> None:
    dataset.create_scalar_index("id", "BTREE")


def restore(dataset: Any) -> None:
    old = lance.dataset(dataset.uri, version=dataset.version - 1, storage_options=dataset._storage_options or None)
    old.restore()


def setting(dataset: Any) -> None:
    dataset.update_config({"owner": "somebody"})


def compaction_and_append(dataset: Any) -> None:
    compaction(dataset)
    append(dataset)


def transaction_files_gone(dataset: Any) -> None:
    """Every version still tells its operation itself: cleanup may remove these files too."""
    compaction(dataset)
    for file in (Path(dataset.uri) / "_transactions").iterdir():
        file.unlink()


def a_version_between_gone(dataset: Any) -> None:
    compaction(dataset)
    (Path(dataset.uri) / "_versions" / f"{2**64 - dataset.version:020d}.manifest").unlink()


def pinned_version_gone(dataset: Any) -> None:
    (Path(dataset.uri) / "_versions" / f"{2**64 - 1 - dataset.version:020d}.manifest").unlink()


FORGERIES: dict[Callable[[Any], None], tuple[str, str, str, str]] = {
    compaction: VERIFIED,
    append: SUSPICIOUS,
    delete: SUSPICIOUS,
    update: SUSPICIOUS,
    upsert: SUSPICIOUS,
    new_column: UNFIT,
    column_dropped: UNFIT,
    column_added_and_dropped: SUSPICIOUS,
    overwrite: SUSPICIOUS,
    column_made_anew: UNFIT,
    bare_overwrite: UNFIT,
    index: SUSPICIOUS,
    restore: SUSPICIOUS,
    setting: SUSPICIOUS,
    compaction_and_append: SUSPICIOUS,
    transaction_files_gone: VERIFIED,
    a_version_between_gone: UNVERIFIABLE,
    pinned_version_gone: BEHIND,
}


@pytest.fixture
def graph(local_root: str) -> Graph:
    """A graph whose sailors lie in several fragments."""
    return several_fragments(local_root)


def several_fragments(uri: str) -> Graph:
    graph = harbor.new_graph(uri)
    for name in ("Kim", "Lou"):
        graph.load(harbor.lines([harbor.sailor(name)]), mode="append")
    return graph


def row_of(graph: Graph, key: str = SAILOR, **options: Any) -> RepairRow:
    report = graph.repair(**options)
    return next(row for row in report.rows if row.table_key == key)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_each_kind_of_drift_is_named_and_handled_as_agreed(graph: Graph, forge: Callable[[Any], None]) -> None:
    classification, preview, confirmed, forced = FORGERIES[forge]
    before = graph.snapshot().graph_version
    forge(raw(graph))

    looked = row_of(graph)
    assert (looked.classification.value, looked.action.value) == (classification, preview)
    assert graph.snapshot().graph_version == before

    assert row_of(graph, confirm=True).action.value == confirmed
    if confirmed == "refused":
        assert graph.snapshot().graph_version == before
        assert row_of(graph, confirm=True, force=True).action.value == forced
    if "refused" not in {confirmed, forced} or forced == "forced":
        assert row_of(graph).classification is Classification.NO_DRIFT
        assert graph.snapshot().graph_version == before + 1


def test_a_healed_table_reads_as_before_and_takes_strict_writes_again(graph: Graph) -> None:
    rows = harbor.content(graph)
    compaction(raw(graph))

    report = graph.repair(confirm=True)

    (commit,) = report.commits
    assert (commit.kind.value, commit.actor_id) == ("repair", "omnigraph:repair")
    assert commit.metadata["repaired"][SAILOR]["operations"] == ["ReserveFragments", "Rewrite"]
    assert harbor.content(graph) == rows
    with graph.write() as batch:
        batch.update("Sailor", {"age": 60}, ids=["Ana"])
    assert graph.repair().rows[0].action is RepairAction.NOOP


def test_all_drifted_tables_are_published_by_one_commit(graph: Graph) -> None:
    compaction(raw(graph))
    append(raw(graph, "Ship"))

    report = graph.repair(confirm=True, force=True)

    assert len(report.commits) == 1
    assert {row.action for row in report.rows} == {RepairAction.NOOP, RepairAction.HEALED, RepairAction.FORCED}


def test_a_refused_table_does_not_keep_a_verified_one_from_being_healed(graph: Graph) -> None:
    compaction(raw(graph))
    append(raw(graph, "Ship"))

    report = graph.repair(confirm=True)

    assert [row.table_key for row in report.refused] == ["node:Ship"]
    assert row_of(graph).classification is Classification.NO_DRIFT
    assert row_of(graph, "node:Ship").classification is Classification.SUSPICIOUS


def test_drift_on_the_fork_of_a_branch_is_found_and_healed_there(graph: Graph) -> None:
    graph.branches.create("review")
    for name in ("Moe", "Ned"):
        graph.load(harbor.lines([harbor.sailor(name)]), mode="append", branch="review")
    pin = next(pin for pin in graph.snapshot("review").tables if pin.type_name == "Sailor")
    lance.dataset(graph._context.store.tables.uri(pin.address)).checkout_version(
        (pin.ref, pin.version)
    ).optimize.compact_files()

    found = [row for row in graph.repair().rows if row.classification is not Classification.NO_DRIFT]
    assert [(row.branch, row.table_key) for row in found] == [("review", SAILOR)]
    (commit,) = graph.repair(confirm=True).commits

    assert commit.graph_branch == "review"
    assert graph.snapshot().graph_version == graph.commits()[0].graph_version
    assert all(row.classification is Classification.NO_DRIFT for row in graph.repair().rows)


def test_a_branch_that_is_deleted_meanwhile_is_left_out(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.branches.create("review")
    compaction(raw(graph))
    monkeypatch.setattr(faults, "_act", lambda *_: graph.branches.delete("review"))

    with armed("repair.before_publish:delete the branch:0:1"):
        report = graph.repair(confirm=True)

    assert {row.branch for row in report.rows} == {"main"}
    assert [commit.graph_branch for commit in report.commits] == ["main"]
    with pytest.raises(BranchNotFound):
        graph.repair(branch="review", confirm=True)


def test_tables_that_are_written_to_all_the_time_have_not_drifted(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever anybody looks the table is ahead of its pin, and between two looks the pin moves on."""
    pauses = []

    def publish_and_go_ahead(seconds: float) -> None:
        pauses.append(seconds)
        assert publish(graph) is not None
        raw(graph).optimize.compact_files() if len(pauses) % 2 else append(raw(graph))

    def publish(graph: Graph) -> object:
        with monkeypatch.context() as during:
            during.setattr(drift.clock, "sleep_seconds", lambda _: None)
            return graph.repair(confirm=True, force=True).commits

    append(raw(graph))
    monkeypatch.setattr(drift.clock, "sleep_seconds", publish_and_go_ahead)

    found = drift.find_lasting_drift(graph._context, "main")

    assert {each.classification for each in found} == {Classification.NO_DRIFT}
    assert len(pauses) == 1, "nobody waits for a writer that never rests"


def test_a_head_that_moved_on_after_the_look_for_drift_hides_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer commits to the table while its layout is read; that it is fragmented is told all the same."""

    def observe(*arguments: Any) -> Any:
        append(raw(graph))
        return observe_table(*arguments)

    monkeypatch.setattr(tables, "observe_table", observe)

    seen = {table.table_key: table for table in report_health(graph._context).health.tables}

    assert seen[SAILOR].plan is not None
    assert len(seen[SAILOR].plan.groups) == 1


def test_repair_works_on_every_store(store_root: str) -> None:
    graph = several_fragments(store_root)
    compaction(raw(graph))

    assert row_of(graph).action is RepairAction.PREVIEW
    assert row_of(graph, confirm=True).action is RepairAction.HEALED
    assert row_of(graph).action is RepairAction.NOOP


def test_an_unknown_table_is_refused_and_the_known_ones_are_named(graph: Graph) -> None:
    with pytest.raises(EntityNotFound, match="node:Sailor"):
        graph.repair(tables=["node:Submarine"])


def test_force_alone_is_refused(graph: Graph) -> None:
    with pytest.raises(InvalidTarget, match="confirm"):
        graph.repair(force=True)


def test_a_preview_writes_nothing_and_needs_no_right_to_write(graph: Graph) -> None:
    compaction(raw(graph))
    files = sorted(path for path in Path(graph.uri).rglob("*") if path.is_file())

    omnigraph.open(graph.uri, read_only=True).repair()

    assert sorted(path for path in Path(graph.uri).rglob("*") if path.is_file()) == files


def test_a_second_maintenance_run_is_told_who_holds_the_graph(graph: Graph) -> None:
    with sole_maintainer(graph._context, "optimize"), pytest.raises(MaintenanceLocked, match="optimize in process"):
        graph.repair(confirm=True)


def test_a_graph_with_an_interrupted_write_is_refused_also_in_a_preview(graph: Graph) -> None:
    sidecar = Path(graph.uri) / "__recovery" / "01JZZZZZZZZZZZZZZZZZZZZZZZ.json"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_text("not a sidecar")

    for options in ({}, {"confirm": True}):
        with pytest.raises(RecoveryRequired, match="omnigraph recover"):
            graph.repair(**options)


@pytest.mark.parametrize(
    "forge", [forge for forge in FORGERIES if forge is not pinned_version_gone], ids=lambda forge: forge.__name__
)
def test_discarding_brings_the_pinned_content_back_whatever_the_drift_was(
    graph: Graph, forge: Callable[[Any], None]
) -> None:
    content = harbor.content(graph)
    forge(raw(graph))

    report = graph.repair(confirm=True, discard=True)

    (commit,) = report.commits
    assert row_action(report) is RepairAction.DISCARDED
    assert (commit.kind.value, harbor.content(graph)) == ("repair", content)
    assert row_of(graph).classification is Classification.NO_DRIFT
    assert harbor.pending(graph) == []
    with graph.write() as batch:
        batch.update("Sailor", {"age": 60}, ids=["Ana"])


def row_action(report: Any, key: str = SAILOR) -> RepairAction:
    return next(row.action for row in report.rows if row.table_key == key)


def test_a_review_counts_rows_and_shows_some_of_them(graph: Graph) -> None:
    append(raw(graph))
    raw(graph).update({"age": "age + 1"}, where="id = 'Ana'")
    raw(graph).delete("id = 'Bo'")

    review = row_of(graph, review_limit=2).review

    assert review is not None
    assert (review.rows_added, review.rows_removed, review.rows_changed) == (1, 1, 1)
    assert review.samples == ({"id": "Ana", "op": "update"}, {"id": "Bo", "op": "delete"})


def test_a_compaction_is_reviewed_as_no_change_at_all(graph: Graph) -> None:
    compaction(raw(graph))

    review = row_of(graph, review_limit=5).review

    assert review is not None
    assert (review.rows_added, review.rows_removed, review.rows_changed, review.samples) == (0, 0, 0, ())


@pytest.mark.parametrize("options", [{"discard": True}, {"force": True, "discard": True, "confirm": True}])
def test_discard_needs_confirm_and_excludes_force(graph: Graph, options: dict[str, bool]) -> None:
    with pytest.raises(InvalidTarget):
        graph.repair(**options)


def test_a_table_with_blobs_is_healed_like_any_other(local_root: str) -> None:
    graph = omnigraph.init(local_root, "node Scan { name: String @key  pixels: Blob? }")
    for name in ("a", "b"):
        record = {"type": "Scan", "data": {"name": name, "pixels": "base64:aGVsbG8="}}
        graph.load(harbor.lines([record]), mode="append")
    compaction(raw(graph, "Scan"))

    assert row_of(graph, "node:Scan", confirm=True).action is RepairAction.HEALED


def test_without_the_pinned_version_there_is_nothing_to_go_back_to(graph: Graph) -> None:
    dataset = raw(graph)
    pinned = dataset.version
    append(dataset)
    manifest = Path(dataset.uri) / "_versions" / f"{2**64 - 1 - pinned:020d}.manifest"
    manifest.unlink()
    graph = omnigraph.open(graph.uri, recover=False)

    (preview,) = [row for row in graph.repair(review_limit=3).rows if row.table_key == SAILOR]
    (refused,) = graph.repair(confirm=True, discard=True).refused

    assert preview.review is None
    assert preview.error == f"version {pinned}, which the graph pins, is gone"
    assert refused.error is not None
    assert "nothing to go back to" in refused.error
    assert harbor.pending(graph) == []
    assert [row.action for row in graph.repair(confirm=True, force=True).rows if row.table_key == SAILOR] == ["forced"]
    assert "stranger" in harbor.content(graph)
