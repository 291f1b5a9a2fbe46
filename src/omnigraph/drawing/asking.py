"""What is asked about nodes and their neighbours, in the query language; whoever has a graph asks it.

Ids come as parameters and names of types from the schema, so that no text of a graph ever becomes part of a query.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from omnigraph.base.values import dataclass
from omnigraph.catalog.indexes import IndexKind, index_intents
from omnigraph.catalog.model import Catalog, EdgeType, NodeType, Scalar
from omnigraph.drawing.picture import Hop, NodeKey

AnswerT = TypeVar("AnswerT")
_LABEL_NAMES = ("name", "title", "label", "full_name", "display_name", "subject", "headline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One read, and the state that it is asked of."""

    text: str
    params: Mapping[str, object]
    at: str


Rows = Sequence[Mapping[str, Any]]
Asking = Generator[Sequence[Question], Sequence[Rows], AnswerT]
"""Questions that can be asked at the same time, round by round; the rows of each are sent back in their order."""


def label_property(node_type: NodeType) -> str:
    """Return the property by which people know a node, which is the id where there is none."""
    texts = [each.name for each in node_type.properties if _is_text(node_type, each.name)]
    named = [name for name in _LABEL_NAMES if name in texts]
    if named:
        return named[0]
    if node_type.key is None and texts:
        return texts[0]
    return "id"


def searched_properties(node_type: NodeType) -> list[str]:
    """Return the properties whose words have an index."""
    intents = (each for each in index_intents(node_type) if each.kind is IndexKind.FTS)
    return [each.column for each in intents if _is_text(node_type, each.column)]


def _is_text(node_type: NodeType, name: str) -> bool:
    declared = node_type.property_by_name[name].type
    return declared.scalar is Scalar.STRING and not declared.is_list and declared.enum_values is None


def hops_of(catalog: Catalog, type_name: str) -> list[tuple[Hop, str]]:
    """Return the ways from nodes of a type, each with the type at its other end."""
    found = []
    for edge in catalog.edges:
        if edge.from_type == type_name:
            found.append((Hop(edge.name, is_outgoing=True), edge.to_type))
        if edge.to_type == type_name:
            found.append((Hop(edge.name, is_outgoing=False), edge.from_type))
    return found


def asked_known(catalog: Catalog, keys: Iterable[NodeKey], at: str) -> list[tuple[str, Question]]:
    """Ask which of some nodes there are, type by type."""
    found = []
    for type_name, ids in _ids_by_type(keys).items():
        node_type = catalog.node_by_name.get(type_name)
        if node_type is not None:
            wanted = f"return {{ $a.id as id, $a.{label_property(node_type)} as label }}"
            if len(ids) == 1:
                text = f"query known($id: String) {{ match {{ $a: {type_name} {{ id: $id }} }} {wanted} }}"
                found.append((type_name, Question(text=text, params={"id": ids[0]}, at=at)))
            else:
                text = f"query known($ids: [String]) {{ match {{ $a: {type_name} $ids contains $a.id }} {wanted} }}"
                found.append((type_name, Question(text=text, params={"ids": ids}, at=at)))
    return found


def asked_links(catalog: Catalog, keys: Iterable[NodeKey], at: str, *, limit: int) -> list[tuple[EdgeType, Question]]:
    """Ask how some nodes are connected among each other, edge type by edge type."""
    ids = _ids_by_type(keys)
    return [
        (
            edge,
            Question(
                text=(
                    f"query links($from: [String], $to: [String]) {{ match {{ $a: {edge.from_type} "
                    f"$from contains $a.id $a {edge_word(edge.name)} $b $to contains $b.id }} "
                    f"return {{ $a.id as source, $b.id as target }} order {{ $a.id, $b.id }} limit {limit} }}"
                ),
                params={"from": ids[edge.from_type], "to": ids[edge.to_type]},
                at=at,
            ),
        )
        for edge in catalog.edges
        if edge.from_type in ids and edge.to_type in ids
    ]


def asked_neighbours(catalog: Catalog, owner: NodeKey, hop: Hop, at: str, *, limit: int) -> Question:
    """Ask for the first neighbours of a node, by id."""
    other = catalog.node_by_name[other_end(catalog, hop)]
    text = (
        f"query neighbours($id: String) {{ match {{ {_pattern(owner, hop)} }} "
        f"return {{ $b.id as id, $b.{label_property(other)} as label }} order {{ $b.id }} limit {limit} }}"
    )
    return Question(text=text, params={"id": owner.id}, at=at)


def asked_first(node_type: NodeType, at: str, *, limit: int) -> Question:
    """Ask for the first nodes of a type, by id."""
    text = (
        f"query first() {{ match {{ $a: {node_type.name} }} return {{ $a.id as id }} order {{ $a.id }} limit {limit} }}"
    )
    return Question(text=text, params={}, at=at)


def asked_sizes(catalog: Catalog, at: str) -> list[tuple[str, Question]]:
    """Ask how many nodes there are of each type."""
    return [
        (
            each.name,
            Question(
                text=f"query size() {{ match {{ $a: {each.name} }} return {{ count($a) as n }} }}", params={}, at=at
            ),
        )
        for each in catalog.nodes
    ]


def asked_count(owner: NodeKey, hop: Hop, at: str) -> Question:
    """Ask how many neighbours a node has."""
    text = f"query counted($id: String) {{ match {{ {_pattern(owner, hop)} }} return {{ count($b) as n }} }}"
    return Question(text=text, params={"id": owner.id}, at=at)


def asked_node(key: NodeKey, at: str) -> Question:
    """Ask for all that a node says of itself, except for blobs."""
    text = f"query node($id: String) {{ match {{ $a: {key.type_name} {{ id: $id }} }} return {{ $a }} }}"
    return Question(text=text, params={"id": key.id}, at=at)


def other_end(catalog: Catalog, hop: Hop) -> str:
    """Return the type that a hop leads to."""
    edge = catalog.edge_by_folded_name[hop.edge_type.casefold()]
    return edge.to_type if hop.is_outgoing else edge.from_type


def knows(catalog: Catalog, owner: NodeKey, hop: Hop) -> bool:
    """Tell whether a schema has this way from this type; addresses of pages may be older than the schema."""
    return hop in [each for each, _ in hops_of(catalog, owner.type_name)]


def edge_word(name: str) -> str:
    """Spell an edge type as patterns want it: a small letter first, and not the word that negates."""
    return "nOT" if name.casefold() == "not" else name[0].lower() + name[1:]


def label_of(row: Mapping[str, Any]) -> str:
    """Return what a row of `id` and `label` is called."""
    return str(row["id"] if row["label"] in (None, "") else row["label"])


def _pattern(owner: NodeKey, hop: Hop) -> str:
    word = edge_word(hop.edge_type)
    way = f"$a {word} $b" if hop.is_outgoing else f"$b {word} $a"
    return f"$a: {owner.type_name} {{ id: $id }} {way}"


def _ids_by_type(keys: Iterable[NodeKey]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in keys:
        found.setdefault(key.type_name, []).append(key.id)
    return found
