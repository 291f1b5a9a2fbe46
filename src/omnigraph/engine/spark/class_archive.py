"""Java's class-data archive for local sessions: made once while a session ends, used by all later ones.

Loading Spark's classes is most of what a short job waits for. The archive lives in the user's cache directory and is
never needed: whatever is wrong with it, Java starts without.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph.base import clock
from omnigraph.base.home import cache_directory

_UNFINISHED_SECONDS = 60
"""An archive is written while a JVM ends; one that was touched since may not be whole."""


def archive_options(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the Java options that use the archive, or those that make it when there is none."""
    import pyspark

    try:
        directory = cache_directory(environ)
        directory.mkdir(parents=True, exist_ok=True)
        archive = directory / f"spark-{pyspark.__version__}.jsa"
        if not archive.exists() and not _adopt(archive):
            return (f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}",)
    except OSError:
        return ()
    return (f"-XX:SharedArchiveFile={archive}",)


def _adopt(archive: Path) -> bool:
    """Give a finished archive of an earlier run its name, and remove the others."""
    now_seconds = clock.now_us() / 1_000_000
    finished = [
        found
        for found in archive.parent.glob(f"{archive.name}.*")
        if found.stat().st_size and now_seconds - found.stat().st_mtime > _UNFINISHED_SECONDS
    ]
    for found in finished[1:]:
        found.unlink(missing_ok=True)
    if finished:
        finished[0].rename(archive)
    return bool(finished)
