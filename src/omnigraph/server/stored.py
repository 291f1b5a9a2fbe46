"""Stored queries: the applied queries of a graph, checked once when the server starts, and run by their name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass
from omnigraph.catalog.scalars import traits_of
from omnigraph.language.query import parse_queries
from omnigraph.query.check import check_query
from omnigraph.query.choosing import query_named
from omnigraph.query.typed import CheckedMutation

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog, PropertyType


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParameter:
    """One declared parameter."""

    name: str
    type: "PropertyType"

    def document(self) -> dict[str, Json]:
        """Describe the parameter for clients."""
        declared = self.type
        document: dict[str, Json] = {"name": self.name}
        if declared.is_vector:
            document |= {"kind": "vector", "vector_dim": declared.dimension}
        elif declared.is_list:
            document |= {"kind": "list", "item_kind": traits_of(declared.scalar).column_kind}
        else:
            document["kind"] = traits_of(declared.scalar).column_kind
        document["nullable"] = declared.nullable
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """One query of the catalog; `text` is the file that declares it."""

    name: str
    text: str
    is_mutation: bool
    parameters: tuple[StoredParameter, ...]
    description: str | None = None
    instruction: str | None = None

    @property
    def source(self) -> str:
        """What messages call the text."""
        return f"stored query {self.name}"

    def document(self) -> dict[str, Json]:
        """Describe the query for clients."""
        document: dict[str, Json] = {"name": self.name, "tool_name": self.name}
        texts = {"description": self.description, "instruction": self.instruction}
        document |= {name: text for name, text in texts.items() if text is not None}
        document["mutation"] = self.is_mutation
        document["params"] = [parameter.document() for parameter in self.parameters]
        return document


def check_stored(texts: Mapping[str, str], catalog: "Catalog") -> dict[str, StoredQuery]:
    """Parse the texts of queries by name and check each against the live schema; raises what a query would."""
    found: dict[str, StoredQuery] = {}
    for name, text in sorted(texts.items()):
        file = parse_queries(text, source=f"stored query {name}")
        syntax = query_named(file, name)
        checked = check_query(syntax, catalog, source=file.source)
        found[name] = StoredQuery(
            name=name,
            text=text,
            is_mutation=isinstance(checked, CheckedMutation),
            parameters=tuple(StoredParameter(name=each.name, type=each.type) for each in checked.parameters),
            description=syntax.description,
            instruction=syntax.instruction,
        )
    return found
