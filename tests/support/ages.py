"""Making the files of a local graph look old: cleanup leaves alone what a running write may have made."""

import os
from datetime import timedelta
from pathlib import Path

from omnigraph.base import clock

LONG_AGO = timedelta(days=8)


def age(directory: Path | str, *, by: timedelta = LONG_AGO, only: str = "*") -> None:
    """Date every file below a directory back, or those of a name."""
    then = clock.now_us() / 1_000_000 - by.total_seconds()
    for path in Path(directory).rglob(only):
        if path.is_file():
            os.utime(path, (then, then))
