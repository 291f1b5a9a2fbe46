"""A checked schema without identities: what a source text says, before anything is numbered.

A new graph numbers a shape from one; a migration matches it against an accepted catalog first and numbers only what
is new (`catalog/numbering.py`). Rename hints live here and nowhere later: an accepted schema has no use for them.
"""

from typing import Literal

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Annotation, Cardinality, Constraint, EmbedSource, LiteralValue, PropertyType

TypeKind = Literal["interface", "node", "edge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyShape:
    """A property as `catalog.model.Property` will hold it, with names where that has ids."""

    name: str
    type: PropertyType
    annotations: tuple[Annotation, ...] = ()
    default: LiteralValue | None = None
    embed: EmbedSource | None = None
    rename_from: str | None = None
    declared_directly: bool = True
    satisfies: tuple[str, ...] = ()
    """Nodes only: the interfaces that declare a property of this name, sorted."""
    property_constraints: tuple[str, ...] = ()
    """Interfaces only: the subset of `index`, `key`, `unique` written on the property, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceShape:
    """An interface with its properties, sorted by name."""

    name: str
    properties: tuple[PropertyShape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """A node type with its own and its injected properties, sorted by name; key members are sorted by name too."""

    name: str
    properties: tuple[PropertyShape, ...]
    constraints: tuple[Constraint, ...]
    annotations: tuple[Annotation, ...]
    implements: tuple[str, ...]
    rename_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShape:
    """An edge type between two declared node types."""

    name: str
    from_type: str
    to_type: str
    cardinality: Cardinality
    properties: tuple[PropertyShape, ...]
    constraints: tuple[Constraint, ...]
    annotations: tuple[Annotation, ...]
    rename_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaShape:
    """A whole schema; every kind is sorted by name, so declaration order is gone."""

    interfaces: tuple[InterfaceShape, ...]
    nodes: tuple[NodeShape, ...]
    edges: tuple[EdgeShape, ...]
