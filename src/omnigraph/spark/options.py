"""The options of the data source as somebody gave them."""

from collections.abc import Mapping
from functools import partial

from omnigraph.base.plain_text import plain_text
from omnigraph.errors import Usage


def check_options(options: Mapping[str, str]) -> None:
    """Refuse an option whose value is no plain text, before anything is read or written."""
    for name, value in options.items():
        plain_text(value, what=f"The option {name}", refusal=partial(Usage, flag=name))
