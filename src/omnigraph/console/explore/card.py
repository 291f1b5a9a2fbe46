"""A node's card: all that it says of itself, and how many neighbours it has each way."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from omnigraph.base.units import counted, spell_bytes
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, NodeType, Scalar
from omnigraph.console.explore.answering import answered
from omnigraph.console.explore.parts import sign_mark
from omnigraph.console.sources.protocol import GraphSource
from omnigraph.console.states import empty
from omnigraph.drawing.asking import Asking, Rows, asked_count, asked_node, hops_of, label_property
from omnigraph.drawing.picture import Hop, NodeKey
from omnigraph.drawing.signs import TypeSign
from omnigraph.drawing.tour import PAGE, Opened, Tour

if TYPE_CHECKING:
    from omnigraph.graphs.blobs import Blob

_FOLDED_FROM = 160
_FOLDED_TO = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What a card shows; `now` is what the node says today, where that is another moment."""

    key: NodeKey
    said: Mapping[str, Any] | None
    now: Mapping[str, Any] | None
    blobs: "Mapping[str, Blob | None]"
    counts: Sequence[tuple[Hop, str, int]]


async def looked_up(source: GraphSource, catalog: Catalog, key: NodeKey, *, at: str, branch: str) -> NodeFacts:
    """Ask for all of it; None where the node is not there."""
    if key.type_name not in catalog.node_by_name:
        return NodeFacts(key=key, said=None, now=None, blobs={}, counts=())
    said, counts = await answered(source, _facts(catalog, key, at))
    now = said if at == branch else (await answered(source, _asked_once(key, branch)))
    blobs: dict[str, Blob | None] = {}
    if said is not None:
        for each in catalog.node_by_name[key.type_name].properties:
            if each.type.scalar is Scalar.BLOB:
                blobs[each.name] = await source.blob(key.type_name, key.id, each.name, at=at)
    return NodeFacts(key=key, said=said, now=now, blobs=blobs, counts=counts)


def _facts(
    catalog: Catalog, key: NodeKey, at: str
) -> Asking[tuple[Mapping[str, Any] | None, list[tuple[Hop, str, int]]]]:
    hops = hops_of(catalog, key.type_name)
    answers = yield [asked_node(key, at), *(asked_count(key, hop, at) for hop, _ in hops)]
    counts = [(hop, other, int(rows[0]["n"])) for (hop, other), rows in zip(hops, answers[1:], strict=True)]
    return _one(answers[0]), counts


def _asked_once(key: NodeKey, at: str) -> Asking[Mapping[str, Any] | None]:
    (rows,) = yield [asked_node(key, at)]
    return _one(rows)


def _one(rows: Rows) -> Mapping[str, Any] | None:
    return rows[0]["a"] if rows else None


def show_card(
    facts: NodeFacts,
    *,
    catalog: Catalog,
    tour: Tour,
    sign: TypeSign | None,
    is_past: bool,
    change: Callable[[Tour], Awaitable[None]],
) -> None:
    """Show the card."""
    key = facts.key
    node_type = catalog.node_by_name.get(key.type_name)
    with ui.element("div").classes("og-row"):
        sign_mark(sign)
        ui.label(key.type_name).classes("og-soft og-small")
        ui.element("div").classes("og-spread")
        ui.button(icon="close", on_click=lambda: change(tour.without(key))).props(
            'flat dense round size=sm aria-label="Remove from the picture"'
        )
    if facts.said is None or node_type is None:
        ui.label(key.id).classes("og-wrap").style("font-weight: 650")
        if facts.now is not None:
            empty("Not there yet", "This node came after the commit that the picture shows.")
        else:
            empty("Not there", "There is no such node in this state of the graph.")
        return
    with ui.element("h2").classes("og-wrap"):
        ui.label(str(facts.said.get(label_property(node_type)) or key.id))
    _properties(facts, node_type, is_past=is_past)
    _ways(facts, tour, change)


def _properties(facts: NodeFacts, node_type: NodeType, *, is_past: bool) -> None:
    assert facts.said is not None
    with ui.element("table").classes("og-table"):
        for name, value in facts.said.items():
            with ui.element("tr"):
                with ui.element("th").props("scope=row"):
                    ui.label(name)
                with ui.element("td"):
                    _value(value)
                    if is_past and facts.now is not None and facts.now.get(name) != value:
                        ui.label("since then:").classes("og-small og-soft")
                        _value(facts.now.get(name))
        for each in node_type.properties:
            if each.type.scalar is Scalar.BLOB:
                with ui.element("tr"):
                    with ui.element("th").props("scope=row"):
                        ui.label(each.name)
                    with ui.element("td"):
                        ui.label(_blob_text(facts.blobs.get(each.name))).classes("og-soft og-wrap")
    if is_past and facts.now is None:
        ui.label("This node went since.").classes("og-small og-soft")


def _blob_text(blob: "Blob | None") -> str:
    if blob is None:
        return "–"
    return f"at {blob.uri}" if blob.size is None else spell_bytes(blob.size)


def _value(value: Any) -> None:
    text = value_text(value)
    if len(text) <= _FOLDED_FROM:
        ui.label(text).classes("og-value" if value is not None else "og-value og-soft")
        return
    with ui.element("details"):
        with ui.element("summary"):
            ui.label(text[:_FOLDED_TO] + "…").style("display: inline")
        ui.label(text).classes("og-value")


def value_text(value: Any) -> str:
    """Spell a value for people."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _ways(facts: NodeFacts, tour: Tour, change: Callable[[Tour], Awaitable[None]]) -> None:
    if not facts.counts:
        return
    key = facts.key
    with ui.element("h2").style("margin-top: 14px"):
        ui.label("Neighbours")
    with ui.element("div").classes("og-ways"):
        for hop, other, count in facts.counts:
            open_pages = tour.pages[Opened(owner=key, hop=hop)]
            with ui.element("div"):
                ui.label(str(hop)).classes("og-wrap")
                ui.label(counted(count, other)).classes("og-small og-soft")
            hidden = count - open_pages * PAGE
            if hidden > 0:
                word = "Expand" if not open_pages else f"{min(hidden, PAGE)} more"
                ui.button(word, on_click=lambda hop=hop: change(tour.opened(key, hop))).props(
                    f'flat dense aria-label="{word} {hop.edge_type} {"out" if hop.is_outgoing else "in"}"'
                )
            else:
                ui.element("span")
            if open_pages:
                ui.button(icon="unfold_less", on_click=lambda hop=hop: change(tour.closed(key, hop))).props(
                    f'flat dense round size=sm aria-label="Collapse {hop.edge_type}"'
                )
            else:
                ui.element("span")
