"""Facts about this machine: installed libraries, Java, cores, memory and scratch space. Imports none of them."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

JAVA_NEEDED = 17


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    # Imported here because every start of the program would pay for it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def java_version(environ: Mapping[str, str]) -> str | None:
    """Return what the Java that Spark would start says about its version, or None without Java."""
    home = environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    if java is None:
        return None
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603  # the operator's own Java
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return found[1] if found else None


def java_feature_version(version_text: str) -> int:
    """Return 8 for `1.8.0_392` and 17 for `17.0.9`."""
    found = re.match(r"(?:1\.)?([0-9]+)", version_text)
    return int(found[1]) if found else 0


def memory_bytes() -> int:
    """Return the physical memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def scratch_directory() -> str:
    """Return where large intermediate data goes."""
    return tempfile.gettempdir()


def free_bytes(directory: str) -> int:
    """Return the space left for this user."""
    return shutil.disk_usage(directory).free
