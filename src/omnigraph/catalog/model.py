"""The compiled schema as frozen values: what every layer above reads, and what the IR document stores.

Names may change, numeric ids never do. A node or edge type owns one Lance table, named by its identity. Values here
are already checked; `catalog/compile.py` makes them from a parsed source, `catalog/ir.py` from a stored document.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NewType

from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import FLOATS, INTEGERS, NUMBERS, LiteralValue, Scalar, traits_of

if TYPE_CHECKING:
    from omnigraph.catalog.blob_bases import BlobBases

__all__ = [
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "Annotation",
    "Cardinality",
    "Catalog",
    "Constraint",
    "EdgeType",
    "EmbedSource",
    "EntityKind",
    "EntityType",
    "Index",
    "InterfaceType",
    "Key",
    "LiteralValue",
    "NodeType",
    "PatternCheck",
    "Property",
    "PropertyType",
    "Range",
    "Scalar",
    "TableIdentity",
    "TableKey",
    "Unique",
]

TableKey = NewType("TableKey", str)
"""`node:<Type>` or `edge:<Type>`: the current name of a table."""

EntityKind = Literal["node", "edge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyType:
    """The declared type of a property; `str()` gives its display name, e.g. `enum(a, b)?` or `[String]`."""

    scalar: Scalar
    nullable: bool = False
    is_list: bool = False
    dimension: int | None = None
    enum_values: tuple[str, ...] | None = None
    blob_bases: "BlobBases | None" = field(default=None, compare=False, repr=False)
    """What references of a Blob may lie below, where input is read; no part of what the schema declares."""

    def __str__(self) -> str:
        if self.enum_values is not None:
            core = f"enum({', '.join(self.enum_values)})"
        elif self.dimension is not None:
            core = f"{self.scalar}({self.dimension})"
        else:
            core = self.scalar.value
        return (f"[{core}]" if self.is_list else core) + ("?" if self.nullable else "")

    @property
    def is_vector(self) -> bool:
        """Whether a value is a row of numbers, as many as `dimension` says."""
        return self.scalar is Scalar.VECTOR

    @property
    def is_sequence(self) -> bool:
        """Whether a value has items: a list or a vector."""
        return self.is_list or self.is_vector

    @property
    def is_single(self) -> bool:
        """Whether a value is one that can be compared: no list, no vector, no blob."""
        return not self.is_list and traits_of(self.scalar).is_single


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """An annotation that carries no rule for data: descriptions, instructions, and names unknown to this program."""

    name: str
    value: LiteralValue | None = None
    kwargs: tuple[tuple[str, LiteralValue], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedSource:
    """The `@embed` of a vector property: which text it is made from and by which model, if recorded."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a node, edge or interface; its id survives renames and is never reused."""

    name: str
    property_id: int
    type: PropertyType
    annotations: tuple[Annotation, ...] = ()
    default: LiteralValue | None = None
    embed: EmbedSource | None = None
    declared_directly: bool = True
    satisfies: tuple[int, ...] = ()
    """Ids of the interface properties that this node property fulfils, ascending."""
    property_constraints: tuple[str, ...] = ()
    """Interface properties only: the subset of `index`, `key`, `unique` written on them, sorted."""

    @property
    def may_be_pending(self) -> bool:
        """Whether a missing value is stored as null until `embed` fills it, even when the property is required."""
        return self.embed is not None

    @property
    def stored_nullable(self) -> bool:
        """Whether the Arrow column is nullable."""
        return self.type.nullable or self.may_be_pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """`@key`: the properties that identify a node, ordered by ascending property id."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """`@unique`: no two entities share the tuple; on edges `src` and `dst` name the endpoints. Sorted by name."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """`@index`: each listed property wants an index of its own. Sorted by name."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`@range`: inclusive numeric bounds, either side may be open."""

    property: str
    low: int | float | None
    high: int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternCheck:
    """`@check`: an unanchored RE2 pattern that a string must contain."""

    property: str
    pattern: str


