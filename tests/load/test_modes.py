"""What append, merge and overwrite do to what is there, and which edge an edge without an id means."""

import gzip
import io
import itertools
from pathlib import Path

import pytest
import zstandard

from omnigraph.errors import Io
from omnigraph.graph import Graph
from support.graphs import codes, column, edge, graph_of, load, messages, node, places, refusal, rows
from support.harbor import lines

DEFAULTS = """
node Crate {
    label: String @key
    size: I32 @default(7)
    colour: enum(blue, green)? @default(green)
    note: String?
}
node Tag { text: String? }
edge Holds: Crate -> Tag { count: I32? @default(1)  weight: F64? }
"""

DOCS = """
node Doc {
    slug: String @key
    text: String?
    other: String?
    vec: Vector(2) @embed("text")
}
"""


def pairs(rule: str) -> str:
    return f"node N {{ k: String @key }}  edge E: N -> N {{ w: I32?  {rule} }}"


NODES = [node("N", k=name) for name in "abcdxy"]


@pytest.fixture
def crates(local_root: str) -> Graph:
    return graph_of(local_root, DEFAULTS, node("Crate", label="c1", size=1, colour="blue", note="n"))


# --- whole entities


def test_what_a_merged_record_leaves_out_becomes_its_default_or_null(crates: Graph) -> None:
    load(crates, "merge", node("Crate", label="c1"))

    assert rows(crates, "Crate")["c1"] == {"label": "c1", "size": 7, "colour": "green", "note": None}


def test_an_explicit_null_is_not_an_omission(crates: Graph) -> None:
    load(crates, "merge", node("Crate", label="c1", colour=None))

    assert column(crates, "Crate", "colour") == {"c1": None}


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_null_for_a_required_property_is_refused_although_it_has_a_default(crates: Graph, mode: str) -> None:
    error = refusal(crates, lambda: load(crates, mode, node("Crate", label="c2", size=None)))

    assert codes(error) == {"missing_required": 1}
    assert "Crate.size" in str(error)


def test_an_append_that_collides_leaves_the_entity_and_the_rest_of_the_input_out(crates: Graph) -> None:
    error = refusal(crates, lambda: load(crates, "append", node("Crate", label="c0"), node("Crate", label="c1")))

    assert (error.kind, error.exit_code) == ("key_conflict", 5)
    assert error.details["row_id"] == "c1"
    assert places(error) == [("-", 2)]
    assert column(crates, "Crate", "note") == {"c1": "n"}


def test_a_merge_of_old_changed_and_new_entities_touches_only_what_differs(crates: Graph) -> None:
    load(crates, "append", node("Crate", label="c2"))

    result = crates.load(
        lines(
            [
                node("Crate", label="c1", size=1, colour="blue", note="n"),
                node("Crate", label="c2", size=2),
                node("Crate", label="c3"),
            ]
        ),
        mode="merge",
    )

    assert result.total_rows == 3
    assert column(crates, "Crate", "size") == {"c1": 1, "c2": 2, "c3": 7}
    versions = crates.snapshot().table("Crate").scanner(columns=["id", "_row_last_updated_at_version"]).to_table()
    newest = {row["id"]: row["_row_last_updated_at_version"] for row in versions.to_pylist()}
    assert newest["c1"] < newest["c2"] == newest["c3"]


def test_keyless_nodes_without_id_are_new_in_every_mode(crates: Graph) -> None:
    load(crates, "merge", node("Tag", text="t"))
    load(crates, "merge", node("Tag", text="t"))
    load(crates, "append", node("Tag", text="t"))
    assert len(rows(crates, "Tag")) == 3

    load(crates, "overwrite", node("Tag", text="t"))

    assert len(rows(crates, "Tag")) == 1


