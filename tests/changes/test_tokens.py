"""Tokens come back as they were made, or are refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.changes.position import Position
from omnigraph.changes.tokens import TokenUse, refuse_other, seal, unseal
from omnigraph.errors import ChangeCursorRejected, Internal


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=4))
def test_a_token_comes_back_as_it_was_made(document: dict[str, object]):
    assert unseal(seal(TokenUse.CURSOR, document), TokenUse.CURSOR) == {**document, "use": "cursor"}


@given(st.text(max_size=60))
def test_arbitrary_text_is_refused_and_breaks_nothing(text: str):
    with pytest.raises(ChangeCursorRejected):
        unseal(text, TokenUse.CURSOR)


@given(st.integers(0, 10_000), st.integers(1, 63))
def test_every_damaged_letter_is_noticed(place: int, shift: int):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    token = seal(TokenUse.CURSOR, {"commit": "C", "version": 3})
    at = place % (len(token) - 1)  # the last letter may carry bits that no byte has
    other = alphabet[(alphabet.index(token[at]) + shift) % 64]

    with pytest.raises(ChangeCursorRejected):
        unseal(token[:at] + other + token[at + 1 :], TokenUse.CURSOR)


def test_a_token_is_refused_for_another_use_and_for_other_facts():
    with pytest.raises(ChangeCursorRejected, match="cursor token, not a feed page token"):
        unseal(seal(TokenUse.CURSOR, {}), TokenUse.FEED_PAGE)
    with pytest.raises(ChangeCursorRejected, match="another branch"):
        refuse_other({"graph": "g", "branch": "main"}, {"graph": "g", "branch": "review"})


def test_no_token_outgrows_its_limit():
    with pytest.raises(Internal):
        seal(TokenUse.CURSOR, {"branch": "x" * 4_000})


@pytest.mark.parametrize("entity_id", ["", "a", "é" * 200, "x" * 5_000])
def test_a_position_survives_its_spelling(entity_id: str):
    position = Position.behind("table", entity_id)

    assert Position.from_document(position.to_document()) == position
    assert len(seal(TokenUse.FEED_PAGE, {"behind": position.to_document()})) < 2_000
