"""How Lance names the manifest of a version inside `_versions/`."""

from typing import Final

_VERSION_MAX: Final = 2**64 - 1
"""Names count down from here, so that the newest is listed first."""


def version_path(table_path: str, version: int) -> str:
    """Return where the manifest of a version lies, below the graph's root."""
    return f"{table_path}/_versions/{version_file(version)}"


def version_file(version: int) -> str:
    """Return the name of a version's manifest."""
    return f"{_VERSION_MAX - version:020d}.manifest"


def detached_path(table_path: str, version: int) -> str:
    """Return where the manifest of a version lies that stands beside the line of versions."""
    return f"{table_path}/_versions/d{version}.manifest"


def is_detached_file(name: str) -> bool:
    """Whether a file of this name is the manifest of a version that stands beside the line of versions."""
    digits = name.removeprefix("d").removesuffix(".manifest")
    return name.startswith("d") and name.endswith(".manifest") and digits.isdecimal()


def version_of_file(name: str) -> int | None:
    """Return the version that a manifest of this name belongs to; None for any other file.

    Beside the manifests lie a hint at the newest one, and those of versions that stand beside the line.
    """
    digits = name.removesuffix(".manifest")
    return _VERSION_MAX - int(digits) if name.endswith(".manifest") and digits.isdecimal() else None
