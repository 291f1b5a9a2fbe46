"""Paths as a shell understands them."""

import os
from collections.abc import Mapping
from pathlib import Path


def expand_home(path: str) -> Path:
    """Put the home directory in for `~` and `~user`; like in a shell, `~` of an unknown user is a name like any."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib raises where the user is unknown


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return where programs keep what they can make again; nothing has to exist there."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "omnigraph"
