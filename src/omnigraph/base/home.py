"""Paths as a shell understands them."""

import os
from pathlib import Path


def expand_home(path: str) -> Path:
    """Put the home directory in for `~` and `~user`; like in a shell, `~` of an unknown user is a name like any."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib raises where the user is unknown
