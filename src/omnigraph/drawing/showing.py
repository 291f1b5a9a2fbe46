"""What `graph.show` draws: a schema, nodes and what is around them, or the nodes that a query found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, NodeType, Scalar
from omnigraph.catalog.type_names import find_entity
from omnigraph.drawing.asking import Asking, Question, Rows, asked_first, asked_known, asked_sizes, hops_of
from omnigraph.drawing.drawn import Drawing
from omnigraph.drawing.gathering import NODES_MAX, Gathered, Moment, gathered
from omnigraph.drawing.layout import laid_out
from omnigraph.drawing.picture import NodeKey, Picture, PictureEdge, PictureNode
from omnigraph.drawing.signs import signs_of
from omnigraph.drawing.tour import PAGE, Opened, Tour
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.graphs.result import Result

AnswerT = TypeVar("AnswerT")
_HERE = ""
"""Questions name no state: whoever answers them has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRequest:
    """What to draw: nothing said is the schema."""

    what: "str | Result | None"
    ids: str | Sequence[str] | None
    hops: int
    limit: int


def drawing_of(request: ShowRequest, catalog: Catalog, ask: Callable[[Question], Rows]) -> Drawing:
    """Draw what a request says of one state of a graph."""
    if not 1 <= request.limit <= NODES_MAX:
        raise InvalidTarget(f"limit is how many nodes are drawn, from 1 to {NODES_MAX}, not {request.limit!r}.")
    if request.hops < 0:
        raise InvalidTarget(f"hops is a number of steps from the nodes, not {request.hops!r}.")
    if request.what is None:
        if request.ids is not None:
            raise InvalidTarget("Say the type that the ids belong to: show('Person', 'ada').")
        return _schema(catalog, ask)
    if isinstance(request.what, Result):
        roots, hops = _found_by(request.what, catalog, ask, request.limit), 0
    else:
        roots, hops = _named(request, catalog, ask)
    return _surroundings(roots, catalog, ask, hops=hops, limit=request.limit)


def _named(request: ShowRequest, catalog: Catalog, ask: Callable[[Question], Rows]) -> tuple[list[NodeKey], int]:
    """Return the nodes that a request names; a type without ids means its first nodes, and no more than these."""
    entity = find_entity(catalog, str(request.what))
    if not isinstance(entity, NodeType):
        raise InvalidTarget(f"{entity.name} is an edge type; show draws nodes, with the edges between them.")
    if request.ids is None:
        rows = ask(asked_first(entity, _HERE, limit=request.limit))
        return [NodeKey(entity.name, row["id"]) for row in rows], 0
    wanted = [request.ids] if isinstance(request.ids, str) else list(request.ids)
    if len(wanted) > request.limit:
        raise InvalidTarget(f"{len(wanted)} ids were given, and the limit is {counted(request.limit, 'node')}.")
    keys = [NodeKey(entity.name, each) for each in wanted]
    known = _known(catalog, keys, ask)
    for key in keys:
        if key not in known:
            raise EntityNotFound(
                f"There is no {key.type_name} {key.id!r} in this state.", type=key.type_name, id=key.id
            )
    return keys, request.hops


def _surroundings(
    roots: Iterable[NodeKey], catalog: Catalog, ask: Callable[[Question], Rows], *, hops: int, limit: int
) -> Drawing:
    tour = Tour()
    for root in roots:
        tour = tour.with_root(root)
    found = _gathered(tour, catalog, ask, limit)
    for _ in range(hops):
        if len(found.picture.nodes) >= limit:
            break
        for node in found.picture.nodes:
            for hop, _other in hops_of(catalog, node.key.type_name):
                if not tour.pages[Opened(owner=node.key, hop=hop)]:
                    tour = tour.opened(node.key, hop)
        found = _gathered(tour, catalog, ask, limit)
    note = f"Not everything is drawn; the limit is {counted(limit, 'node')}." if found.is_cut else ""
    signs = signs_of(node.name for node in catalog.nodes)
    return Drawing(found.picture, laid_out(found.picture, found.stages), signs, note=note)


def _gathered(tour: Tour, catalog: Catalog, ask: Callable[[Question], Rows], limit: int) -> Gathered:
    moment = Moment(at=_HERE, catalog=catalog)
    return _answered(gathered(tour, moment, page=min(PAGE, limit), nodes_max=limit), ask)


def _answered(asking: Asking[AnswerT], ask: Callable[[Question], Rows]) -> AnswerT:
    try:
        questions = next(asking)
        while True:
            questions = asking.send([ask(question) for question in questions])
    except StopIteration as done:
        answer: AnswerT = done.value
        return answer


def _found_by(result: Result, catalog: Catalog, ask: Callable[[Question], Rows], limit: int) -> list[NodeKey]:
    """Return the nodes among the values of a result.

    A value has the properties of its type, but not its name: of several types alike, the one that has the id is it.
    """
    candidates: dict[NodeKey, None] = {}
    for row in result:
        for value in row.values():
            if isinstance(value, Mapping) and isinstance(value.get("id"), str):
                candidates |= dict.fromkeys(NodeKey(name, value["id"]) for name in _types_like(catalog, value))
    if not candidates:
        raise InvalidTarget(
            "The result has no whole nodes to draw: return the variable itself, as in `return { $a, $b }`."
        )
    known = _known(catalog, candidates, ask)
    return [key for key in candidates if key in known][:limit]


def _types_like(catalog: Catalog, value: Mapping[str, Any]) -> list[str]:
    return [
        each.name
        for each in catalog.nodes
        if {"id", *(p.name for p in each.properties if p.type.scalar is not Scalar.BLOB)} == value.keys()
    ]


def _known(catalog: Catalog, keys: Iterable[NodeKey], ask: Callable[[Question], Rows]) -> set[NodeKey]:
    asked = asked_known(catalog, keys, _HERE)
    return {NodeKey(type_name, row["id"]) for type_name, question in asked for row in ask(question)}


def _schema(catalog: Catalog, ask: Callable[[Question], Rows]) -> Drawing:
    """Draw the types, with how many nodes each has."""
    sizes = {name: int(ask(question)[0]["n"]) for name, question in asked_sizes(catalog, _HERE)}
    nodes = tuple(
        PictureNode(key=NodeKey(each.name, each.name), label=f"{each.name} ({sizes[each.name]:,})")
        for each in catalog.nodes
    )
    edges = tuple(
        PictureEdge(
            type_name=each.name,
            source=NodeKey(each.from_type, each.from_type),
            target=NodeKey(each.to_type, each.to_type),
        )
        for each in catalog.edges
    )
    picture = Picture(nodes=nodes, edges=edges)
    return Drawing(picture, laid_out(picture), signs_of(each.name for each in catalog.nodes))
