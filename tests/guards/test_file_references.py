"""The fields of a manifest that name files: what we read there is what Lance itself tracks.

Pins maintenance 4 ("never remove the last good copy"). `storage/file_references.py` reads exactly these bytes.
"""

from pathlib import Path

import pytest

from omnigraph.storage.file_references import FileKind, FileReference, files_of_version, missing_or_short
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress

KINDS_OF_LANCE = {
    "manifest": FileKind.MANIFEST,
    "data file": FileKind.DATA,
    "deletion file": FileKind.DELETIONS,
    "index file": FileKind.INDEX,
}


@pytest.fixture
def objects(table) -> ControlStore:
    return GraphStore.open(str(Path(table.uri).parent)).objects


def busy_table(table, ref: str) -> None:
    """Make appends, deletions of both kinds of file, indexes, and a ref with all of it on top of what it inherits."""
    table.create([f"r{number}" for number in range(6_000)], "bc")
    table.open().create_scalar_index("age", "BTREE")
    table.open().create_scalar_index("note", "INVERTED")
    table.open().delete("id like 'r%' and id <> 'r0'")
    table.open().delete("id = 'b'")
    table.open().create_branch(ref)
    table.append("d", ref=ref)
    table.open_ref(ref).delete("id = 'c'")
    table.open_ref(ref).create_scalar_index("id", "BTREE")


def tracked(dataset, version: int, root: Path) -> set[tuple[str, str]]:
    """Return what Lance tracks of one version, without transactions; it knows no index that a ref inherits."""
    rows = dataset.tracked_files().read_all().to_pylist()
    return {
        (str(Path(row["base_uri"], row["path"]).relative_to(root)), KINDS_OF_LANCE[row["type"]])
        for row in rows
        if row["version"] == version and row["type"] in KINDS_OF_LANCE
    }


@pytest.mark.parametrize("ref", [None, "deep/ref"])
def test_the_references_of_every_version_are_the_files_that_lance_tracks(table, objects, ref):
    busy_table(table, "deep/ref")
    root = Path(table.uri).parent
    dataset = table.open_ref(ref) if ref else table.open()
    address = TableAddress(Path(table.uri).name, ref)

    for version in (entry["version"] for entry in dataset.versions()):
        found = {(reference.path, reference.kind) for reference in files_of_version(objects, address, version)}
        expected = tracked(dataset, version, root)
        assert expected <= found
        inherited = found - expected
        assert all(kind is FileKind.INDEX and "/tree/" not in path for path, kind in inherited)
        assert ref or not inherited


def test_sizes_are_those_on_disk_and_deletions_come_in_both_forms(table, objects):
    busy_table(table, "deep/ref")
    address = TableAddress(Path(table.uri).name)
    references = files_of_version(objects, address, table.open().version)

    present = objects.sizes(f"{address.location}/")

    assert missing_or_short(references, present) == ()
    sized = [reference for reference in references if reference.size is not None]
    assert {reference.kind for reference in sized} == {FileKind.MANIFEST, FileKind.DATA, FileKind.INDEX}
    assert all(present[reference.path] == reference.size for reference in sized)
    deletions = [reference.path for reference in references if reference.kind is FileKind.DELETIONS]
    assert {path.rpartition(".")[2] for path in deletions} == {"arrow", "bin"}


def test_an_index_whose_files_are_not_listed_needs_its_directory(table, objects):
    table.create("ab")
    name = Path(table.uri).name
    reference = FileReference(f"{name}/_indices/some/", FileKind.INDEX, None)

    (lost,) = missing_or_short([reference], objects.sizes(f"{name}/"))

    assert str(lost) == f"{name}/_indices/some/ has no files"
    assert missing_or_short([reference], {f"{name}/_indices/some/page.lance": 1}) == ()
