"""From what a person has opened to a picture: asks for nodes, neighbours and links, now and at an older commit."""

from collections.abc import Iterable, Sequence
from itertools import islice

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.drawing.asking import (
    Asking,
    Rows,
    asked_count,
    asked_known,
    asked_links,
    asked_neighbours,
    knows,
    label_of,
    other_end,
)
from omnigraph.drawing.picture import Mark, NodeKey, Picture, PictureEdge, PictureNode, Stub
from omnigraph.drawing.tour import PAGE, Opened, Tour

NODES_MAX = 500
LINKS_MAX = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A picture, the order in which its nodes came, and whether all of it is there."""

    picture: Picture
    stages: tuple[tuple[NodeKey, ...], ...]
    is_cut: bool
    """Whether nodes or links were left out because there are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """The nodes of a tour in one state, and what neighbours it does not show."""

    stages: tuple[tuple[NodeKey, ...], ...]
    labels: dict[NodeKey, str]
    """Those of the neighbours; nodes that somebody asked for are still to be looked up."""
    stubs: tuple[Stub, ...]
    is_cut: bool


_Link = tuple[str, NodeKey, NodeKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A state to ask, with the schema that it has."""

    at: str
    catalog: Catalog


def gathered(
    tour: Tour, now_at: Moment, past: Moment | None = None, *, page: int = PAGE, nodes_max: int = NODES_MAX
) -> Asking[Gathered]:
    """Ask for the picture of a tour; with `past`, of that commit, with marks for what came and went since."""
    now = yield from _reached(now_at, tour, page, nodes_max)
    then = now if past is None else (yield from _reached(past, tour, page, nodes_max))
    stages = now.stages if past is None else (*now.stages, *then.stages)
    every = list(islice(dict.fromkeys(key for stage in stages for key in stage), nodes_max))
    labels, links = yield from _settled(now_at, every, now.labels)
    labels_then, links_then = (labels, links) if past is None else (yield from _settled(past, every, then.labels))
    nodes = tuple(
        PictureNode(
            key=key,
            label=labels_then.get(key) or labels[key],
            mark=_mark(is_then=key in labels_then, is_now=key in labels),
        )
        for key in every
        if key in labels or key in labels_then
    )
    edges = tuple(
        PictureEdge(
            type_name=link[0],
            source=link[1],
            target=link[2],
            mark=_mark(is_then=link in links_then, is_now=link in links),
        )
        for link in sorted(links | links_then)
    )
    shown = {node.key for node in nodes}
    return Gathered(
        picture=Picture(nodes=nodes, edges=edges, stubs=tuple(stub for stub in then.stubs if stub.owner in shown)),
        stages=stages,
        is_cut=now.is_cut or then.is_cut or len(links) >= LINKS_MAX,
    )


def _mark(*, is_then: bool, is_now: bool) -> Mark:
    if is_then and is_now:
        return Mark.STAYED
    return Mark.WENT if is_then else Mark.CAME


def _reached(moment: Moment, tour: Tour, page: int, nodes_max: int) -> Asking[_Reached]:
    catalog, at = moment.catalog, moment.at
    pages = {each: count for each, count in tour.pages.items() if knows(catalog, each.owner, each.hop)}
    answers = yield [
        asked_neighbours(catalog, each.owner, each.hop, at, limit=count * page) for each, count in pages.items()
    ]
    rows_of = dict(zip(pages, answers, strict=True))
    full = [each for each, rows in rows_of.items() if len(rows) == pages[each] * page]
    counts = yield [asked_count(each.owner, each.hop, at) for each in full]
    total_of = {each: int(rows[0]["n"]) for each, rows in zip(full, counts, strict=True)}
    return _walked(catalog, tour, rows_of, total_of, page=page, nodes_max=nodes_max)


def _walked(
    catalog: Catalog,
    tour: Tour,
    rows_of: dict[Opened, Rows],
    total_of: dict[Opened, int],
    *,
    page: int,
    nodes_max: int,
) -> _Reached:
    """Go through the steps again: what hangs on nothing that is shown is not shown either."""
    shown: dict[NodeKey, None] = {}
    stages: list[tuple[NodeKey, ...]] = []
    turns: dict[Opened, int] = {}
    is_cut = False
    for step in tour.steps:
        if isinstance(step, NodeKey):
            fresh = [step]
        elif step in rows_of and step.owner in shown:
            turn = turns[step] = turns.get(step, -1) + 1
            rows = rows_of[step][turn * page : (turn + 1) * page]
            fresh = _keys(other_end(catalog, step.hop), rows)
        else:
            continue
        fresh = [key for key in fresh if key not in tour.removed]
        room = nodes_max - len(shown)
        new = [key for key in fresh if key not in shown]
        is_cut = is_cut or len(new) > room
        stages.append(tuple(fresh if len(new) <= room else new[:room]))
        shown.update(dict.fromkeys(stages[-1]))
    stubs = tuple(
        Stub(owner=each.owner, hop=each.hop, more=total - len(rows_of[each]))
        for each, total in total_of.items()
        if each.owner in shown and total > len(rows_of[each])
    )
    labels = {
        NodeKey(other_end(catalog, each.hop), row["id"]): label_of(row)
        for each, rows in rows_of.items()
        for row in rows
    }
    return _Reached(stages=tuple(stages), labels=labels, stubs=stubs, is_cut=is_cut)


def _keys(type_name: str, rows: Rows) -> list[NodeKey]:
    return [NodeKey(type_name, row["id"]) for row in rows]


def _settled(
    moment: Moment, keys: Sequence[NodeKey], labels: dict[NodeKey, str]
) -> Asking[tuple[dict[NodeKey, str], set[_Link]]]:
    """Ask which of the nodes there are, as far as that is not known, and how they are connected."""
    catalog, at = moment.catalog, moment.at
    known = asked_known(catalog, [key for key in keys if key not in labels], at)
    links = asked_links(catalog, keys, at, limit=LINKS_MAX)
    answers = yield [question for _, question in (*known, *links)]
    looked_up = {
        NodeKey(type_name, row["id"]): label_of(row)
        for (type_name, _), rows in zip(known, answers, strict=False)
        for row in rows
    }
    found = {
        (edge.name, NodeKey(edge.from_type, row["source"]), NodeKey(edge.to_type, row["target"]))
        for (edge, _), rows in zip(links, answers[len(known) :], strict=True)
        for row in rows
    }
    return labels | looked_up, set(_first_links(found))


def _first_links(links: Iterable[_Link]) -> Iterable[_Link]:
    return islice(sorted(links), LINKS_MAX)
