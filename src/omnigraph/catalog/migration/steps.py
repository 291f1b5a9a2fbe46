"""The steps of a migration plan: who reads these classes knows what a schema change can do to a graph.

Types and properties carry the names they have after the plan; only what is dropped, or renamed, has its accepted name.
"""

from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.catalog.migration.codes import ChangeCode
from omnigraph.catalog.model import Annotation, Index, LiteralValue, PropertyType
from omnigraph.catalog.numbering import TypeName
from omnigraph.catalog.shape import TypeKind


class DropMode(StrEnum):
    """Whether earlier graph versions keep what is dropped (`soft`) or lose it right after the publish (`hard`)."""

    SOFT = "soft"
    HARD = "hard"


class Tier(StrEnum):
    """What a refused change would need: a check of the existing data, or giving some of it up."""

    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddType:
    """Declare a type; a node or edge type starts with an empty table."""

    type_kind: TypeKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameType:
    """Give a node or edge type another name; its table stays where it is."""

    type_kind: TypeKind
    from_name: str
    to_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProperty:
    """Add a column; existing entities get the default, or null without one."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: PropertyType
    default: LiteralValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProperty:
    """Rename a column; its data, identity and constraints stay."""

    type_kind: TypeKind
    type_name: str
    from_name: str
    to_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendEnum:
    """Allow more values; stored ones stay as they are."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    """Declare an index, which the next optimize builds; no other constraint can join existing data unseen."""

    type_kind: TypeKind
    type_name: str
    constraint: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTypeMetadata:
    """Replace the annotations of a type by these, which differ only in what clients read."""

    type_kind: TypeKind
    name: str
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePropertyMetadata:
    """Replace the description and default of a property, or what an interface passes on; stored values stay."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[Annotation, ...]
    default: LiteralValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProperty:
    """Remove a column, and with it every index and rule that mentions it."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode
    code: ChangeCode


@dataclass(frozen=True, slots=True, kw_only=True)
class DropType:
    """Remove a node or edge type with its table."""

    type_kind: TypeKind
    name: str
    mode: DropMode
    code: ChangeCode


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedChange:
    """Refuse the plan: this difference cannot be applied to a graph that may hold data."""

    entity: str
    reason: str
    code: ChangeCode

    @property
    def tier(self) -> Tier:
        """What supporting this change would need."""
        is_destructive = self.code in {ChangeCode.TYPE_CHANGED, ChangeCode.ENDPOINT_CHANGED}
        return Tier.DESTRUCTIVE if is_destructive else Tier.VALIDATED


MigrationStep = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | ExtendEnum
    | AddConstraint
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropProperty
    | DropType
    | UnsupportedChange
)


def entity_name(owner: TypeName, property_name: str | None = None) -> str:
    """Spell a type or property as messages and documents name it: `node:Job` or `node:Job.cost`."""
    entity = f"{owner.kind}:{owner.name}"
    return entity if property_name is None else f"{entity}.{property_name}"
