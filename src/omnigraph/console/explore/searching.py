"""Finding nodes: by the beginning of an id, by words, by meaning."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, NodeType
from omnigraph.console.explore.state import MEANING, RESULTS_PAGE, Searched
from omnigraph.drawing.asking import Asking, Question, label_of, label_property, searched_properties
from omnigraph.drawing.picture import NodeKey

_SNIPPET = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A node that was found, and the text in which it was."""

    key: NodeKey
    label: str
    snippet: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What was found, best first, and whether there may be more."""

    hits: tuple[Hit, ...]
    has_more: bool


def embedded_properties(node_type: NodeType) -> list[str]:
    """Return the vectors that are made from texts: only these can be asked with a text."""
    return [each.name for each in node_type.properties if each.embed is not None]


def can_search_meaning(catalog: Catalog) -> bool:
    """Tell whether any type has vectors of texts."""
    return any(embedded_properties(each) for each in catalog.nodes)


def found(catalog: Catalog, searched: Searched, *, at: str) -> Asking[Hits]:
    """Search; without a text, list the first nodes of each type."""
    limit = searched.pages * RESULTS_PAGE
    types = [each for each in catalog.nodes if searched.type_name in ("", each.name)]
    asked = [pair for each in types for pair in _questions(each, searched, at, limit + 1)]
    answers = yield [question for _, question in asked]
    by_question = [[_hit(node_type, row) for row in rows] for (node_type, _), rows in zip(asked, answers, strict=True)]
    if not searched.text and not searched.type_name:
        by_question = [hits[:3] for hits in by_question]
    hits = list({hit.key: hit for hits in reversed(by_question) for hit in reversed(hits)}.values())[::-1]
    is_whole = len(hits) <= limit or not searched.is_asked
    return Hits(hits=tuple(hits if is_whole else hits[:limit]), has_more=not is_whole)


def _questions(node_type: NodeType, searched: Searched, at: str, limit: int) -> list[tuple[NodeType, Question]]:
    if not searched.text:
        texts = [_read(node_type, "", "", "$a.id", limit)]
    elif searched.by == MEANING:
        texts = [_read(node_type, "", "", f"nearest($a.{name}, $q)", limit) for name in embedded_properties(node_type)]
    else:
        texts = [_read(node_type, "$a.id starts_with $q", "", "$a.id", limit)]
        texts += [
            _read(node_type, "", f", $a.{name} as snippet", f"bm25($a.{name}, $q)", limit)
            for name in searched_properties(node_type)
        ]
    params = {"q": searched.text} if searched.text else {}
    return [(node_type, Question(text=text, params=params, at=at)) for text in texts]


def _read(node_type: NodeType, condition: str, more: str, order: str, limit: int) -> str:
    asks = "$q: String" if "$q" in condition + order else ""
    return (
        f"query find({asks}) {{ match {{ $a: {node_type.name} {condition} }} "
        f"return {{ $a.id as id, $a.{label_property(node_type)} as label{more} }} order {{ {order} }} limit {limit} }}"
    )


def _hit(node_type: NodeType, row: Mapping[str, Any]) -> Hit:
    label = label_of(row)
    snippet = str(row.get("snippet") or "")
    return Hit(
        key=NodeKey(node_type.name, row["id"]),
        label=label,
        snippet="" if snippet == label else snippet[:_SNIPPET] + ("…" if len(snippet) > _SNIPPET else ""),
    )
