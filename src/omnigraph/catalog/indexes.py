"""Which indexes a type wants; `optimize` builds them, nothing else does.

Names hold the property id, not the property name, so that a rename never collides with an older index.
"""

from collections.abc import Iterator
from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, Index, Key, NodeType, Property, Scalar, Unique


class IndexKind(StrEnum):
    """The kinds of index that schemas can ask for."""

    BTREE = "btree"
    FTS = "fts"
    VECTOR = "vector"


_NAME_PARTS = {IndexKind.BTREE: "btree", IndexKind.FTS: "fts", IndexKind.VECTOR: "vec"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexIntent:
    """One index on one column that a table should have."""

    name: str
    column: str
    kind: IndexKind

    @property
    def is_built_in(self) -> bool:
        """Whether every table has it, on a column of the program; the others are declared in the schema."""
        return self.name == _built_in_name(self.column)


def index_intents(entity: EntityType) -> tuple[IndexIntent, ...]:
    """Return the indexes of a type: system columns first, then properties by name, BTREE before full text."""
    system = ("id",) if isinstance(entity, NodeType) else ("id", "src", "dst")
    return (
        *(IndexIntent(name=_built_in_name(column), column=column, kind=IndexKind.BTREE) for column in system),
        *(
            IndexIntent(name=f"og_{_NAME_PARTS[kind]}_{declared.property_id}", column=declared.name, kind=kind)
            for declared in entity.properties
            for kind in _kinds(entity, declared)
        ),
    )


def _built_in_name(column: str) -> str:
    # Never that of a declared index: those have the number of a property where this has the name of a column.
    return f"og_btree_{column}"


def _kinds(entity: EntityType, declared: Property) -> Iterator[IndexKind]:
    named_in = {
        type(rule)
        for rule in entity.constraints
        if isinstance(rule, (Index, Key, Unique)) and declared.name in rule.properties
    }
    if not named_in:
        return
    is_node = isinstance(entity, NodeType)
    if declared.type.scalar is Scalar.VECTOR:
        if is_node:
            yield IndexKind.VECTOR
        return
    if not _is_single_text_key(entity, declared):
        yield IndexKind.BTREE
    if is_node and _is_free_text(declared) and named_in != {Unique}:
        yield IndexKind.FTS


def _is_single_text_key(entity: EntityType, declared: Property) -> bool:
    """Tell whether `id` equals this property, so that the BTREE of `id` answers for it."""
    is_key = isinstance(entity, NodeType) and entity.key == Key(properties=(declared.name,))
    return is_key and _is_free_text(declared)


def _is_free_text(declared: Property) -> bool:
    return declared.type.scalar is Scalar.STRING and declared.type.enum_values is None
