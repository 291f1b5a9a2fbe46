"""Which names a branch may have. Checked here before anything is created: Lance allows more and fails late."""

import re

from omnigraph.errors import BranchNameOverlap, InvalidName
from omnigraph.manifest.commits import MAIN_BRANCH, check_name

_NAME_BYTES_MAX = 200
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII)
_SYSTEM_PREFIX = "__"


def check_branch_name(name: str) -> str:
    """Return the trimmed name of a branch that a user may create or address; raise `InvalidName` otherwise."""
    trimmed = check_name(name, what="The branch name").strip()
    if not trimmed or len(trimmed.encode()) > _NAME_BYTES_MAX:
        raise _invalid(name, f"a name has 1 to {_NAME_BYTES_MAX} bytes")
    if trimmed.startswith(_SYSTEM_PREFIX):
        raise _invalid(name, f"names that start with {_SYSTEM_PREFIX} belong to the program")
    for segment in trimmed.split("/"):
        if not _SEGMENT.fullmatch(segment) or ".." in segment or segment.endswith(".lock"):
            raise _invalid(
                name,
                "each segment between slashes has 1 to 100 ASCII letters, digits, dots, dashes or underscores, does "
                "not start with a dot or dash, and neither contains .. nor ends in .lock",
            )
    return trimmed


def check_new_name(name: str, existing: list[str]) -> str:
    """Return the name of a branch that may be created beside the existing ones.

    Live names are path-prefix-disjoint: Lance keeps nested names in nested directories, and deleting the outer branch
    would take the inner one's files with it.
    """
    trimmed = check_branch_name(name)
    if trimmed == MAIN_BRANCH:
        raise _invalid(name, "main always exists")
    for other in existing:
        if trimmed != other and (other.startswith(f"{trimmed}/") or trimmed.startswith(f"{other}/")):
            raise BranchNameOverlap(
                f"Branch '{trimmed}' cannot live beside '{other}': one name lies inside the other.",
                branch=trimmed,
                existing=other,
            )
    return trimmed


def _invalid(name: str, reason: str) -> InvalidName:
    return InvalidName(f"{name!r} is not a branch name: {reason}.", name=name)
