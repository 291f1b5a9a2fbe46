"""What an apply refuses, with the code of the rule, and that a refusal leaves the graph as it was."""

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
import omnigraph.evolution.writer
from omnigraph.catalog.migration import UnsupportedChange
from omnigraph.errors import (
    ClusterManaged,
    HistoricalVersionReclaimed,
    InvalidTarget,
    OmniError,
    ParseError,
    RecoveryRequired,
    SchemaApplyBlocked,
    SchemaDrift,
    UnsupportedSchemaChange,
)
from omnigraph.graph import Graph
from support import harbor
from support.raw_tables import foreign_append

BASE = """
interface Named { name: String @index }
interface Dated { day: Date? }
node Person implements Named {
    name: String @index
    mail: String? @unique
    age: I32?
    rank: enum(high, low)
    bio: String?
    face: Vector(2)? @embed(bio, model="m1")
    @range(age, 0..200)
}
node Town { code: String @key  size: I64? }
node Box @level(1) {}
edge Lives: Person -> Town @card(0..1)
"""


def _swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


UNSUPPORTED = {
    "OG-MF-101": _swap("size: I64?", "size: I64? @unique"),
    "OG-MF-102": _swap("code: String @key", "code: String"),
    "OG-MF-103": _swap("size: I64?", "size: I64?  area: F64"),
    "OG-MF-104": _swap("size: I64?", "size: I64"),
    "OG-MF-105": _swap("0..200", "0..100"),
    "OG-MF-106": _swap("enum(high, low)", "enum(high)"),
    "OG-CD-101": _swap("mail: String? @unique", "mail: String?"),
    "OG-BC-101": _swap("size: I64?", 'area: I64? @rename_from("sise")'),
    "OG-BC-102": _swap("interface Dated { day: Date? }", ""),
    "OG-BC-103": _swap("implements Named", "implements Named, Dated"),
    "OG-BC-104": _swap("{\n    name: String @index", "{"),
    "OG-BC-105": _swap(
        "interface Named { name: String @index }", "interface Named { name: String @index  bio: String? }"
    ),
    "OG-BC-106": _swap("@level(1)", "@level(2)"),
    "OG-ED-101": _swap("Person -> Town", "Town -> Person"),
    "OG-ED-102": _swap("@card(0..1)", "@card(0..2)"),
    "OG-VE-101": _swap('model="m1"', 'model="m2"'),
}
"""A change of `BASE` per code; `OG-BC-199` is for differences that nobody has thought of."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """One graph for all refusals: none of them may change it."""
    return omnigraph.init(str(tmp_path_factory.mktemp("refused") / "graph.omni"), BASE)


@pytest.mark.parametrize("code", UNSUPPORTED)
def test_an_unsupported_change_is_planned_with_its_code_and_refused_with_it(base: Graph, code: str) -> None:
    desired = UNSUPPORTED[code](BASE)
    assert desired != BASE
    files = {path for path in harbor.files_of(base) if not path.startswith("__locks/")}

    with pytest.raises(UnsupportedSchemaChange) as refusal:
        base.apply_schema(desired)

    assert refusal.value.details["rule"] == code
    assert str(refusal.value).startswith(f"[{code}] ")
    assert refusal.value.exit_code == 1
    assert {path for path in harbor.files_of(base) if not path.startswith("__locks/")} == files
    assert base.snapshot().graph_version == 1
    if code == "OG-BC-101":
        with pytest.raises(UnsupportedSchemaChange):
            base.plan_schema(desired)
        return
    plan = base.plan_schema(desired)
    assert not plan.supported
    assert code in {step.code for step in plan.steps if isinstance(step, UnsupportedChange)}


def test_a_text_that_does_not_compile_is_refused_with_its_place(base: Graph) -> None:
    for change in (base.plan_schema, base.apply_schema):
        with pytest.raises(ParseError, match=r"new\.pg:1:"):
            change("node Job { size: I33 }", schema_source="new.pg")


def test_a_node_type_that_an_edge_needs_cannot_be_dropped(base: Graph) -> None:
    with pytest.raises(ParseError, match="Town"):
        base.plan_schema(BASE.replace("node Town { code: String @key  size: I64? }", ""))


MORE = harbor.SCHEMA.replace("node Note { text: String }", "node Note { text: String  day: Date? }")


def test_other_branches_are_named_and_nothing_changes(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    graph.branches.create("audit")

    with pytest.raises(SchemaApplyBlocked, match="OG-NL-101") as refusal:
        graph.apply_schema(MORE)

    assert refusal.value.details["branches"] == ["audit", "review"]
    assert refusal.value.exit_code == 5
    assert graph.plan_schema(MORE).supported
    assert graph.schema_source == harbor.SCHEMA
    for name in ("audit", "review"):
        graph.branches.delete(name)
    assert graph.apply_schema(MORE).applied


def test_a_branch_that_is_created_after_the_first_look_still_blocks(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look happens under the gate of `main`, which every creation of a branch needs."""
    graph, other = harbor.new_graph(local_root), omnigraph.open(local_root)
    prepare = omnigraph.evolution.writer.SchemaWriter.prepare

    def prepare_late(*arguments: object) -> object:
        prepared = prepare(*arguments)
        # Another process's creation: it does not pass the gates of this one.
        from omnigraph.storage.refs import create_ref

        create_ref(other._context.store.tables, other._context.manifest.load("main").table, "review")
        return prepared

    monkeypatch.setattr(omnigraph.evolution.writer.SchemaWriter, "prepare", prepare_late)

    with pytest.raises(SchemaApplyBlocked, match="review"):
        graph.apply_schema(MORE)

    assert harbor.pending(graph) == []
    assert graph.schema_source == harbor.SCHEMA


