"""Facts about this machine: installed libraries, cores, memory and scratch space. Imports none of them."""

import os
import shutil
import tempfile


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    # Imported here because every start of the program would pay for it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def memory_bytes() -> int:
    """Return the physical memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def scratch_directory() -> str:
    """Return where large intermediate data goes."""
    return tempfile.gettempdir()


def free_bytes(directory: str) -> int:
    """Return the space left for this user."""
    return shutil.disk_usage(directory).free
