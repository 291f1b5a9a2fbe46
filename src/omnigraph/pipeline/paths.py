"""Paths of input and output as somebody gave them."""

from pathlib import Path

from omnigraph.base.plain_text import plain_text
from omnigraph.errors import Usage


def given_path(path: str | Path, *, flag: str) -> str:
    """Return a path as text, or refuse one that no message could spell; `flag` is its name on the command line.

    Files that are found below a directory may be called anything.
    """
    return plain_text(str(path), what=f"The path of {flag}", refusal=lambda reason: Usage(reason, flag=flag))
