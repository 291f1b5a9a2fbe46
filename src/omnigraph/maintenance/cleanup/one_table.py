"""Cleaning one table with all its refs: choose, look whether what stays is whole, and only then remove."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from omnigraph.base import faults
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.cleanup.orphans import Orphans
from omnigraph.maintenance.cleanup.plan import CleanupTarget, RemovalPlan
from omnigraph.maintenance.cleanup.remover import Remover
from omnigraph.maintenance.cleanup.tally import Tally
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.file_references import LostFile, lost_files
from omnigraph.storage.retention import Doomed, doomed_files, removal_of

_VERSIONS_SHOWN = 5


@dataclass(slots=True, kw_only=True)
class Part:
    """One ref of the table on its way."""

    target: CleanupTarget
    tally: Tally
    selection: RemovalPlan | None = None
    doomed: Doomed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCleaning:
    """The pass over one table; `executes` tells a run from its preview, which looks in the same way."""

    context: GraphContext
    location: str
    parts: Sequence[Part]
    orphans: Orphans
    abandoned_before: float
    remover: Remover
    executes: bool
    gate: Callable[[str], AbstractContextManager[object]]
    """Takes the gate of a branch, with nothing pending behind it."""

    def look(
        self, select: Callable[[CleanupTarget], RemovalPlan | None], is_gone: Callable[[CleanupTarget], bool]
    ) -> bool:
        """Find out what goes; return whether it may: everything could be looked at, and what stays is whole."""
        for part in self.parts:
            with part.tally.step(is_moot=lambda target=part.target: is_gone(target)):  # type: ignore[misc]
                part.selection = select(part.target)
                if part.selection is not None:
                    part.doomed = self._doomed(part.selection)
        if any(part.tally.has_failed for part in self.parts):
            self._leave_whole()
            return False
        if not any(part.doomed for part in self.parts) and not self.orphans.refs and not self.orphans.trees:
            return True
        return self._is_whole(is_gone)

    def remove(self, is_gone: Callable[[CleanupTarget], bool]) -> Iterator[tuple[Part, RemovalPlan]]:
        """Remove what goes, or count it; yield each ref of which versions went, before and although a step may fail."""
        for part in self.parts:
            if part.selection is None or part.doomed is None:
                continue
            part.tally.keep(part.selection.kept_because)
            with part.tally.step(is_moot=lambda target=part.target: is_gone(target)):  # type: ignore[misc]
                yield part, part.selection
                self._remove(part, part.selection, part.doomed)

    def _remove(self, part: Part, selection: RemovalPlan, doomed: Doomed) -> None:
        if not self.executes:
            part.tally.remove(doomed.removal)
            return
        self.remover.remove_versions(selection.table, doomed)
        part.tally.remove(removal_of(doomed.of_versions))
        if doomed.abandoned:
            self._remove_abandoned(part, doomed)

    def _remove_abandoned(self, part: Part, doomed: Doomed) -> None:
        """Remove what failed writes left, behind the gate: a writer looks for its files and commits behind it, too."""
        with self.gate(part.target.branch or MAIN_BRANCH):
            head = self.context.store.tables.head(part.target.address)
            if head is None:
                return
            still = doomed_files(self.context.store.objects, head, (), abandoned_before=self.abandoned_before)
            both = {path: size for path, size in still.abandoned.items() if path in doomed.abandoned}
            self.remover.remove_abandoned(Doomed(of_versions={}, abandoned=both))
        part.tally.remove(removal_of(both))

    def _doomed(self, selection: RemovalPlan) -> Doomed:
        return doomed_files(
            self.context.store.objects,
            selection.table,
            selection.versions,
            abandoned_before=self.abandoned_before,
        )

    def _is_whole(self, is_gone: Callable[[CleanupTarget], bool]) -> bool:
        """Look for every file that the versions to stay refer to, of all refs: they share files.

        The files of a branch that is deleted meanwhile are no loss, and nothing of it is left to clean.
        """
        objects = self.context.store.objects
        with self.parts[0].tally.step():
            faults.reach("cleanup.after_choice")
            present = objects.sizes(f"{self.location}/")
            for part in self.parts:
                if part.selection is None:
                    continue
                lost = lost_files(objects, part.target.address, part.selection.staying, present)
                if lost and is_gone(part.target):
                    part.selection = None
                elif lost:
                    part.tally.fail(_described(lost))
        if any(part.tally.has_failed for part in self.parts):
            self._leave_whole()
            return False
        return True

    def _leave_whole(self) -> None:
        damaged = next(part for part in self.parts if part.tally.has_failed)
        for part in self.parts:
            if not part.tally.has_failed:
                part.tally.keep([f"{damaged.tally.name} is damaged, so all of the table is left as it is"])


def _described(lost: dict[LostFile, tuple[int, ...]]) -> str:
    (first, versions), *others = lost.items()
    shown = ", ".join(map(str, versions[:_VERSIONS_SHOWN])) + (" and more" if len(versions) > _VERSIONS_SHOWN else "")
    needed = f"version {shown} needs it" if len(versions) == 1 else f"versions {shown} need it"
    rest = f" ({counted(len(others), 'more file')} like this)" if others else ""
    return f"nothing of the table is removed, because {first} and {needed}{rest}"
