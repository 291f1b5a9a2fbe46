"""The names of data files, as cheap as they should be."""

from typing import Any


def data_path(file: Any) -> str:
    """Return the name of a data file as a fragment has it: asked by its property, Lance makes a new class each time."""
    return str(vars(file).get("_path") or file.path)
