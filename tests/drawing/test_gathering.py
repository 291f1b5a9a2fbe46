"""What is asked of a real graph for a picture, now and in the past."""

import io
import json
from collections.abc import Iterator
from typing import TypeVar

import pytest

import omnigraph
from omnigraph.drawing.asking import Asking, edge_word, label_property
from omnigraph.drawing.gathering import Gathered, Moment, gathered
from omnigraph.drawing.picture import Hop, Mark, NodeKey
from omnigraph.drawing.tour import Tour

AnswerT = TypeVar("AnswerT")
SCHEMA = """
node Sailor { name: String @key  age: I32? }
node Ship { hull: String @key  title: String }
node Note { text: String }
edge Mentors: Sailor -> Sailor
edge ServesOn: Sailor -> Ship
edge Not: Ship -> Ship
"""
ANA, S1 = NodeKey("Sailor", "Ana"), NodeKey("Ship", "S1")
MENTORS, SERVES = Hop("Mentors", is_outgoing=True), Hop("ServesOn", is_outgoing=True)


def answered(graph: omnigraph.Graph, asking: Asking[AnswerT]) -> AnswerT:
    questions = next(asking)
    while True:
        try:
            questions = asking.send(
                [graph.query(each.text, params=each.params, snapshot=each.at).rows() for each in questions]
            )
        except StopIteration as done:
            answer: AnswerT = done.value
            return answer


def lines() -> Iterator[dict[str, object]]:
    yield {"type": "Sailor", "data": {"name": "Ana"}}
    yield {"type": "Ship", "data": {"hull": "S1", "title": "Northern Star"}}
    yield {"edge": "ServesOn", "from": "Ana", "to": "S1"}
    yield {"edge": "Not", "from": "S1", "to": "S1"}
    for number in range(60):
        yield {"type": "Sailor", "data": {"name": f"pupil {number:02}"}}
        yield {"edge": "Mentors", "from": "Ana", "to": f"pupil {number:02}"}
    yield {"edge": "Mentors", "from": "pupil 01", "to": "pupil 02"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    made = omnigraph.init(str(tmp_path_factory.mktemp("drawing") / "crew.omni"), SCHEMA)
    made.load(io.BytesIO("\n".join(map(json.dumps, lines())).encode()), mode="append")
    with made.write() as batch:
        batch.delete("Sailor", ids=["pupil 03"])
        batch.insert("Sailor", [{"name": "aab"}])
        batch.insert("Mentors", [{"from": "Ana", "to": "aab"}])
    return made


def look(graph: omnigraph.Graph, tour: Tour, past: str | None = None) -> Gathered:
    catalog = graph.snapshot().catalog
    then = None if past is None else Moment(at=past, catalog=catalog)
    return answered(graph, gathered(tour, Moment(at="main", catalog=catalog), then))


def test_neighbours_come_a_page_at_a_time_and_the_others_are_counted(graph: omnigraph.Graph) -> None:
    tour = Tour().with_root(ANA).opened(ANA, MENTORS)

    first = look(graph, tour)
    second = look(graph, tour.opened(ANA, MENTORS))
    third = look(graph, tour.opened(ANA, MENTORS).opened(ANA, MENTORS).opened(ANA, SERVES))

    assert len(first.picture.nodes) == 26
    assert [stub.more for stub in first.picture.stubs] == [35]
    assert [stub.more for stub in second.picture.stubs] == [10]
    assert third.picture.stubs == ()
    assert third.picture.count_by_type() == {"Sailor": 61, "Ship": 1}
    assert second.stages[:2] == first.stages
    labels = {node.key: node.label for node in third.picture.nodes}
    assert labels[S1] == "Northern Star"
    assert any((e.source.id, e.target.id) == ("pupil 01", "pupil 02") for e in first.picture.edges)


def test_the_past_shows_what_came_and_went(graph: omnigraph.Graph) -> None:
    tour = Tour().with_root(ANA).opened(ANA, MENTORS)

    then = look(graph, tour, "main~1").picture

    marks = {node.key.id: node.mark for node in then.nodes if node.mark}
    assert marks == {"pupil 03": Mark.WENT, "aab": Mark.CAME}
    assert {(edge.target.id, edge.mark) for edge in then.edges if edge.mark} == {
        ("pupil 03", Mark.WENT),
        ("aab", Mark.CAME),
    }
    assert then.changes() == (2, 2)
    assert all(not node.mark for node in look(graph, tour, "main").picture.nodes)


def test_what_is_left_out_leaves_its_neighbours_out(graph: omnigraph.Graph) -> None:
    pupil = NodeKey("Sailor", "pupil 01")
    tour = Tour().with_root(S1).opened(S1, Hop("ServesOn", is_outgoing=False)).opened(ANA, MENTORS)

    assert len(look(graph, tour).picture.nodes) == 27
    assert pupil not in {node.key for node in look(graph, tour.without(pupil)).picture.nodes}
    assert {node.key for node in look(graph, tour.without(ANA)).picture.nodes} == {S1}


def test_old_addresses_do_no_harm(graph: omnigraph.Graph) -> None:
    gone = NodeKey("Pirate", "Jack")
    tour = Tour().with_root(gone).opened(gone, MENTORS).opened(ANA, Hop("Sinks", True)).with_root(S1)

    assert [node.key for node in look(graph, tour).picture.nodes] == [S1]
    assert look(graph, Tour()).picture.nodes == ()


def test_a_picture_has_an_end(graph: omnigraph.Graph) -> None:
    tour = Tour().with_root(ANA).opened(ANA, MENTORS)
    now = Moment(at="main", catalog=graph.snapshot().catalog)

    found = answered(graph, gathered(tour, now, nodes_max=20))

    assert len(found.picture.nodes) == 20
    assert found.is_cut


def test_names_that_are_words_of_the_language_can_be_asked_for(graph: omnigraph.Graph) -> None:
    assert edge_word("Not") == "nOT"
    loops = look(graph, Tour().with_root(S1).opened(S1, Hop("Not", is_outgoing=True)))

    assert [(edge.type_name, edge.source, edge.target) for edge in loops.picture.edges] == [("Not", S1, S1)]
    by_name = graph.snapshot().catalog.node_by_name
    assert [label_property(by_name[name]) for name in ("Note", "Sailor", "Ship")] == ["text", "name", "title"]
