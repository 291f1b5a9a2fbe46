"""Options of the Spark source as a door for text from outside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.connectors.spark.options import READ, STREAM, Options
from omnigraph.errors import Usage
from support.nasty_texts import nasty


@given(st.sampled_from(sorted({*READ, *STREAM})), nasty)
def test_no_option_lets_in_text_that_cannot_be_listed(name: str, text: str) -> None:
    known = READ if name in READ else STREAM

    with pytest.raises(Usage) as caught:
        Options.of({name: text}, known)

    assert caught.value.details["flag"] == name
    assert str(caught.value).isprintable()
