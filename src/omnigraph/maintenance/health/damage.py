"""What cannot be read: a fact like any other, so that one damaged place hides nothing about the rest of a graph."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeVar

from omnigraph.base.values import dataclass
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable

Seen = TypeVar("Seen")


class DamagedPart(StrEnum):
    """Which part of a graph cannot be read; each has its own remedy."""

    BRANCH = "branch"
    """A branch as a whole: its manifest or its schema."""
    TABLE = "table"
    REF = "ref"
    """The object by which a table knows what a branch wrote to it; the rows themselves may be in order."""
    INTERNAL = "internal"
    """Something of the graph's own: the list of branches, the commit log, locks, recoveries."""
    CLEANUP = "cleanup"
    """Readable, but what can be removed cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One place that cannot be read."""

    part: DamagedPart
    where: str | None
    """What to restore, as a path below the graph's root; None when the problem says itself what to do."""
    problem: str
    table_key: str | None = None
    branch: str | None = None
    """None for `main`, and for what belongs to no branch."""


class DamageLog:
    """Collects what cannot be read while looking goes on."""

    def __init__(self) -> None:
        self.found: list[Damage] = []

    def attempt(
        self,
        look: Callable[[], Seen],
        *,
        otherwise: Seen,
        part: DamagedPart,
        where: str | None,
        table_key: str | None = None,
        branch: str | None = None,
    ) -> Seen:
        """Return what `look` sees; where it fails, remember that and return `otherwise`."""
        try:
            return look()
        except UNREADABLE as error:
            refuse_unreachable(error)
            self.note(part=part, where=where, problem=problem_of(str(error)), table_key=table_key, branch=branch)
            return otherwise

    def note(
        self,
        *,
        part: DamagedPart,
        where: str | None,
        problem: str,
        table_key: str | None = None,
        branch: str | None = None,
    ) -> None:
        """Remember a place that somebody else could not read; several looks at one place are one damage."""
        damage = Damage(part=part, where=where, problem=problem, table_key=table_key, branch=branch)
        if damage not in self.found:
            self.found.append(damage)

    def without_branches(self, gone: Iterable[str]) -> tuple[Damage, ...]:
        """Return what was found, except on branches that somebody deleted while we looked."""
        names = set(gone)
        return tuple(damage for damage in self.found if damage.branch not in names)
