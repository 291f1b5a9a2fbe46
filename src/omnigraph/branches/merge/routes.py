"""Decide, table by table, how a merge brings the source's state over. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from omnigraph.manifest.snapshot import TablePin


class Route(StrEnum):
    """How one table is merged."""

    SKIP = "skip"
    """The source has nothing that the target lacks."""
    POINTER = "pointer"
    """The target has only inherited the table, and may go on to inherit a newer state of it."""
    ADOPT = "adopt"
    """The target has not changed the table: the source's changes are replayed on it."""
    THREE_WAY = "three_way"
    """Both have changed it."""


def route(
    *,
    source: TablePin,
    target: TablePin,
    bases: Sequence[TablePin],
    own_ref: str | None,
    lasting_refs: frozenset[str | None],
) -> Route:
    """Choose the route of one table from where each side pins it.

    A pin on a ref of the source would tie the target to a branch that may be deleted at any time, so a pointer is
    taken only to refs that last at least as long as the target does.
    """
    if _same(source, target) or all(_same(source, base) for base in bases):
        return Route.SKIP
    if not all(_same(target, base) for base in bases):
        return Route.THREE_WAY
    may_point = target.ref != own_ref and source.ref in lasting_refs
    return Route.POINTER if may_point else Route.ADOPT


def _same(left: TablePin, right: TablePin) -> bool:
    return (left.ref, left.version) == (right.ref, right.version)
