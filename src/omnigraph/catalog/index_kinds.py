"""The kinds of index that schemas can ask for, and what each of them is: the one place where a kind is declared.

What a kind needs of Lance (its parameters, how it is trained, built, folded and checked) is `storage/index_kinds.py`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.errors import Internal


class IndexKind(StrEnum):
    """The kinds of index that schemas can ask for."""

    BTREE = "btree"
    FTS = "fts"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTraits:
    """Where a kind of index is wanted, and how it is called."""

    name_part: str
    """Its part of the names of indexes, which are stored: never to be changed."""
    is_on_edges: bool = False
    """Whether edge types have it too."""
    is_for_words: bool = False
    """Whether it finds words: of free text only, and not where a text is merely unique."""
    is_answered_by_id: bool = False
    """Whether the index of `id` answers for it, on a text that is the whole key."""


INDEX_KINDS: Final[Mapping[IndexKind, IndexTraits]] = {
    IndexKind.BTREE: IndexTraits(name_part="btree", is_on_edges=True, is_answered_by_id=True),
    IndexKind.FTS: IndexTraits(name_part="fts", is_for_words=True),
    IndexKind.VECTOR: IndexTraits(name_part="vec"),
}


def index_traits(kind: IndexKind) -> IndexTraits:
    """Return what a kind of index is."""
    found = INDEX_KINDS.get(kind)
    if found is None:
        raise Internal(f"catalog/index_kinds.py does not say what an index of kind {kind} is")
    return found
