"""What a version needs and what of it is lost, on both kinds of store."""

import pytest

from omnigraph.errors import StorageError
from omnigraph.graph import Graph
from omnigraph.storage.file_references import (
    FileKind,
    LostFile,
    files_of_version,
    lost_files,
    manifest_path,
    missing_or_short,
)
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import TableAddress
from support import harbor


@pytest.fixture
def graph(store_root: str) -> Graph:
    """A table with deletions, indexes and several versions, and a branch that goes on from it."""
    graph = harbor.new_graph(store_root)
    graph.optimize()
    graph.load(harbor.lines([harbor.sailor("Ana", age=51), harbor.sailor("Flo")]), mode="merge")
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Bo", age=35)]), mode="merge", branch="review")
    return graph


def sailors(graph: Graph, branch: str = "main") -> tuple[TableAddress, int]:
    pin = next(pin for pin in graph.snapshot(branch).tables if pin.type_name == "Sailor")
    return TableAddress(pin.location, pin.ref), pin.version


def objects_of(graph: Graph) -> ControlStore:
    return graph._context.store.objects


def listing(graph: Graph) -> dict[str, int]:
    return dict(objects_of(graph).sizes(f"{sailors(graph)[0].location}/"))


def a_path(graph: Graph, kind: FileKind, branch: str = "main") -> str:
    """Return the last file of a kind that a branch needs of the sailors."""
    needed = files_of_version(objects_of(graph), *sailors(graph, branch))
    return [reference.path for reference in needed if reference.kind is kind][-1]


def lost_on(graph: Graph, branch: str = "main") -> dict[LostFile, tuple[int, ...]]:
    address, version = sailors(graph, branch)
    return lost_files(objects_of(graph), address, [version], listing(graph))


@pytest.mark.parametrize("branch", ["main", "review"])
def test_nothing_is_lost_of_a_whole_table(graph: Graph, branch: str) -> None:
    address, version = sailors(graph, branch)
    references = files_of_version(objects_of(graph), address, version)

    assert {reference.kind for reference in references} == {
        FileKind.MANIFEST,
        FileKind.DATA,
        FileKind.DELETIONS,
        FileKind.INDEX,
    }
    assert missing_or_short(references, listing(graph)) == ()
    assert lost_files(objects_of(graph), address, range(version - 1, version + 1), listing(graph)) == {}


@pytest.mark.parametrize("kind", [FileKind.DATA, FileKind.DELETIONS, FileKind.INDEX])
@pytest.mark.parametrize("branch", ["main", "review"])
def test_a_missing_file_is_named_with_the_versions_that_need_it(graph: Graph, branch: str, kind: FileKind) -> None:
    path = a_path(graph, kind, branch)
    objects_of(graph).delete(path)

    assert lost_on(graph, branch) == {LostFile(path, kind, "is missing"): (sailors(graph, branch)[1],)}


@pytest.mark.parametrize("kind", [FileKind.DATA, FileKind.INDEX])
def test_a_short_file_is_named_with_what_is_left_of_it(graph: Graph, kind: FileKind) -> None:
    path = a_path(graph, kind)
    whole = listing(graph)[path]
    objects_of(graph).put(path, b"cut off")

    ((lost, _),) = lost_on(graph).items()

    assert str(lost) == f"{path} has 7 of {whole} bytes"


def test_a_longer_file_and_an_empty_one_are_not_what_was_written(graph: Graph) -> None:
    longer, empty = a_path(graph, FileKind.DATA), a_path(graph, FileKind.DELETIONS)
    objects_of(graph).put(longer, b"x" * 100_000)
    objects_of(graph).put(empty, b"")

    problems = {lost.path: lost.problem for lost in lost_on(graph)}

    assert problems[longer].startswith("has 100000 bytes, not ")
    assert problems[empty] == "is empty"


def test_a_manifest_that_is_missing_or_damaged_counts_as_lost_and_is_refused_when_asked_for(graph: Graph) -> None:
    address, version = sailors(graph)
    objects = objects_of(graph)
    gone, damaged = manifest_path(address, version - 1), manifest_path(address, version)
    objects.delete(gone)
    objects.put(damaged, b"not a manifest, though long enough")

    assert lost_files(objects, address, [version, version - 1], listing(graph)) == {
        LostFile(gone, FileKind.MANIFEST, "is missing"): (version - 1,),
        LostFile(damaged, FileKind.MANIFEST, "cannot be read"): (version,),
    }
    with pytest.raises(StorageError, match="does not end like a Lance manifest"):
        files_of_version(objects, address, version)
    with pytest.raises(StorageError, match="is missing"):
        files_of_version(objects, address, version - 1)


def test_the_manifest_of_another_version_is_not_taken_for_this_one(graph: Graph) -> None:
    address, version = sailors(graph)
    objects = objects_of(graph)
    older = objects.read(manifest_path(address, version - 1))
    assert older is not None
    objects.put(manifest_path(address, version), older.content)

    with pytest.raises(StorageError, match=f"manifest of version {version - 1}"):
        files_of_version(objects, address, version)


def test_a_file_that_several_versions_need_names_all_of_them(graph: Graph) -> None:
    address, version = sailors(graph)
    earlier = files_of_version(objects_of(graph), address, version - 1)
    now = files_of_version(objects_of(graph), address, version)
    shared = next(
        path for path in (r.path for r in now if r.kind is FileKind.DATA) if path in {r.path for r in earlier}
    )
    objects_of(graph).delete(shared)

    lost = lost_files(objects_of(graph), address, [version - 1, version], listing(graph))

    assert lost[LostFile(shared, FileKind.DATA, "is missing")] == (version - 1, version)
