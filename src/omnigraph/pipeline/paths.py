"""Paths of input and output as somebody gave them."""

from pathlib import Path

from omnigraph.base.plain_text import plain_text
from omnigraph.errors import Usage
from omnigraph.storage.uris import unknown_store


def given_path(path: str | Path, *, flag: str) -> str:
    """Return a path as text; `flag` is its name on the command line.

    Refused are one that no message could spell, and an address in a kind of store that there is none of. Files that are
    found below a directory may be called anything.
    """
    text = plain_text(str(path), what=f"The path of {flag}", refusal=lambda reason: Usage(reason, flag=flag))
    unknown = unknown_store(text)
    if unknown is not None:
        raise Usage(unknown, flag=flag)
    return text
