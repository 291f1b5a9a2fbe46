"""The parts of an image against plain dictionaries and lists."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.query.access import MISSING
from omnigraph.query.image import book as book_module
from omnigraph.query.image import hashing, packing
from omnigraph.query.image.adjacency import gather, pairs_in
from omnigraph.query.image.book import Book
from omnigraph.query.image.buffers import numbers_of
from omnigraph.query.image.columns import ImageColumn, PatchedColumn
from omnigraph.query.image.hashing import hash_text, hash_texts
from omnigraph.query.image.packing import build_csr
from omnigraph.query.image.ranks import Ranks
from omnigraph.query.image.rows import BaseRows, TableRows
from omnigraph.query.run.arrays import arrow_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(TEXTS))
@example(["", "a", "12345678", "123456789", "ü" * 9, "\0", "\0\0"])
def test_one_string_and_many_have_equal_hashes(texts: list[str]) -> None:
    assert hash_texts(pa.array(texts, pa.string())).tolist() == [hash_text(text.encode()) for text in texts]


def test_hashes_of_a_slice_are_those_of_its_strings() -> None:
    texts = pa.array(["left out", "a", "some longer text"]).slice(1)

    assert hash_texts(texts).tolist() == [hash_text(b"a"), hash_text(b"some longer text")]


@given(st.lists(st.lists(TEXTS, max_size=8), max_size=6), st.booleans())
def test_a_book_numbers_ids_in_the_order_of_their_coming(chunks: list[list[str]], are_all_alike: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book_module, "_TAIL_MIN", 3)
        if are_all_alike:  # every hash collides with every other
            patch.setattr(book_module, "hash_text", lambda _: 7)
            patch.setattr(book_module, "hash_texts", lambda texts: np.full(len(texts), 7, np.uint64))
        book, known = Book(), dict[str, int]()
        for chunk in chunks:
            for text in chunk:
                known.setdefault(text, len(known))
            assert book.add_all(pa.array(chunk, pa.string())).tolist() == [known[text] for text in chunk]
            assert [book.find(text) for text in known] == [*known.values()]
            assert len(book) == len(known)

        assert book.find("not there \x01") == MISSING
        assert book.find("\ud800") == MISSING
        assert book.ids_of(np.array([*known.values()], np.int32)).to_pylist() == [*known]
        assert [book.id_of(ordinal) for ordinal in known.values()] == [*known]
        sealed, more = book.parts()
        ranks = Ranks.of_ids(sealed.ids).with_more(sealed, more)
        assert [[*known][place] for place in np.argsort(ranks)] == sorted(known, key=str.encode)


NODES = st.integers(0, 6)


@given(st.lists(st.tuples(NODES, NODES), max_size=40), st.booleans(), st.integers(1, 9))
def test_lists_hold_every_edge_at_both_of_its_ends(
    pairs: list[tuple[int, int]], is_wide: bool, piece_rows: int
) -> None:
    near, far = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "PIECE_ROWS", piece_rows)
        if is_wide:  # as if both ends and the place did not fit into one number
            patch.setattr(packing, "_WORD_BITS", 0)
        csr = build_csr(near, far, None, size=8)
        back = build_csr(far, near, None, size=8)
        # Nothing is known about the nodes beforehand, so that they are larger than was expected.
        turned = packing.build_in_pieces(lambda: packing.turned(csr), 1, 1, 40, count=len(pairs), size=lambda: 8)

    assert [part.tolist() for part in (*turned.all, *turned.distinct)] == [
        part.tolist() for part in (*back.all, *back.distinct)
    ]
    assert turned.edges.tolist() == back.edges.tolist()
    for node in range(12):
        expected = Counter(b for a, b in pairs if a == node)
        targets, edges = csr.list_of(node)
        assert targets.tolist() == sorted(expected.elements())
        assert all(pairs[edge] == (node, target) for edge, target in zip(edges, targets, strict=True))
        assert csr.neighbours(node).tolist() == sorted(expected)
    asked = np.array([9, 0, 0, 3], np.int32)
    positions, places = gather(csr.distinct.offsets, asked)
    assert [*zip(positions.tolist(), csr.distinct.targets[places].tolist(), strict=True)] == [
        (place, target)
        for place, node in enumerate(asked.tolist())
        for target in sorted({b for a, b in pairs if a == node})
    ]
    every = [(a, b) for a in range(10) for b in range(8)]
    froms, tos = (np.array([pair[side] for pair in every], np.int32) for side in (0, 1))
    assert pairs_in(csr.distinct, froms, tos).tolist() == [pair in pairs for pair in every]
    assert csr.has_parallels == (len(set(pairs)) < len(pairs))


VALUES = {
    pa.int32(): st.integers(-5, 5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.sampled_from(["", "a", "b", "Ü", "zz"]),
    pa.list_(pa.int32()): st.lists(st.integers(0, 3), max_size=3),
}


@given(st.data(), st.sampled_from([*VALUES]))
def test_a_patched_column_reads_like_the_whole_one(data: st.DataObject, kind: pa.DataType) -> None:
    value = st.none() | VALUES[kind]
    before = data.draw(st.lists(value, min_size=1, max_size=20))
    changed = data.draw(st.dictionaries(st.integers(0, len(before) + 3), value, min_size=1, max_size=8))
    now = dict(enumerate(before)) | changed
    size = max(now) + 1
    ordinals = sorted(changed)
    patch = pa.array([changed[ordinal] for ordinal in ordinals], kind)

    column = PatchedColumn(ImageColumn(pa.array(before, kind)), np.array(ordinals, np.int32), patch, size=size)

    asked = np.array(data.draw(st.lists(st.sampled_from(sorted(now)), max_size=20)), np.int32)
    expected = [now[ordinal] for ordinal in asked.tolist()]
    assert [column.one(ordinal) for ordinal in asked.tolist()] == expected
    assert column.take(asked).to_pylist() == expected
    assert column.take(asked).type == kind
    if pa.types.is_string(kind):
        codes = column.codes()
        assert codes is not None
        words = codes.words.to_pylist()
        assert words == sorted(set(words), key=str.encode)
        assert [None if (code := codes.codes[o]) == MISSING else words[code] for o in asked.tolist()] == expected
    elif not pa.types.is_list(kind):
        for numbers, places in ((column.numbers(), asked.tolist()), (column.numbers(asked), range(len(asked)))):
            valid = np.ones(len(numbers.values), bool) if numbers.valid is None else numbers.valid
            assert [numbers.values[place].item() if valid[place] else None for place in places] == expected


@given(st.lists(st.none() | st.booleans(), max_size=20), st.integers(0, 5))
def test_arrays_come_back_from_numpy_as_they_were(values: list[bool | None], start: int) -> None:
    array = pa.array(values, pa.bool_()).slice(min(start, len(values)))

    numbers = numbers_of(array)

    assert arrow_of(numbers.values, pa.bool_(), numbers.valid).to_pylist() == array.to_pylist()


@given(
    st.lists(st.integers(-1, 60), unique_by=lambda row: row if row >= 0 else object(), max_size=12),
    st.lists(st.dictionaries(st.integers(0, 15), st.integers(-1, 99), max_size=5), max_size=4),
)
def test_rows_after_commits_are_those_of_a_new_base(base: list[int], commits: list[dict[int, int]]) -> None:
    now = dict(enumerate(base))
    rows = TableRows(BaseRows(np.array(base, np.int64)))
    for commit in commits:
        taken = {row for ordinal, row in now.items() if ordinal not in commit}
        changes = {}
        for ordinal, row in commit.items():  # a row belongs to one entity
            changes[ordinal] = MISSING if row in taken else row
            taken.add(row)
        now |= changes
        rows = rows.with_changes(changes.items())

    for read in (rows, rows.folded()):
        live = {ordinal: row for ordinal, row in now.items() if row != MISSING}
        assert read.ordinals.tolist() == sorted(live)
        assert read.count == len(live)
        everyone = np.arange(20, dtype=np.int32)
        assert read.row_ids_of(everyone).tolist() == [now.get(ordinal, MISSING) for ordinal in range(20)]
        assert [read.has(ordinal) for ordinal in range(20)] == [ordinal in live for ordinal in range(20)]
        by_row = {row: ordinal for ordinal, row in live.items()}
        assert read.ordinals_of(np.arange(110)).tolist() == [by_row.get(row, MISSING) for row in range(110)]


def test_the_mixing_of_words_tells_lengths_apart() -> None:
    assert len({hashing.hash_text(b"\0" * length) for length in range(40)}) == 40


def test_rows_that_are_numbered_in_the_order_of_a_scan_are_not_searched_for() -> None:
    rows = TableRows(BaseRows(np.array([5, 3, 9, 1], np.int64)))
    changed = rows.with_changes([(1, 12)])

    assert rows.ordinals_in_scan(np.array([3, 9], np.int64), 1).tolist() == [1, 2]
    assert "_by_row_id" not in vars(rows.base)
    assert rows.ordinals_in_scan(np.array([9, 3], np.int64), 1).tolist() == [2, 1]
    assert rows.ordinals_in_scan(np.array([1, 7], np.int64), 3).tolist() == [3, MISSING]
    assert changed.ordinals_in_scan(np.array([3, 12], np.int64), 1).tolist() == [MISSING, 1]
