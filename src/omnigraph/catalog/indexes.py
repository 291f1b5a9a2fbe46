"""Which indexes a type wants; `optimize` builds them, nothing else does.

Names hold the property id, not the property name, so that a rename never collides with an older index.
"""

from collections.abc import Iterator

from omnigraph.base.values import dataclass
from omnigraph.catalog.index_kinds import IndexKind, index_traits
from omnigraph.catalog.model import EntityType, Index, Key, NodeType, Property, Unique
from omnigraph.catalog.scalars import Family, traits_of

__all__ = ["IndexIntent", "IndexKind", "index_intents"]


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
            IndexIntent(
                name=f"og_{index_traits(kind).name_part}_{declared.property_id}", column=declared.name, kind=kind
            )
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
    for kind in traits_of(declared.type.scalar).index_kinds:
        traits = index_traits(kind)
        if not isinstance(entity, NodeType) and not traits.is_on_edges:
            continue
        if traits.is_for_words and (not _is_free_text(declared) or named_in == {Unique}):
            continue
        if traits.is_answered_by_id and _is_single_text_key(entity, declared):
            continue
        yield kind


def _is_single_text_key(entity: EntityType, declared: Property) -> bool:
    """Tell whether `id` equals this property, so that the BTREE of `id` answers for it."""
    is_key = isinstance(entity, NodeType) and entity.key == Key(properties=(declared.name,))
    return is_key and _is_free_text(declared)


def _is_free_text(declared: Property) -> bool:
    return traits_of(declared.type.scalar).family is Family.TEXT and declared.type.enum_values is None
