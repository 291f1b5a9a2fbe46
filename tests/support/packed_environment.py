"""A packed environment such as `venv-pack` makes, in a second: our package and a Python that finds it.

The other packages stay where they are installed: what a test wants to know is that a worker gets ours from the archive
and from nowhere else.
"""

import sys
import tarfile
from pathlib import Path

import pyarrow as pa

import omnigraph


def dependencies(directory: Path) -> Path:
    """Link everything that is installed beside this package, except this package."""
    directory.mkdir()
    for installed in Path(pa.__file__).parents[1].iterdir():
        if installed.suffix != ".pth" and not installed.name.startswith("omnigraph"):
            (directory / installed.name).symlink_to(installed)
    return directory


def python_of(directory: Path, libraries: Path, *, started: Path, package: bool) -> Path:
    """Make a Python that finds these libraries and, beside itself, the package; it leaves a file when it starts."""
    binary = directory / "bin" / "python"
    binary.parent.mkdir(parents=True)
    interpreter = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    own = "$here/lib:" if package else ""
    binary.write_text(
        "#!/bin/sh\n"
        'here=$(cd "$(dirname "$0")/.." && pwd)\n'
        f'echo "$0" >> "{started}"\n'
        f'PYTHONPATH="{own}{libraries}:$PYTHONPATH" exec {interpreter} "$@"\n'
    )
    binary.chmod(0o755)
    return binary


def packed_environment(directory: Path, libraries: Path, *, started: Path) -> Path:
    """Pack an environment that holds the package and a Python."""
    unpacked = directory / "unpacked"
    python_of(unpacked, libraries, started=started, package=True)
    archive = directory / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packing:
        packing.add(unpacked / "bin", "bin")
        packing.add(Path(omnigraph.__file__).parent, "lib/omnigraph")
    return archive
