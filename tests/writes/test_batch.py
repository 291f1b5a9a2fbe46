"""`graph.write`: statements that become one commit, in order, or nothing."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.base import faults
from omnigraph.errors import (
    ConstraintViolation,
    EntityNotFound,
    InvalidRecord,
    InvalidTarget,
    KeyConflict,
    PreconditionFailed,
    StaleView,
)
from omnigraph.graph import Graph
from omnigraph.writes.batch import WriteBatch, WriteResult
from support import harbor
from support.graphs import column, edge, graph_of, load, node, refusal, rows

PORT = """
node Sailor { name: String @key  rank: enum(captain, mate) @default(mate)  age: I32?  badge: String? @unique }
node Ship { hull: String @key  title: String }
node Log { text: String?  at: DateTime?  day: Date?  size: F64?  small: F32?  big: U64?  low: I64?  done: Bool?
           tags: [String]?  photo: Blob?  fromName: String?  select: String?  order: I32? }
edge Mentors: Sailor -> Sailor { since: Date?  weight: F64? }
edge ServesOn: Sailor -> Ship @card(0..1)
"""
CREW = [
    node("Sailor", name="Ana", rank="captain", age=50, badge="b1"),
    node("Sailor", name="Bo", age=34),
    node("Sailor", name="Cy"),
    node("Ship", hull="S1", title="Star"),
    edge("Mentors", "Ana", "Bo", id="m1", since="2019-03-01"),
    edge("Mentors", "Bo", "Cy", id="m2"),
    edge("Mentors", "Ana", "Ana", id="m3"),
    edge("ServesOn", "Ana", "S1", id="s1"),
]


@pytest.fixture
def port(local_root: str) -> Graph:
    return graph_of(local_root, PORT, *CREW)


def write(graph: Graph, statements: Callable[[WriteBatch], object], **options: Any) -> WriteResult:
    with graph.write(**options) as batch:
        statements(batch)
    return batch.result


@contextmanager
def once_at(point: str, action: Callable[[], object]) -> Iterator[list[str]]:
    """Do something the first time the write protocol passes a point; yields the points passed."""
    passed: list[str] = []

    def reach(name: str) -> None:
        passed.append(name)
        if name == point and passed.count(name) == 1:
            action()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "reach", reach)
        yield passed


# --- the four verbs


def test_an_insert_adds_entities_with_defaults_and_derived_ids(port: Graph) -> None:
    result = write(port, lambda batch: batch.insert("Sailor", [{"name": "Di"}]), actor="act-di")

    assert rows(port, "Sailor")["Di"] == {"name": "Di", "rank": "mate", "age": None, "badge": None}
    assert (result.affected_nodes, result.affected_edges, result.actor_id) == (1, 0, "act-di")
    assert result.commit is not None
    assert (result.commit.kind, result.commit.actor_id) == ("mutation", "act-di")
    assert port.snapshot().commit_id == result.commit.graph_commit_id


def test_an_insert_of_an_existing_id_is_a_conflict_and_never_an_update(port: Graph) -> None:
    error = refusal(port, lambda: write(port, lambda batch: batch.insert("Sailor", [{"name": "Ana"}])))

    assert isinstance(error, KeyConflict)
    assert error.exit_code == 5
    assert (error.details["table_key"], error.details["row_id"]) == ("node:Sailor", "Ana")
    assert column(port, "Sailor", "age")["Ana"] == 50


def test_an_upsert_replaces_whole_entities(port: Graph) -> None:
    write(port, lambda batch: batch.upsert("Sailor", [{"name": "Ana", "age": 51}, {"name": "Di"}]))

    assert rows(port, "Sailor")["Ana"] == {"name": "Ana", "rank": "mate", "age": 51, "badge": None}
    assert "Di" in rows(port, "Sailor")


def test_an_update_changes_what_it_names_and_nothing_else(port: Graph) -> None:
    result = write(port, lambda batch: batch.update("Sailor", {"age": 51}, ids=["Ana", "Nobody", "Ana"]))

    assert rows(port, "Sailor")["Ana"] == {"name": "Ana", "rank": "captain", "age": 51, "badge": "b1"}
    assert result.affected_nodes == 1


def test_an_update_of_edges_keeps_their_endpoints(port: Graph) -> None:
    result = write(port, lambda batch: batch.update("Mentors", {"weight": 0.5}, where=[("from", "=", "Ana")]))

    assert column(port, "Mentors", "weight") == {"m1": 0.5, "m2": None, "m3": 0.5}
    assert rows(port, "Mentors")["m1"]["since"] == date(2019, 3, 1)
    assert (result.affected_nodes, result.affected_edges) == (0, 2)


def test_a_deleted_node_takes_its_edges_along_once(port: Graph) -> None:
    result = write(port, lambda batch: batch.delete("Sailor", ids=["Ana"]))

    assert set(rows(port, "Sailor")) == {"Bo", "Cy"}
    assert set(rows(port, "Mentors")) == {"m2"}
    assert rows(port, "ServesOn") == {}
    assert (result.affected_nodes, result.affected_edges) == (1, 3)


def test_a_deleted_edge_leaves_its_nodes(port: Graph) -> None:
    write(port, lambda batch: batch.delete("Mentors", where=[("to", "=", "Ana"), ("from", "=", "Ana")]))

    assert set(rows(port, "Mentors")) == {"m1", "m2"}
    assert len(rows(port, "Sailor")) == 3


def test_an_arrow_table_is_as_good_as_rows(port: Graph) -> None:
    table = pa.table({"name": ["Di", "Ed"], "age": pa.array([1, None], pa.int32())})

    write(port, lambda batch: batch.insert("Sailor", table).insert("Sailor", table.slice(0, 0)))

    assert column(port, "Sailor", "age") == {"Ana": 50, "Bo": 34, "Cy": None, "Di": 1, "Ed": None}


# --- nothing to do, and nothing done


@pytest.mark.parametrize(
    "statements",
    [
        lambda batch: batch,
        lambda batch: batch.insert("Sailor", []).upsert("Mentors", []),
        lambda batch: batch.update("Sailor", {"age": 50}, ids=["Ana"]),
        lambda batch: batch.update("Sailor", {"age": 1}, ids=["Nobody"]),
        lambda batch: batch.update("Sailor", {"age": 1}, where=[("age", ">", 1000)]),
        lambda batch: batch.delete("Sailor", ids=[]),
        lambda batch: batch.delete("Ship", where=[("title", "=", "none")]),
        lambda batch: batch.upsert("Sailor", [{"name": "Bo", "age": 34}]),
        lambda batch: batch.insert("Sailor", [{"name": "Di"}]).delete("Sailor", ids=["Di"]),
        lambda batch: batch.update("Sailor", {"age": 1}, ids=["Ana"]).update("Sailor", {"age": 50}, ids=["Ana"]),
    ],
    ids=["empty", "no rows", "same", "nobody", "no match", "no ids", "no hit", "equal upsert", "undone", "set back"],
)
def test_a_batch_without_effect_makes_no_commit_and_moves_no_table(
    port: Graph, statements: Callable[[WriteBatch], object]
) -> None:
    before = harbor.files_of(port)

    result = write(port, statements)

    assert result.commit is None
    assert port.pending_operations() == []
    moved = [path for path in harbor.files_of(port) if path not in before and "/_versions/" in path]
    assert moved == []


def test_an_exception_inside_the_block_discards_everything(port: Graph) -> None:
    before = harbor.content(port)

    def fail() -> None:
        with port.write() as batch:
            batch.insert("Sailor", [{"name": "Di"}])
            raise LookupError("on purpose")

    with pytest.raises(LookupError):
        fail()

    assert harbor.content(port) == before
    assert port.snapshot().graph_version == 2


def test_the_result_is_known_only_after_the_block(port: Graph) -> None:
    with port.write() as batch, pytest.raises(InvalidTarget):
        _ = batch.result


def test_a_read_only_graph_refuses_writes_and_loads(port: Graph) -> None:
    shown = omnigraph.open(port.uri, read_only=True)

    for attempt in (shown.write, lambda: shown.load(io.BytesIO(b""), mode="merge"), shown.recover):
        with pytest.raises(InvalidTarget, match="read-only"):
            attempt()

    assert shown.snapshot().graph_version == 2


# --- order


def test_each_statement_sees_what_the_ones_before_it_did(port: Graph) -> None:
    def statements(batch: WriteBatch) -> None:
        batch.insert("Sailor", [{"name": "Di", "age": 20}])
        batch.update("Sailor", {"age": 21}, where=[("age", "=", 20)])
        batch.update("Sailor", {"age": 22}, where=[("age", "=", 21)])
        batch.upsert("Sailor", [{"name": "Bo", "age": 22}])
        batch.update("Sailor", {"badge": "x"}, where=[("age", "=", 22), ("name", "!=", "Di")])
        batch.update("Sailor", {"badge": "y"}, where=[("age", "=", 34)])
        batch.insert("Mentors", [{"id": "n1", "from": "Di", "to": "Cy"}])
        batch.delete("Sailor", where=[("name", "=", "Cy")])

    result = write(port, statements)

    assert column(port, "Sailor", "age") == {"Ana": 50, "Bo": 22, "Di": 22}
    assert column(port, "Sailor", "badge") == {"Ana": "b1", "Bo": "x", "Di": None}
    assert set(rows(port, "Mentors")) == {"m1", "m3"}
    assert (result.affected_nodes, result.affected_edges) == (6, 3)


def test_a_deleted_entity_can_come_back_without_its_edges(port: Graph) -> None:
    write(port, lambda batch: batch.delete("Sailor", ids=["Bo"]).insert("Sailor", [{"name": "Bo", "age": 1}]))

    assert column(port, "Sailor", "age")["Bo"] == 1
    assert set(rows(port, "Mentors")) == {"m3"}


def test_an_entity_inserted_and_deleted_in_one_batch_is_gone(port: Graph) -> None:
    def statements(batch: WriteBatch) -> None:
        batch.insert("Ship", [{"hull": "S2", "title": "t"}, {"hull": "S3", "title": "t"}])
        batch.insert("ServesOn", [{"id": "s2", "from": "Bo", "to": "S2"}])
        batch.delete("Ship", ids=["S2"])

    write(port, statements)

    assert set(rows(port, "Ship")) == {"S1", "S3"}
    assert set(rows(port, "ServesOn")) == {"s1"}


def test_inserting_twice_is_a_conflict_and_repeating_within_a_statement_a_violation(port: Graph) -> None:
    twice = refusal(port, lambda: write(port, lambda batch: batch.insert("Ship", [SHIP]).insert("Ship", [SHIP])))
    repeated = refusal(port, lambda: write(port, lambda batch: batch.upsert("Ship", [SHIP, SHIP])))

    assert isinstance(twice, KeyConflict)
    assert isinstance(repeated, ConstraintViolation)
    assert (repeated.details["rule"], repeated.details["row_id"]) == ("duplicate_id", "S9")


SHIP = {"hull": "S9", "title": "t"}


def test_the_last_of_two_upserts_of_one_id_wins(port: Graph) -> None:
    write(port, lambda batch: batch.upsert("Ship", [SHIP]).upsert("Ship", [{**SHIP, "title": "last"}]))

    assert column(port, "Ship", "title")["S9"] == "last"


# --- what is refused


@pytest.mark.parametrize(
    ("type_name", "values", "named"),
    [
        ("Sailor", {"name": "X"}, "Sailor.name"),
        ("Sailor", {"name": "Ana"}, "Sailor.name"),
        ("Sailor", {"id": "X", "age": 1}, "Sailor.id"),
        ("Log", {"id": "X"}, "Log.id"),
        ("Mentors", {"from": "Bo"}, "Mentors.from"),
        ("Mentors", {"dst": "Bo"}, "Mentors.dst"),
        ("Mentors", {"id": "m9"}, "Mentors.id"),
    ],
)
def test_what_an_entity_is_known_by_cannot_be_updated(
    port: Graph, type_name: str, values: dict[str, str], named: str
) -> None:
    error = refusal(port, lambda: write(port, lambda batch: batch.update(type_name, values, ids=["Ana", "m1"])))

    assert isinstance(error, InvalidTarget)
    assert named in str(error)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"rank": "cook"}, "invalid_enum"),
        ({"rank": None}, "missing_required"),
        ({"age": "old"}, "wrong_type"),
        ({"age": 2**31}, "out_of_range"),
        ({"nick": "A"}, "unknown_property"),
        ({"badge": "\ud800"}, "invalid_utf8"),
    ],
)
def test_values_pass_the_checks_of_a_load(port: Graph, values: dict[str, Any], code: str) -> None:
    update = refusal(port, lambda: write(port, lambda batch: batch.update("Sailor", values, ids=["Ana"])))
    insert = refusal(port, lambda: write(port, lambda batch: batch.insert("Sailor", [{"name": "Di", **values}])))

    for error in (update, insert):
        assert isinstance(error, InvalidRecord)
        assert error.details["by_code"] == {code: 1}


@pytest.mark.parametrize(
    ("arguments", "kind", "named"),
    [
        ({"ids": ["a"], "where": []}, InvalidTarget, "either"),
        ({}, InvalidTarget, "either"),
        ({"where": [("nick", "=", "a")]}, EntityNotFound, "nick"),
        ({"where": [("from", "=", "a")]}, EntityNotFound, "from"),
        ({"where": [("age", "~", 1)]}, InvalidTarget, "~"),
        ({"where": [("age", "<", None)]}, InvalidTarget, "null"),
        ({"where": [("age", "=", "old")]}, InvalidTarget, "Sailor.age expects I32"),
        ({"where": [("age", "<", 2**31)]}, InvalidTarget, "Sailor.age"),
        ({"where": [("name", "=", 1)]}, InvalidTarget, "Sailor.name expects String"),
        ({"where": [("id", "=", 1)]}, InvalidTarget, "Sailor.id"),
    ],
)
def test_a_selection_that_means_nothing_is_refused_by_name(
    port: Graph, arguments: dict[str, Any], kind: type[Exception], named: str
) -> None:
    error = refusal(port, lambda: write(port, lambda batch: batch.delete("Sailor", **arguments)))

    assert isinstance(error, kind)
    assert named in str(error)


@pytest.mark.parametrize("name", ["photo", "tags"])
def test_blobs_and_lists_are_compared_with_null_only(port: Graph, name: str) -> None:
    error = refusal(port, lambda: write(port, lambda batch: batch.delete("Log", where=[(name, "=", "base64:")])))
    write(port, lambda batch: batch.insert("Log", [{"id": "empty"}, {"id": "full", "photo": b"x", "tags": ["t"]}]))

    write(port, lambda batch: batch.delete("Log", where=[(name, "=", None)]))

    assert name in str(error)
    assert list(rows(port, "Log")) == ["full"]


def test_an_unknown_type_is_refused_and_the_known_ones_are_listed(port: Graph) -> None:
    error = refusal(port, lambda: write(port, lambda batch: batch.delete("Ghost", ids=["a"])))

    assert isinstance(error, EntityNotFound)
    assert "'Ghost'" in str(error)
    assert "node:Sailor" in str(error)


# --- comparisons

MOMENT = datetime(2024, 2, 29, 12, 30, 0, 500_000, tzinfo=UTC)
LOGS: list[dict[str, Any]] = [
    {"id": "l0"},
    {"id": "l1", "text": "it's", "at": MOMENT, "day": date(2024, 2, 29), "size": -0.0, "small": 0.1, "order": 1},
    {"id": "l2", "text": 'say "hi" \\ `x` -- ;', "at": MOMENT + timedelta(seconds=1), "size": 1, "order": 2},
    {"id": "l3", "text": "ünïcödé 🚢\n", "day": date(1, 1, 1), "big": 2**64 - 1, "low": -(2**63), "done": True},
    {"id": "l4", "text": "", "day": date(9999, 12, 31), "size": -1.5, "big": 0, "low": 2**63 - 1, "done": False},
    {"id": "l5", "fromName": "x", "select": "y", "order": -3, "size": 1e300, "small": -0.0},
]
COMPARISONS = [
    ([], "012345"),
    ([("id", "=", "l3")], "3"),
    ([("text", "=", "it's")], "1"),
    ([("text", "=", 'say "hi" \\ `x` -- ;')], "2"),
    ([("text", "=", "ünïcödé 🚢\n")], "3"),
    ([("text", "=", "")], "4"),
    ([("text", "=", None)], "05"),
    ([("text", "!=", None)], "1234"),
    ([("text", "!=", "")], "123"),
    ([("text", ">", "j")], "23"),
    ([("at", "=", MOMENT)], "1"),
    ([("at", "=", MOMENT.replace(tzinfo=None))], "1"),
    ([("at", "=", MOMENT.astimezone(timezone(timedelta(hours=5))))], "1"),
    ([("at", "=", "2024-02-29T12:30:00.5Z")], "1"),
    ([("at", ">", MOMENT)], "2"),
    ([("at", ">=", date(2024, 2, 29))], "12"),
    ([("day", "=", date(2024, 2, 29))], "1"),
    ([("day", "=", "2024-02-29")], "1"),
    ([("day", "<=", date(1, 1, 1))], "3"),
    ([("day", ">", date(2024, 2, 29))], "4"),
    ([("size", "=", 0.0)], "1"),
    ([("size", "<", 0)], "4"),
    ([("size", ">=", 0)], "125"),
    ([("size", "=", 1)], "2"),
    ([("size", "=", 1e300)], "5"),
    ([("small", "=", 0.1)], "1"),
    ([("small", "=", 0)], "5"),
    ([("big", "=", 2**64 - 1)], "3"),
    ([("big", ">", 2**63)], "3"),
    ([("low", "=", -(2**63))], "3"),
    ([("low", ">", -(2**63))], "4"),
    ([("done", "=", True)], "3"),
    ([("done", "=", False)], "4"),
    ([("done", "!=", True)], "4"),
    ([("fromName", "=", "x"), ("select", "=", "y")], "5"),
    ([("order", "<", 2), ("order", ">=", -3)], "15"),
    ([("order", "!=", 2)], "15"),
    ([("order", "<=", 1)], "15"),
    ([("text", "=", "'; DROP"), ("order", "=", 1)], ""),
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = graph_of(str(tmp_path_factory.mktemp("logs") / "graph.omni"), PORT)
    write(graph, lambda batch: batch.insert("Log", LOGS))
    return graph


@pytest.mark.parametrize(("where", "expected"), COMPARISONS, ids=lambda value: str(value)[:40])
def test_a_comparison_selects_the_same_stored_pending_and_read_rows(
    logs: Graph, where: list[Any], expected: str
) -> None:
    named = [f"l{digit}" for digit in expected]

    write(logs, lambda batch: batch.upsert("Log", LOGS))
    write(logs, lambda batch: batch.update("Log", {"tags": ["stored"]}, where=where))
    stored = tagged(logs, "stored")
    write(logs, lambda batch: batch.upsert("Log", LOGS).update("Log", {"tags": ["pending"]}, where=where))

    assert stored == named
    assert tagged(logs, "pending") == named
    assert sorted(logs.snapshot().table("Log").to_arrow(["id"], where=where)["id"].to_pylist()) == named


def tagged(graph: Graph, tag: str) -> list[str]:
    return sorted(name for name, tags in column(graph, "Log", "tags").items() if tags == [tag])


# --- every type, byte for byte


def test_values_of_every_type_come_back_as_they_were_given(logs: Graph) -> None:
    stored = rows(logs, "Log")

    for given in LOGS:
        for name, value in given.items():
            if name == "small":
                assert stored[given["id"]][name] == pytest.approx(value, rel=1e-7)
            elif name != "id":
                assert stored[given["id"]][name] == value
    assert str(stored["l1"]["size"]) == "-0.0"


def test_blobs_survive_the_update_of_another_property_byte_for_byte(port: Graph) -> None:
    blobs = {"null": None, "empty": b"", "one": b"\x00", "large": bytes(range(256)) * 400}
    write(port, lambda batch: batch.insert("Log", [{"id": name, "photo": blob} for name, blob in blobs.items()]))

    write(port, lambda batch: batch.update("Log", {"text": "changed"}, where=[]))
    write(port, lambda batch: batch.update("Log", {"tags": ["a", ""]}, ids=list(blobs)))

    assert column(port, "Log", "photo") == blobs
    assert set(column(port, "Log", "text").values()) == {"changed"}


def test_setting_a_property_to_null_and_a_blob_to_empty_are_different(port: Graph) -> None:
    write(port, lambda batch: batch.insert("Log", [{"id": "a", "photo": b"x"}, {"id": "b", "photo": b"x"}]))

    write(port, lambda batch: batch.update("Log", {"photo": None}, ids=["a"]).update("Log", {"photo": b""}, ids=["b"]))

    assert column(port, "Log", "photo") == {"a": None, "b": b""}


# --- other writers


def test_an_expected_head_that_is_not_the_head_stops_the_write_even_without_effect(port: Graph) -> None:
    seen = port.snapshot().commit_id
    load(port, "append", node("Ship", hull="S2", title="t"))

    stale = refusal(port, lambda: write(port, lambda batch: batch.insert("Ship", [SHIP]), expected_head=seen))
    idle = refusal(port, lambda: write(port, lambda batch: batch.delete("Ship", ids=["none"]), expected_head=seen))

    for error in (stale, idle):
        assert isinstance(error, PreconditionFailed)
        assert error.exit_code == 4
        assert error.details == {"expected": seen, "actual": port.snapshot().commit_id}


def test_an_expected_head_that_still_is_the_head_lets_the_write_pass(port: Graph) -> None:
    result = write(port, lambda batch: batch.insert("Ship", [SHIP]), expected_head=port.snapshot().commit_id)

    assert result.commit is not None


STRICT = {
    "update": lambda batch: batch.update("Sailor", {"age": 99}, ids=["Ana"]),
    "delete": lambda batch: batch.delete("Sailor", ids=["Cy"]),
    "upsert": lambda batch: batch.upsert("Sailor", [{"name": "Ana", "age": 99}]),
    "insert and update": lambda batch: batch.insert("Ship", [SHIP]).update("Sailor", {"age": 99}, ids=["Ana"]),
}


@pytest.mark.parametrize("statements", STRICT.values(), ids=STRICT)
@pytest.mark.parametrize("moved", ["Sailor", "Ship"])
def test_a_strict_write_whose_view_moved_fails_and_the_other_writer_stays(
    port: Graph, statements: Callable[[WriteBatch], object], moved: str
) -> None:
    """Also when the other writer touched another table: what a statement meant depends on all that it saw."""
    other = omnigraph.open(port.uri)
    incoming = node("Sailor", name="Zoe") if moved == "Sailor" else node("Ship", hull="Z", title="t")

    with once_at("write.after_stage", lambda: load(other, "append", incoming)), pytest.raises(StaleView) as caught:
        write(port, statements)

    error = caught.value
    assert (error.kind, error.exit_code, error.effect) == ("read_set_conflict", 5, "none")
    assert re.fullmatch("stale view .* refresh and retry", str(error), re.DOTALL)
    assert column(port, "Sailor", "age")["Ana"] == 50
    assert ("Zoe" if moved == "Sailor" else "Z") in rows(port, moved)
    assert port.pending_operations() == []
    assert write(port, statements).commit is not None


def test_inserts_start_over_by_themselves_and_keep_their_generated_ids(port: Graph) -> None:
    other = omnigraph.open(port.uri)
    batch = port.write().insert("Log", [{"text": "mine"}]).insert("Sailor", [{"name": "Di"}])

    with once_at("write.after_stage", lambda: load(other, "append", node("Sailor", name="Zoe"))) as passed:
        batch.commit()

    assert passed.count("write.after_stage") == 3
    assert {"Di", "Zoe"} <= set(rows(port, "Sailor"))
    assert list(column(port, "Log", "text").values()) == ["mine"]


def test_an_insert_that_lost_its_key_to_another_writer_is_a_conflict(port: Graph) -> None:
    other = omnigraph.open(port.uri)

    with (
        once_at("write.after_stage", lambda: load(other, "append", node("Sailor", name="Di", age=1))),
        pytest.raises(KeyConflict),
    ):
        write(port, lambda batch: batch.insert("Sailor", [{"name": "Di", "age": 2}]))

    assert column(port, "Sailor", "age")["Di"] == 1


def test_an_insert_that_lost_its_unique_value_to_another_writer_is_a_violation(port: Graph) -> None:
    other = omnigraph.open(port.uri)

    with (
        once_at("write.after_stage", lambda: load(other, "append", node("Sailor", name="Di", badge="b9"))),
        pytest.raises(ConstraintViolation, match="b9"),
    ):
        write(port, lambda batch: batch.insert("Sailor", [{"name": "Ed", "badge": "b9"}]))


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_append_and_merge_start_over_and_overwrite_does_not(port: Graph, mode: str) -> None:
    other = omnigraph.open(port.uri)
    outcome: object

    with once_at("write.after_stage", lambda: load(other, "append", node("Ship", hull="Z", title="t"))):
        try:
            outcome = (
                load(port, mode, node("Ship", hull="S1", title="new"))
                if mode != "append"
                else load(port, mode, node("Ship", hull="S2", title="new"))
            )
        except StaleView as error:
            outcome = error.kind

    assert "Z" in rows(port, "Ship")
    assert (outcome == "read_set_conflict") == (mode == "overwrite")
