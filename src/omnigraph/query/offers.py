"""What could stand where the cursor is in a query: words of the language, names of the schema, variables."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from omnigraph.base.values import dataclass

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, EntityType, InterfaceType

KEYWORDS: Final = (
    *("match", "return", "order", "limit", "query", "not", "as", "asc", "desc", "contains", "starts_with", "shortest"),
    *("insert", "update", "set", "where", "delete", "null", "true", "false", "now", "date", "datetime"),
    *("count", "sum", "avg", "min", "max"),
    *("nearest", "search", "fuzzy", "match_text", "bm25", "rrf"),
)
_BEGUN = re.compile(r"\$?[A-Za-z_]?[A-Za-z0-9_]*\Z")
_OF_VARIABLE = re.compile(r"\$([a-z_][A-Za-z0-9_]*)\.\Z")
_DECLARED = re.compile(r"\$([a-z_][A-Za-z0-9_]*)\s*:\s*([A-Za-z_][A-Za-z0-9_]*)")
_VARIABLE = re.compile(r"\$[a-z_][A-Za-z0-9_]*")
_BEFORE_TYPE = re.compile(r"(?:\$[a-z_][A-Za-z0-9_]*\s*:|\b(?:insert|update|delete))\s*\Z")
_BETWEEN_ENDS = re.compile(r"\$[a-z_][A-Za-z0-9_]*\s+\$[a-z_][A-Za-z0-9_]*\s*:\s*\Z")
_WITHIN_TYPE = re.compile(r"\b([A-Z][A-Za-z0-9_]*)\s*(?:set\s*)?\{[^{}]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One word that fits, what it is, and how many letters of it are there already."""

    text: str
    what: str
    typed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names of one graph; edges as patterns spell them, with a small first letter."""

    node_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()
    properties_by_type: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    branches: tuple[str, ...] = ()

    @classmethod
    def of(cls, catalog: "Catalog", branches: Iterable[str]) -> "Vocabulary":
        """Read the names off a schema."""
        typed: list[EntityType | InterfaceType] = [*catalog.interfaces, *catalog.entity_types()]
        return cls(
            node_types=(*(found.name for found in catalog.interfaces), *(found.name for found in catalog.nodes)),
            edge_types=tuple(found.name for found in catalog.edges),
            properties_by_type={found.name: tuple(declared.name for declared in found.properties) for found in typed},
            branches=tuple(branches),
        )


def query_offers(before: str, vocabulary: Vocabulary) -> Iterator[Offer]:
    """Yield what fits behind the text of a query before the cursor, the most likely first."""
    found = _BEGUN.search(before)
    typed = found[0] if found else ""
    for names, what in _names_after(before.removesuffix(typed) if typed else before, typed, vocabulary):
        yield from fitting(typed, names, what)


def fitting(typed: str, names: Iterable[str], what: str) -> Iterator[Offer]:
    """Yield the names that start with what is typed, and are more than it."""
    for name in dict.fromkeys(names):
        if name.startswith(typed) and name != typed:
            yield Offer(text=name, what=what, typed=len(typed))


def _names_after(before: str, typed: str, vocabulary: Vocabulary) -> Iterator[tuple[Iterable[str], str]]:
    types = vocabulary.properties_by_type
    declared = dict(_DECLARED.findall(before))
    if variable := _OF_VARIABLE.search(before):
        of = declared.get(variable[1], "")
        if of == "shortest":
            yield ("hops",), "property"
            return
        yield (types[of] if of in types else (name for names in types.values() for name in names)), "property"
        return
    if typed.startswith("$"):
        yield _VARIABLE.findall(before), "variable"
        return
    if place := _BEFORE_TYPE.search(before):
        yield vocabulary.node_types, "type"
        if "$" not in place[0]:
            yield vocabulary.edge_types, "edge"
        elif _BETWEEN_ENDS.search(before):
            yield _edge_words(vocabulary), "edge"
            yield ("shortest",), "keyword"
        return
    if (within := _WITHIN_TYPE.search(before)) and within[1] in types:
        yield types[within[1]], "property"
        yield ("from", "to"), "end of an edge"
        return
    yield KEYWORDS, "keyword"
    yield _edge_words(vocabulary), "edge"
    yield vocabulary.node_types, "type"


def _edge_words(vocabulary: Vocabulary) -> Iterator[str]:
    return (name[:1].lower() + name[1:] for name in vocabulary.edge_types)
