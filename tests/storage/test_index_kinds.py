"""A kind of index is declared once per layer; what others built is told apart, and what nobody declared is an error."""

import pytest

from omnigraph.catalog.index_kinds import IndexKind
from omnigraph.errors import Internal
from omnigraph.maintenance.optimize.costs import fold_seconds
from omnigraph.storage.index_check import CHECKS
from omnigraph.storage.index_kinds import LANCE_INDEXES, kind_built, kind_described, lance_index
from omnigraph.storage.layout import FragmentLayout, IndexLayout, SegmentLayout, TableLayout


def described(word: str) -> IndexLayout:
    segment = SegmentLayout(uuid="u", dataset_version=1, index_version=0, fragment_ids=frozenset(), is_inherited=False)
    return IndexLayout(name="i", kind=word, field_ids=(0,), columns=("c",), segments=(segment,))


@pytest.mark.parametrize("kind", IndexKind)
def test_every_kind_is_built_described_checked_and_estimated(kind: IndexKind) -> None:
    found = lance_index(kind)
    lance_type, _ = found.choose(1_000, 8)
    fragment = FragmentLayout(fragment_id=0, physical_rows=10, deleted_rows=0, bytes=1)
    layout = TableLayout(
        version=1, fragments=(fragment,), indexes=(), column_count=1, has_blobs=False, has_auto_cleanup=False
    )
    assert kind_built(lance_type) is found
    assert kind_described(found.described_as) is kind
    assert described(found.described_as).holds_addresses is found.holds_addresses
    assert fold_seconds(layout, described(found.described_as)) > 0
    assert kind in CHECKS


def test_the_words_of_lance_tell_kinds_apart() -> None:
    words = [found.described_as for found in LANCE_INDEXES.values()]
    assert [kind_described(word) for word in words] == list(LANCE_INDEXES)
    assert kind_described("IVF_PQ") is IndexKind.VECTOR


@pytest.mark.parametrize(("word", "holds_addresses"), [("Bitmap", False), ("ZoneMap", True), ("LabelList", False)])
def test_an_index_that_others_built_is_none_of_ours(word: str, holds_addresses: bool) -> None:
    foreign = described(word)
    assert foreign.index_kind is None
    assert not foreign.follows_rewrites
    assert not foreign.folds_like_a_build
    assert foreign.holds_addresses is holds_addresses


def test_a_kind_that_nobody_declared_is_an_error() -> None:
    with pytest.raises(Internal, match="bitmap"):
        lance_index("bitmap")  # type: ignore[arg-type]
    with pytest.raises(Internal, match="BITMAP"):
        kind_built("BITMAP")
