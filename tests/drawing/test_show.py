"""`graph.show`: what a person draws in a notebook."""

import io
import json
import xml.etree.ElementTree as ET

import pytest

import omnigraph
from omnigraph import errors

HOSTILE = "</text><script>alert(1)</script>"
SCHEMA = """
node Sailor { name: String @key  age: I32? }
node Ship { hull: String @key  title: String }
node Boat { hull: String @key  title: String }
edge Mentors: Sailor -> Sailor
edge ServesOn: Sailor -> Ship
"""
RECORDS = [
    *({"type": "Sailor", "data": {"name": name}} for name in ("Ana", "Bo", "Cy", HOSTILE)),
    {"type": "Ship", "data": {"hull": "S1", "title": "Northern Star"}},
    {"type": "Boat", "data": {"hull": "B1", "title": "Tub"}},
    {"edge": "Mentors", "from": "Ana", "to": "Bo"},
    {"edge": "Mentors", "from": "Bo", "to": "Cy"},
    {"edge": "ServesOn", "from": "Bo", "to": "S1"},
    {"edge": "Mentors", "from": "Cy", "to": HOSTILE},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    made = omnigraph.init(str(tmp_path_factory.mktemp("show") / "crew.omni"), SCHEMA)
    made.load(io.BytesIO("\n".join(map(json.dumps, RECORDS)).encode()), mode="append")
    return made


def names(drawing: omnigraph.Drawing) -> set[str]:
    return {node.label for node in drawing.picture.nodes}


def test_a_node_is_drawn_with_what_is_around_it(graph: omnigraph.Graph) -> None:
    assert names(graph.show("Sailor", "Ana", hops=0)) == {"Ana"}
    assert names(graph.show("Sailor", "Ana")) == {"Ana", "Bo"}
    assert names(graph.show("Sailor", ["Ana"], hops=2)) == {"Ana", "Bo", "Cy", "Northern Star"}
    assert names(graph.show("Sailor")) == {"Ana", "Bo", "Cy", HOSTILE}
    few = graph.show("Sailor", "Ana", hops=3, limit=3)
    assert len(few.picture.nodes) == 3
    assert "Not everything is drawn" in few._repr_html_()


def test_the_nodes_of_a_result_are_drawn_and_types_alike_are_told_apart(graph: omnigraph.Graph) -> None:
    found = graph.query("match { $a: Sailor $a servesOn $b } return { $a, $b, $a.name as name }")

    drawing = graph.show(found)

    assert [node.key for node in drawing.picture.nodes] == [("Sailor", "Bo"), ("Ship", "S1")]
    assert [edge.type_name for edge in drawing.picture.edges] == ["ServesOn"]
    with pytest.raises(errors.InvalidTarget, match="no whole nodes"):
        graph.show(graph.query("match { $a: Sailor } return { $a.name }"))


def test_nothing_said_is_the_schema_and_an_old_state_is_as_it_was(graph: omnigraph.Graph) -> None:
    assert names(graph.show()) == {"Boat (1)", "Sailor (4)", "Ship (1)"}
    assert names(graph.show(snapshot="main~1")) == {"Boat (0)", "Sailor (0)", "Ship (0)"}


def test_names_are_text_in_a_notebook(graph: omnigraph.Graph) -> None:
    drawing = graph.show("Sailor", "Cy")

    drawn = drawing._repr_html_()

    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
    assert ET.fromstring(drawing.svg).tag.endswith("svg")
    assert repr(drawing) == "<Drawing 3 nodes, 2 edges>"
    assert graph._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("what", "ids", "options", "kind", "said"),
    [
        ("Sailor", "Zed", {}, errors.EntityNotFound, "no Sailor 'Zed'"),
        ("Salor", None, {}, errors.EntityNotFound, "Sailor"),
        ("Mentors", None, {}, errors.InvalidTarget, "edge type"),
        (None, "Ana", {}, errors.InvalidTarget, "the type"),
        ("Sailor", None, {"limit": 501}, errors.InvalidTarget, "1 to 500"),
        ("Sailor", "Ana", {"hops": -1}, errors.InvalidTarget, "hops"),
        ("Sailor", ["Ana", "Bo"], {"limit": 1}, errors.InvalidTarget, "2 ids"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    graph: omnigraph.Graph,
    what: str | None,
    ids: str | list[str] | None,
    options: dict[str, int],
    kind: type[Exception],
    said: str,
) -> None:
    with pytest.raises(kind, match=said):
        graph.show(what, ids, hops=options.get("hops", 1), limit=options.get("limit", 100))
