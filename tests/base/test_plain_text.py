"""The one check of text from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.plain_text import is_unicode, plain_text, printable
from support.nasty_texts import NASTY_CHARACTERS, halves, nasty


def check(text: object) -> str:
    return plain_text(text, what="The actor", refusal=ValueError)


@pytest.mark.parametrize("text", ["", "Ana", "Rémy Żak", "act-ines", "李", "a b", "👩‍🚀", "می‌خواهم", "x" * 1000])
def test_what_people_are_called_passes_unchanged(text):
    assert check(text) == text


@given(nasty)
def test_what_cannot_be_stored_or_listed_is_refused_in_printable_words(text):
    with pytest.raises(ValueError, match=r"control character|not valid Unicode") as caught:
        check(text)

    assert str(caught.value).isprintable()
    assert str(caught.value).startswith("The actor ")


@given(st.text())
def test_a_text_is_refused_exactly_if_it_holds_such_a_character(text):
    is_nasty = any(character in NASTY_CHARACTERS for character in text)

    if is_nasty:
        with pytest.raises(ValueError, match="The actor"):
            check(text)
    else:
        assert check(text) == text


@given(st.text(st.characters(), max_size=20))
def test_the_printable_spelling_of_any_text_is_accepted(text):
    assert check(printable(text)) == printable(text)


@given(halves)
def test_halves_of_characters_are_no_unicode(text):
    assert not is_unicode(text)


@pytest.mark.parametrize("wrong", [None, 7, b"Ana", ["Ana"]])
def test_other_things_than_text_are_refused(wrong):
    with pytest.raises(ValueError, match=f"must be text, not {type(wrong).__name__}"):
        check(wrong)


def test_a_text_without_end_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="longer than 10 bytes") as caught:
        plain_text("ab" * 100_000, what="The actor", refusal=ValueError, bytes_max=10)

    assert len(str(caught.value)) < 200


def test_a_secret_is_not_repeated():
    with pytest.raises(ValueError, match="control character") as caught:
        plain_text("hunter2\n", what="The setting", refusal=ValueError, is_shown=False)

    assert "hunter2" not in str(caught.value)