def test_a_keyless_id_that_is_repeated_in_a_merge_belongs_to_the_last_record(crates: Graph, tmp_path: Path) -> None:
    for name, text in (("a.jsonl", "first"), ("b.jsonl", "last")):
        (tmp_path / name).write_bytes(lines([node("Tag", id="t1", text=text)]).getvalue())

    result = crates.load(str(tmp_path / "*.jsonl"), mode="merge")

    assert rows(crates, "Tag") == {"t1": {"text": "last"}}
    assert result.total_rows == 1


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_repeated_key_is_refused_even_if_the_records_are_equal(crates: Graph, mode: str) -> None:
    error = refusal(crates, lambda: load(crates, mode, *[node("Crate", label="same")] * 3))

    assert codes(error) == {"duplicate_id": 2}
    assert places(error) == [("-", 2), ("-", 3)]
    assert all("-:1" in message for message in messages(error))


def test_an_overwrite_makes_ids_anew_and_leaves_other_types_alone(crates: Graph) -> None:
    load(crates, "append", node("Tag", id="t1"), edge("Holds", "c1", "t1", id="h1"))

    load(crates, "overwrite", edge("Holds", "c1", "t1", weight=0.5))

    (held,) = rows(crates, "Holds").values()
    assert "h1" not in rows(crates, "Holds")
    assert held == {"src": "c1", "dst": "t1", "count": 1, "weight": 0.5}
    assert list(rows(crates, "Crate")) == ["c1"]


def test_all_findings_of_a_load_are_reported_together_and_a_broken_rule_outranks_an_existing_id(
    crates: Graph,
) -> None:
    error = refusal(
        crates,
        lambda: load(
            crates,
            "append",
            node("Crate", label="c1"),
            node("Crate", label="c5"),
            node("Crate", label="c5"),
            edge("Holds", "c1", "nowhere"),
        ),
    )

    assert error.kind == "constraint_violation"
    assert codes(error) == {"duplicate_id": 1, "key_conflict": 1, "orphan_edge": 1}
    assert places(error) == [("-", 1), ("-", 3), ("-", 4)]
    assert error.details["total_errors"] == 3


# --- vectors made from text


@pytest.fixture
def docs(local_root: str) -> Graph:
    return graph_of(
        local_root,
        DOCS,
        node("Doc", slug="d1", text="one", vec=[1, 0]),
        node("Doc", slug="d2", text="two", vec=[0, 1]),
        node("Doc", slug="d3", vec=[1, 1]),
        node("Doc", slug="d4", text="four"),
    )


def test_an_embedded_vector_that_is_left_out_stays_while_its_text_does(docs: Graph) -> None:
    load(
        docs,
        "merge",
        node("Doc", slug="d1", text="one", other="changed"),
        node("Doc", slug="d2", text="two!"),
        node("Doc", slug="d3", other="changed"),
        node("Doc", slug="d4", text="four", other="changed"),
        node("Doc", slug="d5", text="five"),
    )

    assert column(docs, "Doc", "vec") == {"d1": [1, 0], "d2": None, "d3": [1, 1], "d4": None, "d5": None}
    assert column(docs, "Doc", "other")["d1"] == "changed"


def test_loading_the_file_of_texts_again_changes_nothing(docs: Graph) -> None:
    assert load(docs, "merge", node("Doc", slug="d1", text="one"), node("Doc", slug="d4", text="four")) is None


def test_a_vector_given_as_null_becomes_pending_and_a_given_one_wins(docs: Graph) -> None:
    load(docs, "merge", node("Doc", slug="d1", text="one", vec=None), node("Doc", slug="d2", text="two", vec=[5, 5]))

    assert column(docs, "Doc", "vec") == {"d1": None, "d2": [5, 5], "d3": [1, 1], "d4": None}


def test_an_overwrite_does_not_keep_vectors(docs: Graph) -> None:
    load(docs, "overwrite", node("Doc", slug="d1", text="one"))

    assert column(docs, "Doc", "vec") == {"d1": None}


# --- edges without id


