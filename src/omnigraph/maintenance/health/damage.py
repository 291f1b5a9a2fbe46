"""What cannot be read: a fact like any other, so that one damaged place hides nothing about the rest of a graph.

Of what `verify` proves, the part is done here that is cheap enough for every look: what the heads of branches need.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.maintenance.verify.files import FilesToVerify, look_at_table, told_with_what_is_left
from omnigraph.maintenance.verify.lineage import log_problems
from omnigraph.maintenance.verify.pins import gather_pins
from omnigraph.maintenance.verify.report import Problem
from omnigraph.manifest.state import ManifestState

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


def verify_heads(context: GraphContext, states: Sequence[ManifestState]) -> Iterator[Problem]:
    """Yield what the newest states of some branches, and the log, have lost."""
    objects, uri = context.store.objects, context.store.uri
    pins = gather_pins(states)
    for location, pinned in pins.by_location().items():
        sums = pins.checksums.get(location, {})
        current = [one for one in pinned if one.is_current]
        if not current:
            continue
        seen: FilesToVerify = look_at_table(objects, current, sums, uri, None)
        if seen.harmed:
            now = {problem.file for problem in seen.problems}
            everything = told_with_what_is_left(look_at_table(objects, pinned, sums, uri, None))
            yield from (problem for problem in everything if problem.file in now)
        else:
            yield from seen.problems
    yield from log_problems(context.log, list(states))