def test_an_edited_copy_of_the_schema_is_reported_kept_and_blocks_until_it_is_decided(local_root: str) -> None:
    harbor.new_graph(local_root)
    copy = Path(local_root, "_schema.pg")
    copy.write_text(MORE)
    warnings: list[str] = []

    opened = omnigraph.open(local_root, events=lambda event: warnings.append(event.message))
    plan = opened.plan_schema(harbor.SCHEMA.replace("tons: F64?", ""))
    with pytest.raises(SchemaDrift, match=r"_schema\.pg") as refusal:
        opened.apply_schema(harbor.SCHEMA.replace("tons: F64?", ""))

    assert "_schema.pg" in warnings[0]
    assert "_schema.pg" in plan.warnings[0]
    assert refusal.value.exit_code == 5
    assert copy.read_text() == MORE
    assert opened.schema_source == harbor.SCHEMA
    assert opened.apply_schema(MORE).applied
    assert opened.plan_schema(MORE).warnings == ()


def test_a_copy_that_is_only_stale_or_missing_is_no_edit(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph.apply_schema(MORE)
    copy = Path(local_root, "_schema.pg")
    copy.write_text(harbor.SCHEMA)
    assert graph.plan_schema(MORE).warnings == ()
    copy.unlink()

    assert graph.apply_schema(harbor.SCHEMA).applied
    assert copy.read_text() == harbor.SCHEMA


def test_a_read_only_graph_plans_but_does_not_apply(local_root: str) -> None:
    harbor.new_graph(local_root)
    graph = omnigraph.open(local_root, read_only=True)

    assert graph.plan_schema(MORE).supported
    with pytest.raises(InvalidTarget):
        graph.apply_schema(MORE)


def test_a_graph_of_a_cluster_is_changed_by_the_cluster_only(tmp_path: Path) -> None:
    uri = str(tmp_path / "graphs" / "harbor.omni")
    graph = harbor.new_graph(uri)
    Path(tmp_path, "__cluster").mkdir()
    Path(tmp_path, "__cluster", "state.json").write_text('{"version": 1, "applied_revision": {"resources": {}}}')

    with pytest.raises(ClusterManaged, match="cluster apply") as refusal:
        graph.apply_schema(MORE)

    assert uri in str(refusal.value)
    assert str(tmp_path) == refusal.value.details["root"]
    assert refusal.value.exit_code == 1
    assert graph.schema_source == harbor.SCHEMA


def test_a_blocked_operation_stops_a_schema_change(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    graph._context.store.objects.create("__recovery/01J00000000000000000000000.json", b"not a sidecar")

    with pytest.raises(RecoveryRequired, match="01J00000000000000000000000"):
        graph.apply_schema(MORE)

    assert graph.schema_source == harbor.SCHEMA


def test_drift_on_a_table_that_would_change_is_refused_and_elsewhere_it_does_not_matter(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    foreign_append(graph, "Ship", id="Z", hull="Z", title="drifted")

    with pytest.raises(omnigraph.errors.DriftNeedsRepair):
        graph.apply_schema(harbor.SCHEMA.replace("tons: F64?", ""))

    assert harbor.pending(graph) == []
    assert graph.apply_schema(MORE).applied


def test_a_hard_drop_removes_the_versions_that_hold_the_data_and_no_others(store_root: str) -> None:
    graph = harbor.new_graph(store_root)
    without_tons = harbor.SCHEMA.replace("tons: F64?", "")
    graph.apply_schema(without_tons)
    graph.load(harbor.lines([harbor.ship("S3")]), mode="append")
    kept = graph.snapshot().graph_version
    notes = graph.snapshot().table("Note").pin.location
    assert graph._context.store.objects.list(f"{notes}/") != ()
    graph.apply_schema(without_tons.replace("title: String @index", "title: String @index  draft: F64? @default(2.0)"))

    result = graph.apply_schema(
        without_tons.replace("node Note { text: String }", "").replace("age: I32?", ""), allow_data_loss=True
    )

    assert [step.mode for step in result.steps] == ["hard", "hard", "hard"]
    for version, gone in ((2, "Sailor"), (2, "Note"), (kept + 1, "Ship")):
        with pytest.raises(HistoricalVersionReclaimed):
            graph.snapshot(version=version).table(gone).to_arrow()
    # `tons` was dropped softly and `draft` came later: what never held the lost data is still there.
    assert graph.snapshot(version=2).table("Ship").to_arrow()["tons"].null_count == 1
    assert graph.snapshot(version=kept).table("Ship").count_rows() == 3
    assert graph.snapshot(version=2).table("Mentors").count_rows() == 2
    assert graph._context.store.objects.list(f"{notes}/") == ()
    assert harbor.pins_equal_heads(graph)
    with graph.write() as batch:
        batch.update("Sailor", {"rank": "mate"}, ids=["Ana"])


def test_system_actors_are_refused_before_anything_is_looked_at(base: Graph) -> None:
    with pytest.raises(OmniError, match="omnigraph:"):
        base.apply_schema(BASE + "node More {}", actor="omnigraph:recovery")
    assert base.snapshot().graph_version == 1