@pytest.mark.parametrize(
    ("rule", "source", "target"),
    [("@unique(src)", "a", "c"), ("@unique(dst)", "c", "b"), ("@unique(src, dst)", "a", "b")],
    ids=["src", "dst", "src and dst"],
)
def test_unique_endpoints_update_or_move_the_edge(local_root: str, rule: str, source: str, target: str) -> None:
    graph = graph_of(local_root, pairs(rule), *NODES, edge("E", "a", "b", id="e1", w=1), edge("E", "x", "y", id="e2"))

    load(graph, "merge", edge("E", source, target, w=2))

    assert rows(graph, "E") == {
        "e1": {"src": source, "dst": target, "w": 2},
        "e2": {"src": "x", "dst": "y", "w": None},
    }


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("rule", ["@unique(src)", "@unique(dst)", "@unique(src, dst)"])
def test_two_records_without_id_for_one_unique_tuple_are_refused(local_root: str, rule: str, exists: bool) -> None:
    graph = graph_of(local_root, pairs(rule), *NODES)
    if exists:
        load(graph, "append", edge("E", "a", "b", id="e1"))

    error = refusal(graph, lambda: load(graph, "merge", edge("E", "a", "b", w=1), edge("E", "a", "b", w=2)))

    assert codes(error) == {"unique_violation": 1}
    assert places(error) == [("-", 2)]
    (message,) = messages(error)
    assert "@unique violation on E." in message
    if exists:
        assert "'e1'" in message


def test_two_records_that_would_move_one_edge_by_different_endpoints_are_refused(local_root: str) -> None:
    graph = graph_of(local_root, pairs("@unique(src)  @unique(dst)"), *NODES, edge("E", "a", "b", id="e1"))

    error = refusal(graph, lambda: load(graph, "merge", edge("E", "a", "c"), edge("E", "a", "b")))

    assert codes(error) == {"unique_violation": 1}
    assert rows(graph, "E") == {"e1": {"src": "a", "dst": "b", "w": None}}


def test_constraints_that_point_at_different_edges_leave_the_decision_to_the_check(local_root: str) -> None:
    graph = graph_of(
        local_root,
        pairs("@unique(src)  @unique(dst)"),
        *NODES,
        edge("E", "a", "b", id="e1"),
        edge("E", "c", "d", id="e2"),
    )

    error = refusal(graph, lambda: load(graph, "merge", edge("E", "a", "d")))

    assert codes(error) == {"unique_violation": 2}
    assert sorted(message.split(": ")[0] for message in messages(error)) == [
        "@unique violation on E.dst",
        "@unique violation on E.src",
    ]


def test_constraints_that_point_at_one_edge_take_it(local_root: str) -> None:
    graph = graph_of(local_root, pairs("@unique(src)  @unique(dst)"), *NODES, edge("E", "a", "b", id="e1"))

    load(graph, "merge", edge("E", "a", "b", w=5), edge("E", "c", "d", w=6))

    assert len(rows(graph, "E")) == 2
    assert rows(graph, "E")["e1"]["w"] == 5


def test_parallel_edges_match_one_to_one_and_what_is_named_by_id_is_not_taken(local_root: str) -> None:
    graph = graph_of(
        local_root,
        pairs(""),
        *NODES,
        *(edge("E", "a", "b", id=f"e{number}", w=1) for number in (1, 2, 3)),
        edge("E", "a", "b", id="other", w=2),
    )

    load(graph, "merge", edge("E", "a", "b", id="e2", w=9), *[edge("E", "a", "b", w=1)] * 3)

    weights = column(graph, "E", "w")
    assert {name: weights.pop(name) for name in ("e1", "e2", "e3", "other")} == {"e1": 1, "e2": 9, "e3": 1, "other": 2}
    assert list(weights.values()) == [1]


def test_null_matches_null_and_nothing_else(local_root: str) -> None:
    graph = graph_of(local_root, pairs(""), *NODES, edge("E", "a", "b", id="null"), edge("E", "a", "b", id="zero", w=0))

    assert load(graph, "merge", edge("E", "a", "b")) is None
    assert load(graph, "merge", edge("E", "a", "b", w=0)) is None
    assert load(graph, "merge", edge("E", "b", "a"))


