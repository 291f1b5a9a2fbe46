"""Files of operations that died: nothing refers to them, and nobody else removes them.

They are the intermediate files of bulk operations, and trees of refs that do not exist: what a killed first write
staged, or what a killed deletion of a ref left. No version of a table refers to those, so Lance never looks there.
"""

from collections.abc import Iterator, Mapping

from omnigraph.base import faults, ids
from omnigraph.base.values import dataclass
from omnigraph.storage.objects import ObjectFacts
from omnigraph.storage.refs import Ref, list_refs
from omnigraph.storage.retention import Removal, removal_of
from omnigraph.storage.scratch import SCRATCH_DIRECTORY, Scratch
from omnigraph.storage.store import GraphStore

STALE_DAYS = 7
"""How long files wait that nothing refers to: no operation lives that long."""
STALE_SECONDS = STALE_DAYS * 86_400
_DIRECTORIES_OF_LANCE = frozenset({"_versions", "_transactions", "_deletions", "_indices", "_refs", "data"})


def stale_scratch(store: GraphStore, *, before: float) -> dict[str, Removal]:
    """Return what operations left in the scratch directory that wrote nothing since `before`, by the store's time."""
    files: dict[str, list[ObjectFacts]] = {}
    for path, facts in store.objects.facts(f"{SCRATCH_DIRECTORY}/").items():
        operation_id = path.removeprefix(f"{SCRATCH_DIRECTORY}/").partition("/")[0]
        # What is not spelled like an operation is somebody's own file.
        if ids.is_ulid(operation_id):
            files.setdefault(operation_id, []).append(facts)
    return {
        operation_id: Removal(bytes=sum(file.size for file in found), data_files=len(found))
        for operation_id, found in files.items()
        if all(file.last_modified < before for file in found)
    }


def drop_scratch(store: GraphStore, operation_id: str) -> None:
    """Remove what one operation left."""
    Scratch(store, operation_id).clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayTree:
    """The files below the directory of a ref that is not there; those of refs nested in it are not among them."""

    location: str
    name: str
    files: Mapping[str, ObjectFacts]

    @property
    def held(self) -> Removal:
        """What goes with it."""
        return removal_of({path: found.size for path, found in self.files.items()})


def find_stray_trees(store: GraphStore, location: str, *, now_seconds: float) -> tuple[StrayTree, ...]:
    """Return the trees without a ref whose every file is older than a week by the store's time; changes nothing.

    A writer that is about to make the ref stages its files there first; none of them lives that long.
    """
    return tuple(_stray(store, location, "", now_seconds=now_seconds))


def drop_stray_tree(store: GraphStore, tree: StrayTree, *, now_seconds: float) -> Removal:
    """Remove a tree if it still is one without a ref and nobody has written there since; return what went."""
    for found in _stray(store, tree.location, f"{tree.name}/", now_seconds=now_seconds):
        if found.name == tree.name:
            for path in found.files:
                store.objects.delete(path)
                faults.reach("cleanup.between_files")
            return found.held
    return Removal()


def _stray(store: GraphStore, location: str, below: str, *, now_seconds: float) -> Iterator[StrayTree]:
    files = store.objects.facts(f"{location}/tree/{below}")
    if not files:
        return
    # After the files: a ref that was made meanwhile is in the list.
    refs = list_refs(store.tables, location)
    if _has_lost_parent(refs):
        return
    oldest = now_seconds - STALE_SECONDS
    for name, found in _by_tree(files, f"{location}/tree/", refs).items():
        # Names that start with two underscores belong to the program, and older ones made such refs.
        if name in refs or name.startswith("__"):
            continue
        if all(file.last_modified < oldest for file in found.values()):
            yield StrayTree(location=location, name=name, files=found)


def _has_lost_parent(refs: Mapping[str, Ref]) -> bool:
    """Whether a ref was forked from one that is gone: it still reads files there, or in what that was forked from."""
    return any(ref.parent is not None and ref.parent not in refs for ref in refs.values())


def _by_tree(
    files: Mapping[str, ObjectFacts], prefix: str, refs: Mapping[str, Ref]
) -> dict[str, dict[str, ObjectFacts]]:
    """Sort the files below `prefix` by the name of the ref that each belongs to.

    Names contain slashes, and one may lie inside another. A directory that only Lance makes ends a name: that of a
    ref which is there if it can be, else the longest. Files outside of such directories are not ours to judge.
    """
    trees: dict[str, dict[str, ObjectFacts]] = {}
    for path, found in files.items():
        parts = path.removeprefix(prefix).split("/")[:-1]
        names = ["/".join(parts[:end]) for end in range(1, len(parts)) if parts[end] in _DIRECTORIES_OF_LANCE]
        if names:
            owner = next((name for name in names if name in refs), names[-1])
            trees.setdefault(owner, {})[path] = found
    return trees