Constraint = Key | Unique | Index | Range | PatternCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """`@card`: how many edges of a type a source node may have; `high` None means unbounded."""

    low: int = 0
    high: int | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether every count is allowed, so that no check is needed."""
        return self.low == 0 and self.high is None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIdentity:
    """What names a table for ever: `(stable type id, incarnation id)`."""

    type_id: int
    incarnation_id: int

    def __str__(self) -> str:
        return f"{self.type_id:016x}-{self.incarnation_id:016x}"

    def document(self) -> dict[str, str]:
        """Spell the identity in the words of stored documents: a JSON number cannot hold all of its 64 bits."""
        return {
            "stable_table_id": f"{self.type_id:016x}",
            "table_incarnation_id": f"{self.incarnation_id:016x}",
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "TableIdentity":
        """Read what `document` spelled; what else is in the document does not matter."""
        return cls(
            type_id=int(document["stable_table_id"], 16), incarnation_id=int(document["table_incarnation_id"], 16)
        )


@dataclass(frozen=True, kw_only=True)
class EntityType:
    """What node and edge types share: a table, properties and constraints."""

    name: str
    type_id: int
    table_incarnation_id: int
    properties: tuple[Property, ...]
    """Sorted by name."""
    constraints: tuple[Constraint, ...] = ()
    annotations: tuple[Annotation, ...] = ()

    @property
    def kind(self) -> EntityKind:
        """`node` or `edge`."""
        return "node"

    @property
    def table_key(self) -> TableKey:
        """The current name of this type's table."""
        return TableKey(f"{self.kind}:{self.name}")

    @property
    def identity(self) -> TableIdentity:
        """The identity of this type's table."""
        return TableIdentity(type_id=self.type_id, incarnation_id=self.table_incarnation_id)

    @cached_property
    def property_by_name(self) -> dict[str, Property]:
        """The properties by their current names."""
        return {declared.name: declared for declared in self.properties}

    @cached_property
    def uniques(self) -> tuple[Unique, ...]:
        """The `@unique` constraints; a key needs none, because ids are unique."""
        return tuple(rule for rule in self.constraints if isinstance(rule, Unique))

    @cached_property
    def range_by_property(self) -> dict[str, tuple[Range, ...]]:
        """The `@range` constraints of each property that has one."""
        found: dict[str, tuple[Range, ...]] = {}
        for rule in self.constraints:
            if isinstance(rule, Range):
                found[rule.property] = (*found.get(rule.property, ()), rule)
        return found

    @cached_property
    def check_by_property(self) -> dict[str, tuple[PatternCheck, ...]]:
        """The `@check` constraints of each property that has one."""
        found: dict[str, tuple[PatternCheck, ...]] = {}
        for rule in self.constraints:
            if isinstance(rule, PatternCheck):
                found[rule.property] = (*found.get(rule.property, ()), rule)
        return found


@dataclass(frozen=True, kw_only=True)
class NodeType(EntityType):
    """A node type; with a key its ids are derived from the key values."""

    implements: tuple[str, ...] = ()
    """Names of the interfaces, by ascending interface id."""

    @cached_property
    def key(self) -> Key | None:
        """The key, if the type has one."""
        return next((rule for rule in self.constraints if isinstance(rule, Key)), None)


@dataclass(frozen=True, kw_only=True)
class EdgeType(EntityType):
    """An edge type between two node types."""

    from_type: str
    to_type: str
    cardinality: Cardinality = Cardinality()

    @property
    def kind(self) -> EntityKind:
        """`edge`."""
        return "edge"


@dataclass(frozen=True, kw_only=True)
class InterfaceType:
    """An interface: properties that node types take over; it has no table."""

    name: str
    type_id: int
    properties: tuple[Property, ...]


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """An accepted schema: every type with its identities, sorted by name within each kind."""

    identity_domain: str
    next_identity_id: int
    interfaces: tuple[InterfaceType, ...]
    nodes: tuple[NodeType, ...]
    edges: tuple[EdgeType, ...]

    @cached_property
    def node_by_name(self) -> dict[str, NodeType]:
        """Node types by exact name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def edge_by_folded_name(self) -> dict[str, EdgeType]:
        """Edge types by case-folded name: edges are found whatever the letter case."""
        return {edge.name.casefold(): edge for edge in self.edges}

    @cached_property
    def type_by_table_key(self) -> dict[TableKey, EntityType]:
        """Every type that owns a table, by table key, in table-key order (edges before nodes)."""
        return {entity.table_key: entity for entity in sorted(self.entity_types(), key=lambda found: found.table_key)}

    @cached_property
    def type_by_identity(self) -> dict[TableIdentity, EntityType]:
        """Every type that owns a table, by table identity."""
        return {entity.identity: entity for entity in self.entity_types()}

    def entity_types(self) -> Iterator[EntityType]:
        """Yield node types, then edge types, each by name."""
        yield from self.nodes
        yield from self.edges

    def edges_touching(self, node_name: str) -> tuple[EdgeType, ...]:
        """Return the edge types that have `node_name` at either end."""
        return tuple(edge for edge in self.edges if node_name in (edge.from_type, edge.to_type))
