"""What Lance makes of every kind of index: the one place that knows its words, parameters and habits.

`catalog/index_kinds.py` says which kinds there are and where schemas want them, `index_check.py` how the answers of
each are compared with a scan. Tables may also hold indexes that others built, of kinds that are none of ours: these are
left as they are, and `kind_described` says None.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from omnigraph.base.values import dataclass
from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.errors import Internal
from omnigraph.storage.text_analysis import FULL_TEXT_SETTINGS

VECTORS_TO_TRAIN_MIN = 256
"""Fewer vectors than this are searched faster without an index than one could be trained on them."""
_VECTORS_PER_PARTITION = 4_096
_PRODUCT_QUANTIZED_FROM = 65_536
_FULL_TEXT = {**FULL_TEXT_SETTINGS, "with_position": False}

TypeAndParameters: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanceIndex:
    """How Lance builds and keeps a kind of index."""

    described_as: str
    """How Lance's word for it begins where it describes one."""
    built_as: str
    """How Lance's word for it begins where it is asked to build one."""
    choose: Callable[[int, int], TypeAndParameters]
    """Type and parameters, for so many values of so many dimensions."""
    values_min: int = 0
    """How many values an index needs, nulls not counted; 0 if they need not be counted."""
    is_trained: bool = False
    """Whether pieces of one need a common model."""
    is_whole_when_built: bool = False
    """Whether one piece can be read as it is built; merging it with nothing would double its cost."""
    holds_addresses: bool = False
    """Whether it knows rows by where they lie, so that a rewrite takes them out of it; the others know their ids."""
    folds_like_a_build: bool = False
    """Whether folding costs as much as building, which can be done without the gates."""


def _btree(values: int, dimension: int) -> TypeAndParameters:
    """For equality, ranges and prefixes."""
    del values, dimension
    return "BTREE", {}


def _full_text(values: int, dimension: int) -> TypeAndParameters:
    """For words; every parameter is explicit, none a default of a library."""
    del values, dimension
    return "INVERTED", _FULL_TEXT


def _vector(values: int, dimension: int) -> TypeAndParameters:
    """For nearest neighbours: exact while that is affordable."""
    partitions = max(1, values // _VECTORS_PER_PARTITION)
    sub_vectors = next((dimension // width for width in (8, 4) if dimension % width == 0), 0)
    if values < _PRODUCT_QUANTIZED_FROM or not sub_vectors:
        return "IVF_FLAT", {"metric": "cosine", "num_partitions": partitions}
    return "IVF_PQ", {"metric": "cosine", "num_partitions": partitions, "num_sub_vectors": sub_vectors}


LANCE_INDEXES: Final[Mapping[IndexKind, LanceIndex]] = {
    IndexKind.BTREE: LanceIndex(
        described_as="BTree", built_as="BTREE", choose=_btree, is_whole_when_built=True, holds_addresses=True
    ),
    IndexKind.FTS: LanceIndex(described_as="Inverted", built_as="INVERTED", choose=_full_text, folds_like_a_build=True),
    IndexKind.VECTOR: LanceIndex(
        described_as="IVF", built_as="IVF", choose=_vector, values_min=VECTORS_TO_TRAIN_MIN, is_trained=True
    ),
}


def lance_index(kind: IndexKind) -> LanceIndex:
    """Return what Lance makes of a kind."""
    found = LANCE_INDEXES.get(kind)
    if found is None:
        raise Internal(f"storage/index_kinds.py does not say how Lance builds an index of kind {kind}")
    return found


def kind_described(word: str) -> IndexKind | None:
    """Return the kind that Lance describes with a word; None for indexes that we do not build."""
    return next((kind for kind, found in LANCE_INDEXES.items() if word.startswith(found.described_as)), None)


def kind_built(lance_type: str) -> LanceIndex:
    """Return the kind that is built as a type of Lance's."""
    found = next((found for found in LANCE_INDEXES.values() if lance_type.startswith(found.built_as)), None)
    if found is None:
        raise Internal(f"no kind of index is built as {lance_type}")
    return found
