"""Every supported step, from plan to commit: what is read now, what is read of the past, and what can be written."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.catalog.arrow import table_schema
from omnigraph.errors import ConstraintViolation, EntityNotFound, InvalidRecord
from omnigraph.graph import Graph
from support import harbor

Rows = list[dict[str, Any]]

FIRST = """
node Job {
    slug: String @key
    state: enum(done, new, run)
    note: String?
    size: I64? @index
    tags: [String]?
    face: Vector(2)?
    body: Blob?
}
node Team { name: String @key }
edge Owns: Team -> Job { since: Date? }
"""
JOBS = [
    {"type": "Job", "data": {"slug": "a", "state": "new", "note": "x", "size": 1, "tags": ["t"], "face": [1, 2]}},
    {"type": "Job", "data": {"slug": "b", "state": "done", "body": "base64:aGk="}},
    {"type": "Job", "data": {"slug": "c", "state": "run", "size": 3}},
    {"type": "Team", "data": {"name": "north"}},
    {"edge": "Owns", "from": "north", "to": "a", "data": {"id": "o1", "since": "2020-01-02"}},
]


@pytest.fixture
def graph(local_root: str) -> Graph:
    """Three jobs in two fragments, one of them rewritten, so that there is a deletion file as well."""
    graph = omnigraph.init(local_root, FIRST)
    graph.load(harbor.lines(JOBS), mode="append")
    with graph.write() as batch:
        batch.update("Job", {"note": "y"}, ids=["c"])
    return graph


def rows(graph: Graph, name: str, *, version: int | None = None) -> Rows:
    return sorted(graph.snapshot(version=version).table(name).to_arrow().to_pylist(), key=lambda row: row["id"])


def apply(graph: Graph, desired: str, kinds: list[str]) -> int:
    """Plan and apply; check that both say the same, that one commit was made and that tables fit the schema."""
    from omnigraph.catalog.migration import step_document

    before = graph.snapshot().graph_version
    plan = graph.plan_schema(desired)
    assert plan.supported
    assert [step_document(step)["kind"] for step in plan.steps] == kinds
    assert graph.snapshot().graph_version == before

    result = graph.apply_schema(desired, actor="ana")

    assert result.steps == plan.steps
    assert result.commit is not None
    assert (result.commit.kind, result.commit.actor_id) == ("schema_apply", "ana")
    assert result.graph_version == graph.snapshot().graph_version == before + 1
    assert graph.schema_source == desired
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    for pin in graph.snapshot().tables:
        table = graph.snapshot().table(pin.table_key)
        assert column_facts(table.schema) == column_facts(table_schema(table.entity)), pin.table_key
    return before


def column_facts(schema: pa.Schema) -> list[tuple[Any, ...]]:
    """What a column is, blobs apart: Lance returns them as its own type."""
    return [
        (field.name, None if _is_blob(field) else field.type, field.nullable, _property_id(field), _is_key(field))
        for field in schema
    ]


def _is_blob(field: pa.Field) -> bool:
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return "lance.blob.v2" in (name, getattr(field.type, "extension_name", None))


def _property_id(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(b"omnigraph:property_id")


def _is_key(field: pa.Field) -> bool:
    return b"lance-schema:unenforced-primary-key" in (field.metadata or {})


def write_everywhere(graph: Graph, node: str, values: dict[str, Any]) -> None:
    """Append, merge, update and overwrite: every way in which a table is written goes through the new schema."""
    added = {"slug": "new", **values}
    graph.load(harbor.lines([{"type": node, "data": added}]), mode="append")
    graph.load(harbor.lines([{"type": node, "data": {**added, "slug": "a"}}]), mode="merge")
    with graph.write() as batch:
        batch.update(node, values, ids=["b"])
    expected = {row["id"]: row for row in rows(graph, node)}
    for slug in ("new", "a", "b"):
        assert {name: expected[slug][name] for name in values} == values
    graph.load(
        harbor.lines([{"type": node, "data": {"slug": slug, **values}} for slug in ("a", "z")]), mode="overwrite"
    )
    assert [row["id"] for row in rows(graph, node)] == ["a", "z"]
    assert all({name: row[name] for name in values} == values for row in rows(graph, node))


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of `FIRST`, the steps it takes, and what it does to the rows of `Job`."""

    change: Callable[[str], str]
    kinds: list[str]
    becomes: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: row
    node: str = "Job"
    writes: dict[str, Any]


def _adds(declaration: str) -> Callable[[str], str]:
    return lambda text: text.replace("note: String?", f"note: String?  {declaration}")


def _renamed(row: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in row.items()}


