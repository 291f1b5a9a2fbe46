"""One table on its way through a run: what is still to be made, what is ready, and what that lies in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.table_plan import IndexBuild, PendingIndex, TablePlan, staying_fragments
from omnigraph.storage.compaction import new_files, rewritten_files
from omnigraph.storage.file_references import FileReference, written_index
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import Table, TableAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRewrite:
    """A group whose new files are written."""

    group: RewriteGroup
    result: str
    fragments_added: int
    bytes_written: int
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBuild:
    """An index whose new segment is written, over the fragments of `built_on`."""

    build: IndexBuild
    segment: Any
    built_on: Table
    awaited: frozenset[int] = frozenset()
    """Fragments beside these that rewrites of the table have yet to bring: before they do it is of no use."""

    @property
    def fragments_there(self) -> frozenset[int]:
        """The fragments of `built_on` that it knows."""
        return frozenset(self.segment.fragment_ids) - self.awaited

    @property
    def takes_in_rewritten(self) -> bool:
        """Whether something was left out of it, for a fold under the gates to bring in."""
        every = {fragment.fragment_id for fragment in self.built_on.dataset.get_fragments()}
        return not self.awaited and not every <= set(self.segment.fragment_ids)


@dataclass(slots=True, kw_only=True)
class TableWork:
    """One table on its way through a run: what is still to be made, and what is ready to be committed."""

    plan: TablePlan
    pinned: Table
    to_rewrite: list[RewriteGroup]
    to_build: list[IndexBuild]
    rewrites: list[FinishedRewrite] = field(default_factory=list)
    builds: list[FinishedBuild] = field(default_factory=list)
    unbuilt: list[PendingIndex] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None
    rewritten: tuple[FinishedRewrite, ...] = ()
    """What is committed in the end."""
    given_up: list[RewriteGroup] = field(default_factory=list)
    """Groups that writers changed again and again; the next run comes back to them."""
    foresights: int = 0
    """How often BTREEs were built on rewritten files, each time with more room for what writers add meanwhile."""
    is_contended: bool = False
    """Whether something had to be given up because writers kept changing it."""

    @property
    def left_bytes(self) -> int:
        """Bytes of the groups that were planned and are not rewritten, however far they got."""
        uncommitted = (made.group for made in self.rewrites if made not in self.rewritten)
        groups = (*self.to_rewrite, *self.given_up, *uncommitted)
        return sum(group.bytes for group in groups)

    def new_files(self) -> Iterator[tuple[FinishedRewrite | FinishedBuild, tuple[FileReference, ...]]]:
        """Yield what is ready, each with the files that nothing refers to before it is committed."""
        address = self.pinned.address
        yield from ((made, rewritten_files(address, made.result)) for made in self.rewrites)
        yield from ((made, written_index(address, made.segment)) for made in self.builds)

    def make_again(self, lost: Sequence[FinishedRewrite | FinishedBuild]) -> None:
        """Forget what was ready and lost its files, so that it is still to be made."""
        gone = {id(made) for made in lost}
        self.to_rewrite += [made.group for made in self.rewrites if id(made) in gone]
        self.to_build += [made.build for made in self.builds if id(made) in gone]
        self.rewrites = [made for made in self.rewrites if id(made) not in gone]
        self.builds = [made for made in self.builds if id(made) not in gone]

    @classmethod
    def of(cls, plan: TablePlan, pinned: Table) -> "TableWork":
        """Begin with everything still to do."""
        return cls(plan=plan, pinned=pinned, to_rewrite=list(plan.groups), to_build=list(plan.builds))


def staying(work: TableWork) -> Sequence[FragmentLayout]:
    """Return the fragments that no rewrite replaces: an index with row addresses takes in the others in the tail.

    If all are rewritten, the smallest stands for them: there has to be an index to fold the new ones into.
    """
    fragments = work.plan.facts.layout.fragments
    staying = staying_fragments(fragments, (*work.to_rewrite, *(made.group for made in work.rewrites)))
    return staying or [min(fragments, key=lambda fragment: fragment.live_rows)]


def drop_files(objects: ControlStore, work: TableWork) -> None:
    """Delete the new files of a table that is not going to be committed; its groups are still to be rewritten then."""
    for rewrite in work.rewrites:
        drop_rewrite(objects, work.pinned.address, rewrite.result)
    for made in work.builds:
        drop_segment(objects, work.pinned.address, made.segment)
    work.to_rewrite += [made.group for made in work.rewrites]
    work.to_build += [made.build for made in work.builds]
    work.rewrites.clear()
    work.builds.clear()


def drop_rewrite(objects: ControlStore, address: TableAddress, result: str) -> None:
    """Delete the new files of one rewrite; large blobs lie beside a data file, in a directory of its name."""
    for path in new_files(result):
        objects.delete(f"{address.path}/data/{path}")
        _drop_all(objects, f"{address.path}/data/{path.removesuffix('.lance')}")


def drop_segment(objects: ControlStore, address: TableAddress, segment: Any) -> None:
    """Delete the files of an index segment that is not committed."""
    _drop_all(objects, f"{address.path}/_indices/{segment.uuid}")


def _drop_all(objects: ControlStore, directory: str) -> None:
    for path in list(objects.list(directory)):
        objects.delete(path)
