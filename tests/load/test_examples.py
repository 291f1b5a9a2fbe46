"""The worked examples of load, one by one, with their exact outcome."""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.graph import Graph
from support.graphs import CREW_SCHEMA, Record, codes, column, edge, graph_of, load, messages, node, refusal, rows
from support.harbor import lines

MODES = ("append", "merge", "overwrite")
ANA = node("Sailor", name="Ana", rank="captain")
BO = node("Sailor", name="Bo", rank="mate")
CY = node("Sailor", name="Cy", rank="deckhand")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An example that must be rejected: what is there before, what comes, and what the rejection says."""

    example: str
    incoming: str
    code: str
    says: tuple[str, ...]
    before: tuple[Record, ...] = ()
    modes: tuple[str, ...] = MODES
    kind: str = "invalid_record"
    entry: dict[str, Any] = field(default_factory=dict)


def text(*records: Record) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def sailor_with(member: str) -> str:
    return f'{{"type":"Sailor","data":{{"name":"Ana","rank":"mate",{member}}}}}'


REFUSED = [
    Refused(
        example="2",
        before=(ANA,),
        incoming=text(ANA),
        modes=("append",),
        kind="key_conflict",
        code="key_conflict",
        says=("Sailor", "'Ana'"),
        entry={"row_id": "Ana", "line": 1},
    ),
    Refused(
        example="4",
        incoming=text(ANA, BO, ANA),
        kind="constraint_violation",
        code="duplicate_id",
        says=("Sailor", "'Ana'", "-:1", "-:3"),
        entry={"line": 3},
    ),
    Refused(
        example="5",
        incoming=text(node("Sailor", id="a1", name="Ana", rank="mate")),
        code="id_mismatch",
        says=("a1", "Ana"),
    ),
    Refused(example="6", incoming=text(node("Sailor", name="Ana")), code="missing_required", says=("Sailor.rank",)),
    Refused(
        example="7",
        incoming=text(node("Sailor", name="Ana", rank="cook")),
        code="invalid_enum",
        says=("invalid enum value", "cook", "Sailor.rank", "captain, deckhand, mate"),
        entry={"property": "rank"},
    ),
    Refused(example="8a", incoming=sailor_with('"age":"50"'), code="wrong_type", says=("Sailor.age", "I32", '"50"')),
    Refused(example="8b", incoming=sailor_with('"age":50.5'), code="wrong_type", says=("Sailor.age", "I32", "50.5")),
    Refused(
        example="8d", incoming=sailor_with('"age":3000000000'), code="out_of_range", says=("Sailor.age", "3000000000")
    ),
    Refused(example="9", incoming=sailor_with('"age":1,"age":2'), code="duplicate_member", says=("age",)),
    Refused(example="10", incoming=sailor_with('"nick":"A"'), code="unknown_property", says=("Sailor.nick",)),
    Refused(
        example="11",
        incoming='{"type":"Sailor","edge":"Mentors","data":{}}',
        code="bad_envelope",
        says=("type", "edge"),
    ),
    Refused(
        example="12",
        incoming='{"type":"Sailor","data":{"name":"Ana","rank":"mate"},"branch":"x"}',
        code="unknown_field",
        says=("branch",),
    ),
    Refused(
        example="14",
        before=(ANA,),
        incoming=text(edge("mentors", "Ana", "Zed")),
        modes=("append",),
        kind="constraint_violation",
        code="orphan_edge",
        says=("to", "'Zed'", "Sailor", "not found"),
        entry={"line": 1, "table_key": "edge:Mentors"},
    ),
    Refused(
        example="15",
        incoming=text(
            ANA,
            node("Ship", hull="S1", title="t"),
            node("Ship", hull="S2", title="t"),
            edge("ServesOn", "Ana", "S1"),
            edge("ServesOn", "Ana", "S2"),
        ),
        kind="constraint_violation",
        code="card_violation",
        says=("@card violation on edge ServesOn", "'Ana'", "2", "max 1"),
        entry={"line": 5},
    ),
    Refused(
        example="16",
        before=(ANA, BO, edge("Mentors", "Ana", "Bo", id="m1")),
        incoming=text(ANA),
        modes=("overwrite",),
        kind="constraint_violation",
        code="orphan_edge",
        says=("Mentors", "'m1'", "'Bo'", "Sailor", "not found"),
        entry={"row_id": "m1"},
    ),
    Refused(
        example="19",
        before=(ANA, BO, CY),
        incoming=text(edge("Mentors", "Ana", "Cy", id="E1"), edge("Mentors", "Bo", "Cy", id="E1")),
        modes=("append", "overwrite"),
        kind="constraint_violation",
        code="duplicate_id",
        says=("Mentors", "'E1'", "-:1", "-:2"),
    ),
    Refused(
        example="21c", incoming=sailor_with('"photo":"base64:***"'), code="bad_blob", says=("Sailor.photo", "base64")
    ),
    Refused(
        example="22", incoming=sailor_with('"photo":"s3://x/y"'), code="external_blob_denied", says=("Sailor.photo",)
    ),
    Refused(
        example="23",
        incoming=text(node("Ship", hull="S1", title="t", vec=[1])),
        code="bad_vector",
        says=("Ship.vec", "2", "1"),
    ),
    Refused(
        example="24",
        incoming=text(node("Ship", hull="S1", title="t", vec=[1, None])),
        code="bad_vector",
        says=("Ship.vec", "numeric"),
    ),
    Refused(
        example="26", incoming=text(BO, node("Sailor", name="Ana")), code="missing_required", says=("Sailor.rank",)
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.example)
def test_a_rejected_example_changes_nothing_and_names_what_is_wrong(crew: Graph, case: Refused) -> None:
    if case.before:
        load(crew, "append", *case.before)
    before = {name: rows(crew, name) for name in ("Sailor", "Ship", "Mentors", "ServesOn")}

    for mode in case.modes:
        error = refusal(crew, lambda mode=mode: crew.load(io.BytesIO(case.incoming.encode()), mode=mode))

        assert error.kind == case.kind
        assert codes(error) == {case.code: 1}
        assert error.details["total_errors"] == 1
        (entry,) = error.details["errors"]
        assert {name: entry.get(name) for name in case.entry} == case.entry
        for words in case.says:
            assert words in entry["message"]
        assert entry["message"] in str(error)
    assert {name: rows(crew, name) for name in before} == before


@pytest.mark.parametrize("mode", MODES)
def test_1_a_keyed_node_gets_the_id_of_its_key_and_null_for_what_is_left_out(crew: Graph, mode: str) -> None:
    assert load(crew, mode, ANA)

    assert rows(crew, "Sailor") == {
        "Ana": {"name": "Ana", "rank": "captain", "age": None, "tags": None, "bio": None, "photo": None}
    }


def test_3_a_merge_replaces_the_whole_entity(crew: Graph) -> None:
    load(crew, "append", node("Sailor", name="Ana", rank="captain", age=50))

    load(crew, "merge", node("Sailor", name="Ana", rank="mate"))

    assert rows(crew, "Sailor")["Ana"]["rank"] == "mate"
    assert rows(crew, "Sailor")["Ana"]["age"] is None


@pytest.mark.parametrize("mode", MODES)
def test_8c_a_whole_number_written_as_a_float_is_an_integer(crew: Graph, mode: str) -> None:
    crew.load(io.BytesIO(sailor_with('"age":50.0').encode()), mode=mode)

    assert column(crew, "Sailor", "age") == {"Ana": 50}


@pytest.mark.parametrize("mode", MODES)
def test_13_an_edge_may_come_before_its_nodes(crew: Graph, mode: str) -> None:
    assert load(crew, mode, edge("Mentors", "Ana", "Bo"), ANA, BO)

    assert [(row["src"], row["dst"]) for row in rows(crew, "Mentors").values()] == [("Ana", "Bo")]


def test_17_an_overwrite_replaces_the_types_it_mentions(crew: Graph) -> None:
    load(crew, "append", ANA, BO, edge("Mentors", "Ana", "Bo"), node("Ship", hull="S1", title="t"))

    assert load(crew, "overwrite", CY, edge("Mentors", "Cy", "Cy", id="E1"))

    assert list(rows(crew, "Sailor")) == ["Cy"]
    assert rows(crew, "Mentors") == {"E1": {"src": "Cy", "dst": "Cy", "since": None, "note": None}}
    assert list(rows(crew, "Ship")) == ["S1"]


def test_18_a_merged_edge_id_that_is_repeated_belongs_to_the_last_record(crew: Graph) -> None:
    load(crew, "append", ANA, BO, CY)

    result = crew.load(
        lines([edge("Mentors", "Ana", "Cy", id="E1"), edge("Mentors", "Bo", "Cy", id="E1")]), mode="merge"
    )

    assert column(crew, "Mentors", "src") == {"E1": "Bo"}
    assert result.total_rows == 1


def test_20_the_same_edge_without_id_merged_twice_is_one_edge(crew: Graph) -> None:
    load(crew, "append", ANA, CY)

    first = load(crew, "merge", edge("Mentors", "Ana", "Cy"))
    once = rows(crew, "Mentors")
    again = load(crew, "merge", edge("Mentors", "Ana", "Cy"))

    assert first is not None
    assert again is None
    assert len(once) == 1
    assert rows(crew, "Mentors") == once


def test_20a_an_edge_without_id_and_with_other_properties_is_another_edge(crew: Graph) -> None:
    load(crew, "append", ANA, CY)

    load(crew, "merge", edge("Mentors", "Ana", "Cy"))
    load(crew, "merge", edge("Mentors", "Ana", "Cy", since="2020-01-01"))

    assert sorted(str(since) for since in column(crew, "Mentors", "since").values()) == ["2020-01-01", "None"]


def test_20b_two_equal_lines_are_two_parallel_edges_however_often_they_are_merged(crew: Graph) -> None:
    load(crew, "append", ANA, CY)
    twice = [edge("Mentors", "Ana", "Cy", note="x")] * 2

    load(crew, "merge", *twice)
    once = rows(crew, "Mentors")
    again = load(crew, "merge", *twice)

    assert len(once) == 2
    assert again is None
    assert rows(crew, "Mentors") == once


def test_20c_endpoints_that_are_unique_name_the_edge(local_root: str) -> None:
    graph = graph_of(
        local_root,
        "node N { k: String @key }  edge E: N -> N { w: I32?  @unique(src, dst) }",
        node("N", k="a"),
        node("N", k="b"),
    )

    load(graph, "merge", edge("E", "a", "b", w=1))
    (first,) = rows(graph, "E")
    load(graph, "merge", edge("E", "a", "b", w=2))

    assert rows(graph, "E") == {first: {"src": "a", "dst": "b", "w": 2}}


def test_20d_an_edge_without_id_appended_twice_is_two_edges(crew: Graph) -> None:
    load(crew, "append", ANA, CY)

    assert load(crew, "append", edge("Mentors", "Ana", "Cy"))
    assert load(crew, "append", edge("Mentors", "Ana", "Cy"))

    assert len(rows(crew, "Mentors")) == 2


def test_20e_merging_what_is_there_makes_no_commit(crew: Graph) -> None:
    load(crew, "append", ANA)
    before = crew.snapshot()

    result = crew.load(lines([ANA]), mode="merge")

    assert result.commit is None
    assert [(table.table_key, table.rows_loaded) for table in result.tables] == [("node:Sailor", 1)]
    assert crew.snapshot().graph_version == before.graph_version
    assert crew.snapshot().tables == before.tables


@pytest.mark.parametrize("mode", MODES)
def test_21_an_empty_blob_is_not_null(crew: Graph, mode: str) -> None:
    load(
        crew,
        mode,
        node("Sailor", name="Ana", rank="mate", photo="base64:"),
        node("Sailor", name="Bo", rank="mate", photo="base64:SGk="),
        node("Sailor", name="Cy", rank="mate"),
    )

    assert column(crew, "Sailor", "photo") == {"Ana": b"", "Bo": b"Hi", "Cy": None}


@pytest.mark.parametrize("mode", MODES)
def test_25_of_thirty_bad_lines_twenty_are_listed_and_all_are_counted(crew: Graph, mode: str) -> None:
    bad = [node("Sailor", name=f"s{number}", rank="cook") for number in range(30)]

    error = refusal(crew, lambda: load(crew, mode, *bad))

    assert error.details["total_errors"] == 30
    assert codes(error) == {"invalid_enum": 30}
    assert [entry["line"] for entry in error.details["errors"]] == list(range(1, 21))
    assert len(messages(error)) == 20


def test_the_python_caller_chooses_how_many_errors_are_listed(crew: Graph) -> None:
    bad = [node("Sailor", name=f"s{number}", rank="cook") for number in range(30)]

    error = refusal(crew, lambda: load(crew, "append", *bad, max_errors=3))

    assert error.details["total_errors"] == 30
    assert [entry["line"] for entry in error.details["errors"]] == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_27_a_directory_is_one_load_and_one_commit(crew: Graph, tmp_path: Path, mode: str) -> None:
    data = tmp_path / "data"
    (data / "b").mkdir(parents=True)
    (data / "a.jsonl").write_text(text(ANA, BO))
    (data / "b" / "c.ndjson").write_text(text(edge("Mentors", "Ana", "Bo", id="m1")))
    (data / "_x.jsonl").write_text("not json")
    before = crew.snapshot().graph_version

    crew.load(data, mode=mode)

    assert crew.snapshot().graph_version == before + 1
    assert set(rows(crew, "Sailor")) == {"Ana", "Bo"}
    assert set(rows(crew, "Mentors")) == {"m1"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("content", ["", "\n \t\r\n\n"], ids=["no bytes", "blank lines"])
def test_28_input_without_records_succeeds_without_a_commit(crew: Graph, mode: str, content: str) -> None:
    load(crew, "append", ANA)

    result = crew.load(io.BytesIO(content.encode()), mode=mode)

    assert result.commit is None
    assert result.total_rows == 0
    assert list(rows(crew, "Sailor")) == ["Ana"]


def test_29_an_export_loads_into_a_graph_with_an_equal_export(crew: Graph, tmp_path: Path) -> None:
    load(
        crew,
        "append",
        node("Sailor", name='A"\\ñ\n', rank="mate", age=-1, tags=[], photo="base64:AA=="),
        node("Sailor", name="Bo", rank="mate", tags=["x", ""], bio=""),
        node("Ship", hull="S1", title="t", tons=0.1, vec=[0.1, -0.0]),
        edge("Mentors", "Bo", "Bo"),
        edge("Mentors", "Bo", "Bo"),
        edge("ServesOn", "Bo", "S1", berth=2),
    )
    copy = omnigraph.init(str(tmp_path / "copy.omni"), CREW_SCHEMA)
    exported, exported_again = io.BytesIO(), io.BytesIO()

    crew.export(exported)
    copy.load(io.BytesIO(exported.getvalue()), mode="overwrite")
    copy.export(exported_again)

    assert exported_again.getvalue() == exported.getvalue()
    assert exported.getvalue().count(b"\n") == 6