STEPS = {
    "add_nullable": Step(
        change=_adds("cost: F64?"),
        kinds=["add_property"],
        becomes=lambda row: {**row, "cost": None},
        writes={"state": "new", "cost": 1.5},
    ),
    "add_default": Step(
        change=_adds("cost: F64 @default(0.5)"),
        kinds=["add_property"],
        becomes=lambda row: {**row, "cost": 0.5},
        writes={"state": "new", "cost": 1.5},
    ),
    "add_defaults_of_many_types": Step(
        change=_adds(
            'a1: String @default("d") a2: Bool @default(true) a3: U64? @default(7) a4: Date @default("2020-02-03") '
            'a5: DateTime @default("2020-02-03T04:05:06Z") a6: enum(p, q) @default(q)'
        ),
        kinds=["add_property"] * 6,
        becomes=lambda row: {
            **row,
            "a1": "d",
            "a2": True,
            "a3": 7,
            "a4": dt.date(2020, 2, 3),
            "a5": dt.datetime(2020, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
            "a6": "q",
        },
        writes={"state": "new", "a1": "e", "a2": False, "a3": 8, "a6": "p"},
    ),
    "add_nested": Step(
        change=_adds("l: [I32]?  v: Vector(3)?  b: Blob?"),
        kinds=["add_property"] * 3,
        becomes=lambda row: {**row, "l": None, "v": None, "b": None},
        writes={"state": "new", "l": [1, 2], "v": [1.0, 2.0, 3.0]},
    ),
    "rename_property": Step(
        change=lambda text: text.replace("state: enum", "phase: enum").replace("run)", 'run) @rename_from("state")'),
        kinds=["rename_property"],
        becomes=lambda row: _renamed(row, "state", "phase"),
        writes={"phase": "new"},
    ),
    "rename_key": Step(
        change=lambda text: text.replace("slug: String @key", 'slag: String @key @rename_from("slug")'),
        kinds=["rename_property"],
        becomes=lambda row: _renamed(row, "slug", "slag"),
        writes={},
    ),
    "rename_type": Step(
        change=lambda text: text.replace("node Job", 'node Task @rename_from("Job")').replace("-> Job", "-> Task"),
        kinds=["rename_type"],
        node="Task",
        writes={"state": "new", "note": "n"},
    ),
    "extend_enum": Step(
        change=lambda text: text.replace("run)", "run, held)"),
        kinds=["extend_enum"],
        writes={"state": "held"},
    ),
    "add_index": Step(
        change=lambda text: text.replace("note: String?", "note: String? @index"),
        kinds=["add_constraint"],
        writes={"state": "new", "note": "n"},
    ),
    "describe": Step(
        change=lambda text: text.replace("node Job", 'node Job @description("work")').replace(
            "note: String?", 'note: String? @description("free") @default("none")'
        ),
        kinds=["update_type_metadata", "update_property_metadata"],
        writes={"state": "new"},
    ),
    "drop_property": Step(
        change=lambda text: text.replace("note: String?", ""),
        kinds=["drop_property"],
        becomes=lambda row: {name: value for name, value in row.items() if name != "note"},
        writes={"state": "new"},
    ),
    "drop_nested": Step(
        change=lambda text: (
            text.replace("tags: [String]?", "").replace("face: Vector(2)?", "").replace("body: Blob?", "")
        ),
        kinds=["drop_property"] * 3,
        becomes=lambda row: {name: row[name] for name in ("id", "slug", "state", "note", "size")},
        writes={"state": "new"},
    ),
    "all_at_once": Step(
        change=lambda text: (
            text.replace("node Job", 'node Task @rename_from("Job")')
            .replace("-> Job", "-> Task")
            .replace("note: String?", 'memo: String? @rename_from("note")  cost: I32 @default(4)')
            .replace("size: I64? @index", "")
            .replace("run)", "run, held)")
        ),
        kinds=["rename_type", "add_property", "rename_property", "extend_enum", "drop_property"],
        becomes=lambda row: (
            {name: value for name, value in _renamed(row, "note", "memo").items() if name != "size"} | {"cost": 4}
        ),
        node="Task",
        writes={"state": "held", "memo": "m", "cost": 5},
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_keeps_the_data_the_past_and_every_way_of_writing(graph: Graph, name: str) -> None:
    step = STEPS[name]
    then = rows(graph, "Job")
    row_ids = graph.snapshot().table("Job").scanner(with_row_id=True, columns=["id"]).to_table().to_pylist()

    before = apply(graph, step.change(FIRST), step.kinds)

    assert rows(graph, step.node) == [step.becomes(row) for row in then]
    assert graph.snapshot().table(step.node).scanner(with_row_id=True, columns=["id"]).to_table().to_pylist() == row_ids
    assert rows(graph, "Owns") == rows(graph, "Owns", version=before)
    if step.writes:
        write_everywhere(graph, step.node, step.writes)
    assert rows(graph, "Job", version=before) == then
    assert graph.snapshot(version=before).schema_source == FIRST


def test_an_index_on_a_renamed_column_still_serves_it_and_that_of_a_dropped_one_is_gone(graph: Graph) -> None:
    pin = next(pin for pin in graph.snapshot().tables if pin.table_key == "node:Job")
    dataset = graph._context.store.tables.open(pin.address, pin.version).dataset
    dataset.create_scalar_index("size", "BTREE")
    dataset.create_scalar_index("note", "BTREE")
    adopt_heads(graph)

    graph.apply_schema(
        FIRST.replace("size: I64? @index", 'bulk: I64? @index @rename_from("size")').replace("note: String?", "")
    )

    scanner = graph.snapshot().table("Job").scanner(filter="bulk = 3")
    assert "ScalarIndexQuery" in scanner.explain_plan()
    assert scanner.to_table()["id"].to_pylist() == ["c"]
    indexes = graph.snapshot().table("Job")._table.dataset.describe_indices()
    assert [index.name for index in indexes] == ["size_idx"]


def adopt_heads(graph: Graph) -> None:
    """Publish what was done to tables behind the graph's back, as maintenance would."""
    from omnigraph.base import clock, ids
    from omnigraph.manifest.commits import Commit, CommitId, CommitKind
    from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions

    context = graph._context
    moves = tuple(
        PinMove.to(head, table_key=pin.table_key, identity=pin.identity, transaction_uuid=None)
        for pin in graph.snapshot().tables
        if (head := context.store.tables.head(pin.address)).version > pin.version
    )
    commit = Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=CommitKind.MAINTENANCE,
        actor_id=None,
        created_at_us=clock.now_us(),
    )
    context.publisher.publish(
        "main", ManifestChanges(pins=moves), commit, Preconditions(incarnation="main", exact_head=None, ir_hash=None)
    )


def test_a_name_that_a_rename_gave_up_can_be_taken_by_a_new_column(graph: Graph) -> None:
    graph.apply_schema(FIRST.replace("note: String?", 'memo: String? @rename_from("note")'))

    graph.apply_schema(FIRST.replace("note: String?", "memo: String?  note: I32 @default(9)"))

    assert [(row["memo"], row["note"]) for row in rows(graph, "Job")] == [("x", 9), (None, 9), ("y", 9)]


def test_a_dropped_property_that_comes_back_is_another_one(graph: Graph) -> None:
    before = graph.snapshot().graph_version
    graph.apply_schema(FIRST.replace("note: String?", ""))

    graph.apply_schema(FIRST)

    assert [row["note"] for row in rows(graph, "Job")] == [None, None, None]
    assert [row["note"] for row in rows(graph, "Job", version=before)] == ["x", None, "y"]
    old, new = (graph.snapshot(version=at).catalog.node_by_name["Job"] for at in (before, None))
    assert old.property_by_name["note"].property_id != new.property_by_name["note"].property_id


def test_types_are_added_used_dropped_and_added_again_as_others(graph: Graph) -> None:
    with_site = FIRST + "node Site { code: String @key }\nedge At: Job -> Site\n"
    apply(graph, with_site, ["add_type", "add_type"])
    graph.load(
        harbor.lines([{"type": "Site", "data": {"code": "s"}}, {"edge": "At", "from": "a", "to": "s", "data": {}}]),
        mode="append",
    )
    used = graph.snapshot().graph_version
    with pytest.raises(ConstraintViolation):
        graph.load(harbor.lines([{"edge": "At", "from": "a", "to": "nowhere", "data": {}}]), mode="append")

    apply(graph, FIRST, ["drop_type", "drop_type"])

    with pytest.raises(EntityNotFound):
        graph.snapshot().table("Site")
    assert [row["code"] for row in rows(graph, "Site", version=used)] == ["s"]
    apply(graph, with_site, ["add_type", "add_type"])
    assert (rows(graph, "Site"), rows(graph, "At")) == ([], [])
    first, again = (graph.snapshot(version=at).table("Site").pin for at in (used, None))
    assert first.identity != again.identity
    assert first.location != again.location
    assert len(rows(graph, "At", version=used)) == 1


def test_a_renamed_type_is_found_under_its_present_name_in_the_past_and_a_new_bearer_of_the_old_name_is_not(
    graph: Graph,
) -> None:
    before = graph.snapshot().graph_version
    task = FIRST.replace("node Job", 'node Task @rename_from("Job")').replace("-> Job", "-> Task")
    graph.apply_schema(task)
    graph.apply_schema(task + "node Job { slug: String @key }\n")
    past = graph.snapshot(version=before)

    assert past.table("Task").to_arrow().num_rows == past.table("Job").to_arrow().num_rows == 3
    assert graph.snapshot().table("Job").to_arrow().num_rows == 0
    between = graph.snapshot(version=before + 1)
    with pytest.raises(EntityNotFound):
        between.table("Job")


def test_an_empty_graph_changes_like_any_other(local_root: str) -> None:
    graph = omnigraph.init(local_root, FIRST)

    graph.apply_schema(FIRST.replace("note: String?", "cost: F64 @default(1.0)  extra: String?"))

    assert rows(graph, "Job") == []
    graph.load(harbor.lines([{"type": "Job", "data": {"slug": "a", "state": "new"}}]), mode="append")
    assert rows(graph, "Job")[0]["cost"] == 1.0


def test_a_schema_that_differs_in_comments_only_is_no_change(graph: Graph) -> None:
    before = harbor.files_of(graph)

    result = graph.apply_schema("// a comment\n" + FIRST)

    assert (result.applied, result.commit, result.steps) == (False, None, ())
    assert graph.schema_source == FIRST
    changed = {path for path in harbor.files_of(graph) if path not in before}
    assert changed <= {"__locks/schema.json"}


def test_a_plan_writes_nothing(local_root: str, graph: Graph) -> None:
    before = harbor.files_of(graph)

    omnigraph.open(local_root, read_only=True).plan_schema(FIRST.replace("note: String?", ""))

    assert harbor.files_of(graph) == before


def test_values_that_the_new_schema_forbids_are_refused_and_those_it_allows_are_not(graph: Graph) -> None:
    held = [{"type": "Job", "data": {"slug": "h", "state": "held"}}]
    with pytest.raises(InvalidRecord):
        graph.load(harbor.lines(held), mode="append")

    graph.apply_schema(FIRST.replace("run)", "run, held)"))

    graph.load(harbor.lines(held), mode="append")
    assert rows(graph, "Job")[-1]["state"] == "held"


def test_a_table_with_stored_auto_cleanup_is_stripped_before_its_columns_change(graph: Graph) -> None:
    pin = next(pin for pin in graph.snapshot().tables if pin.table_key == "node:Job")
    dataset = graph._context.store.tables.open(pin.address, pin.version).dataset
    dataset.update_config({"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"})
    adopt_heads(graph)
    before = graph.snapshot().graph_version

    graph.apply_schema(FIRST.replace("note: String?", ""))

    assert len(rows(graph, "Job", version=before)) == 3
    assert graph.snapshot().table("Job")._table.auto_cleanup_keys() == ()


@pytest.mark.parametrize("mode", ["merge", "overwrite"])
def test_the_first_write_of_a_branch_fits_a_table_whose_columns_came_and_went(graph: Graph, mode: str) -> None:
    """Files of a branch's first write are made before its table exists, so their columns are numbered by hand."""
    graph.apply_schema(STEPS["all_at_once"].change(FIRST))
    on_main = rows(graph, "Task")
    graph.branches.create("review")
    written = {"slug": "a", "state": "held", "memo": "m", "cost": 5, "tags": ["u", "v"], "face": [3, 4]}

    graph.load(harbor.lines([{"type": "Task", "data": written}]), mode=mode, branch="review")

    on_review = {row["id"]: row for row in graph.snapshot("review").table("Task").to_arrow().to_pylist()}
    assert {name: on_review["a"][name] for name in written} == written
    assert set(on_review) == ({"a", "b", "c"} if mode == "merge" else {"a"})
    if mode == "merge":
        assert [on_review[row["id"]] for row in on_main[1:]] == on_main[1:]
    assert rows(graph, "Task") == on_main


def test_data_given_up_for_good_goes_from_all_versions_but_those_that_somebody_has_tagged(graph: Graph) -> None:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Job")
    raw = graph._context.store.tables.fresh_head(pin.address).dataset
    raw.tags.create("audit", pin.version - 1)

    graph.apply_schema(FIRST.replace("    note: String?\n", ""), allow_data_loss=True)

    kept = {entry["version"] for entry in graph._context.store.tables.fresh_head(pin.address).dataset.versions()}
    assert {version for version in kept if version <= pin.version} == {pin.version - 1}
    assert "note" not in rows(graph, "Job")[0]
    assert harbor.pending(graph) == []
