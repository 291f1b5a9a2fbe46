"""Where nodes stand, how they look, and what an address says of what was opened."""

import json
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from math import dist

import pytest

from omnigraph.drawing.echart import echart_option
from omnigraph.drawing.layout import laid_out
from omnigraph.drawing.picture import Hop, Mark, NodeKey, Picture, PictureEdge, PictureNode, Stub
from omnigraph.drawing.signs import TypeSign, signs_of
from omnigraph.drawing.svg import svg_of
from omnigraph.drawing.tour import Opened, Tour, keys_text, tour_of, tour_text

HOSTILE = "</text><script>alert(1)</script>\"' & \n{b}{a|x}"


def key(number: int) -> NodeKey:
    return NodeKey("Sailor" if number % 3 else "Ship", f"n{number}")


def wheel(count: int, *, links: int = 1) -> Picture:
    """A hub with spokes, some of which know the next ones."""
    edges = [PictureEdge(type_name="Knows", source=key(0), target=key(number)) for number in range(1, count)]
    for step in range(1, links):
        edges += [
            PictureEdge(type_name="Knows", source=key(number), target=key(number + step))
            for number in range(1, count - step)
        ]
    nodes = tuple(PictureNode(key=key(number), label=f"node {number}") for number in range(count))
    return Picture(nodes=nodes, edges=tuple(edges))


@pytest.mark.parametrize("count", [0, 1, 2, 26, 120])
def test_the_same_picture_stands_the_same_way_and_nodes_stand_apart(count: int) -> None:
    picture = wheel(count)

    places = laid_out(picture)

    assert places == laid_out(picture)
    assert set(places) == {node.key for node in picture.nodes}
    points = sorted(places.values())
    assert all(dist(one, other) > 0.2 for one, other in pairwise(points))


def test_what_has_a_place_keeps_it_when_more_comes() -> None:
    small, large = wheel(26), wheel(80, links=3)
    first = [node.key for node in small.nodes]

    alone = laid_out(small, [first])
    together = laid_out(large, [first])

    known = laid_out(Picture(nodes=small.nodes, edges=tuple(e for e in large.edges if e.target in first)), [first])
    assert {each: together[each] for each in first} == known
    assert set(together) > set(alone)


def test_five_hundred_nodes_are_laid_out_while_a_person_waits() -> None:
    picture = wheel(500, links=3)
    laid_out(wheel(3))  # numpy is there

    started = time.process_time()
    places = laid_out(picture)

    assert len(places) == 500
    assert time.process_time() - started < 2.0  # it runs beside the page; measured 0.1 to 0.3 s


def test_sixty_four_types_differ_in_colour_or_shape() -> None:
    signs = signs_of(f"T{number}" for number in range(64))

    assert len(set(signs.values())) == 64
    first = list(signs.values())[:8]
    assert len({sign.colour for sign in first}) == len({sign.shape for sign in first}) == 8
    assert all(sign.path(5, 5, 2).startswith("M") for sign in first)


def hostile_picture() -> Picture:
    one, two = NodeKey("Sailor", HOSTILE), NodeKey("Ship", "S1")
    return Picture(
        nodes=(
            PictureNode(key=one, label=HOSTILE, mark=Mark.CAME),
            PictureNode(key=two, label="Star", mark=Mark.WENT),
        ),
        edges=(
            PictureEdge(type_name="ServesOn", source=one, target=two),
            PictureEdge(type_name="Mentors", source=one, target=one, mark=Mark.WENT),
        ),
        stubs=(Stub(owner=one, hop=Hop("Mentors", is_outgoing=True), more=1_087),),
    )