EVERY_TYPE = """
node N { k: String @key }
edge E: N -> N {
    s: String?  b: Bool?  i: I64?  u: U64?  f: F64?  g: F32?  d: Date?  t: DateTime?
    l: [String]?  v: Vector(2)?  x: Blob?  m: [DateTime]?
}
"""
EXTREMES = {
    "s": "a'b\x00é",
    "b": False,
    "i": -(2**63),
    "u": 2**64 - 1,
    "f": 5e-324,
    "g": 0.1,
    "d": 2**31 - 1,
    "t": 2**63 - 1,
    "l": ["", "a, b"],
    "v": [0.5, -1],
    "x": "base64:AAE=",
    "m": [-(2**63), 0],
}


@pytest.mark.parametrize("name", EXTREMES)
def test_equal_values_of_every_type_mean_the_same_edge(local_root: str, name: str) -> None:
    graph = graph_of(local_root, EVERY_TYPE, node("N", k="a"), edge("E", "a", "a", id="e1", **{name: EXTREMES[name]}))

    assert load(graph, "merge", edge("E", "a", "a", **{name: EXTREMES[name]})) is None
    assert load(graph, "merge", edge("E", "a", "a", id="e1", **{name: EXTREMES[name]})) is None
    assert load(graph, "merge", edge("E", "a", "a"))


# --- input


def test_files_streams_and_compressed_files_load_alike(local_root: str, tmp_path: Path) -> None:
    text = lines([node("Crate", label=f"c{number}", size=number) for number in range(50)]).getvalue()
    (tmp_path / "plain.jsonl").write_bytes(text)
    (tmp_path / "packed.jsonl.gz").write_bytes(
        gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :])
    )
    (tmp_path / "packed.jsonl.zst").write_bytes(zstandard.compress(text))
    graph = graph_of(local_root, DEFAULTS)

    contents = []
    for source in (io.BytesIO(text), *sorted(tmp_path.glob("*.jsonl*"))):
        graph.load(source, mode="overwrite")
        contents.append(rows(graph, "Crate"))

    assert len(contents[0]) == 50
    assert all(left == right for left, right in itertools.pairwise(contents))


def test_a_byte_order_mark_carriage_returns_and_a_missing_last_line_end_are_fine(crates: Graph) -> None:
    text = b'\xef\xbb\xbf{"type":"Tag","data":{"id":"a"}}\r\n\r\n  {"type":"Tag","data":{"id":"b"}} '

    crates.load(io.BytesIO(text), mode="append")

    assert set(rows(crates, "Tag")) == {"a", "b"}


def test_positions_are_those_of_the_files_in_path_order(crates: Graph, tmp_path: Path) -> None:
    good, bad = lines([node("Tag")]).getvalue(), b'{"type": "Tag", "data": {"text": 1}}\n'
    (tmp_path / "b.jsonl").write_bytes(good + b"\n" + bad)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "z.ndjson.gz").write_bytes(gzip.compress(good + bad))

    error = refusal(crates, lambda: crates.load(tmp_path, mode="append"))

    assert places(error) == [("a/z.ndjson.gz", 2), ("b.jsonl", 3)]
    assert "2 errors in 2 files; first: a/z.ndjson.gz:2: " in str(error)


def test_the_place_of_a_set_error_is_the_line_of_the_file_that_causes_it(local_root: str, tmp_path: Path) -> None:
    """The longest file is not the one to blame."""
    graph = graph_of(local_root, "node N { k: String @key }  edge E: N -> N @card(0..1)")
    first = [*(node("N", k=f"n{number}") for number in range(9)), edge("E", "n0", "n1")]
    (tmp_path / "a.jsonl").write_bytes(lines(first).getvalue())
    (tmp_path / "b.jsonl").write_bytes(lines([edge("E", "n0", "n2")]).getvalue())

    error = refusal(graph, lambda: graph.load(tmp_path, mode="append"))

    assert codes(error) == {"card_violation": 1}
    assert places(error) == [("b.jsonl", 1)]


@pytest.mark.parametrize("path", ["nothing-here", "nothing-*.jsonl"])
def test_nothing_found_is_an_error_that_names_the_path(crates: Graph, tmp_path: Path, path: str) -> None:
    error = refusal(crates, lambda: crates.load(tmp_path / path, mode="append"))

    assert isinstance(error, Io)
    assert path in str(error)
