"""Which Java Spark would start, and whether it is new enough."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

JAVA_NEEDED = 17


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


def missing_java(environ: Mapping[str, str]) -> str | None:
    """Say what is wrong with the Java of this machine; None if Spark can use it."""
    found = java_version(environ)
    if found is None:
        where = f"at JAVA_HOME ({environ['JAVA_HOME']})" if environ.get("JAVA_HOME") else "on PATH or at JAVA_HOME"
        return f"Java {JAVA_NEEDED} or newer, and found none {where}"
    if java_feature_version(found) < JAVA_NEEDED:
        return f"Java {JAVA_NEEDED} or newer, and found {found}"
    return None