def test_text_of_a_graph_is_text_in_svg() -> None:
    picture = hostile_picture()

    drawn = svg_of(picture, laid_out(picture), signs_of(["Sailor", "Ship"]), caption=HOSTILE)

    root = ET.fromstring(drawn)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        *("svg", "title", "rect", "defs", "marker", "path", "text", "circle")
    }
    texts = "".join(root.itertext())
    assert "<script>alert(1)" in texts
    assert "+ </text>" in texts
    assert "− Star" in texts
    assert "1,087 more" in texts
    assert "stroke-dasharray" in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_text_of_a_graph_is_only_a_name_for_the_canvas() -> None:
    picture = hostile_picture()

    option = echart_option(picture, laid_out(picture), signs_of(["Sailor", "Ship"]), picked=picture.nodes[1].key)

    series = option["series"][0]
    assert [item["what"] for item in series["data"]] == ["node", "node", "stub"]
    assert series["data"][0]["name"].startswith("+ </text><script>")
    assert "\n" not in series["data"][0]["name"]
    assert option["tooltip"] == {"show": False}
    assert "rich" not in json.dumps(option)
    assert all(not name.startswith(":") for name in _names(option))
    assert [link["lineStyle"].get("type") for link in series["links"]] == [None, "dashed", "dotted"]


def _names(value: object) -> list[str]:
    if isinstance(value, dict):
        return [name for each in value.items() for name in (each[0], *_names(each[1]))]
    return [name for each in value for name in _names(each)] if isinstance(value, list) else []


def test_labels_give_way_where_it_is_crowded() -> None:
    signs = signs_of(["Sailor", "Ship"])
    few, many = wheel(8), wheel(400)

    drawn = {count: svg_of(each, laid_out(each), signs) for count, each in ((8, few), (400, many))}

    assert drawn[8].count("<text") >= 8 + 7
    assert drawn[400].count("<text") < 200
    assert drawn[400].count("<title") > 400
    series = echart_option(many, laid_out(many), signs)["series"][0]
    assert "labelLayout" in series
    assert sum(item["label"]["show"] for item in series["data"]) == 40
    assert series["data"][0]["label"]["show"]  # the hub


def test_a_tour_is_spelled_in_letters_that_addresses_have() -> None:
    owner = NodeKey("Sailor", "a.b~c-d e/é%2E<>")
    hop = Hop("Mentors", is_outgoing=False)
    tour = Tour().with_root(owner).opened(owner, hop).opened(owner, hop).opened(owner, Hop("ServesOn", True))
    tour = tour.without(NodeKey("Ship", "S1"))

    text = tour_text(tour)

    assert all(letter.isascii() and (letter.isalnum() or letter in "._~-") for letter in text)
    assert tour_of(text, keys_text(tour.removed)) == tour
    assert tour.pages[Opened(owner=owner, hop=hop)] == 2
    assert tour_of("x~..~Sailor.Ana.sideways.Mentors~Sailor.Ana") == Tour(steps=(NodeKey("Sailor", "Ana"),))


def test_leaving_a_node_out_takes_along_what_was_opened_from_it() -> None:
    ana, bo = NodeKey("Sailor", "Ana"), NodeKey("Sailor", "Bo")
    hop = Hop("Mentors", is_outgoing=True)
    tour = Tour().with_root(ana).opened(ana, hop).opened(bo, hop)

    assert tour.without(bo).steps == (ana, Opened(owner=ana, hop=hop))
    assert tour.without(bo).removed == {bo}
    assert tour.without(bo).with_root(bo).removed == frozenset()
    assert tour.closed(ana, hop).steps == (ana, Opened(owner=bo, hop=hop))
    assert Tour().with_root(ana).without(ana) == Tour()


def test_hidden_types_take_their_edges_along() -> None:
    picture = hostile_picture()

    shown = picture.without_types(frozenset({"Ship"}))

    assert shown.count_by_type() == {"Sailor": 1}
    assert [edge.type_name for edge in shown.edges] == ["Mentors"]
    assert picture.changes() == (1, 2)
    assert TypeSign(colour="#000000", shape="circle").path().startswith("M-1 0a1 1")
