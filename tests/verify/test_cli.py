"""`omnigraph verify` proves that a graph is whole, and names everything that is not, on local disk and on S3."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.store import GraphStore
from support import harbor

pytestmark = pytest.mark.usefixtures("workplace")


@dataclass
class Place:
    """A graph whose files a test may damage, wherever they lie."""

    root: str

    @property
    def store(self) -> GraphStore:
        return GraphStore.open(self.root)

    def pin(self, table_key: str) -> TablePin:
        pins = omnigraph.open(self.root, read_only=True).snapshot().tables
        return next(pin for pin in pins if pin.table_key == table_key)

    def files(self, location: str) -> dict[str, bytes]:
        objects = self.store.objects
        found = ((path, objects.read(path)) for path in objects.list(f"{location}/"))
        return {path: stored.content for path, stored in found if stored is not None}

    def current_data_file(self, table_key: str) -> str:
        """Return the largest data file that the head needs: damage then hits rows for certain."""
        pin = self.pin(table_key)
        table = self.store.tables.open(pin.address, pin.version)
        files = [file for fragment in table.dataset.get_fragments() for file in fragment.metadata.files]
        return f"{pin.location}/data/{max(files, key=lambda file: file.file_size_bytes).path}"

    def change(self, path: str, make: Callable[[bytes], bytes]) -> str:
        stored = self.store.objects.read(path)
        assert stored is not None
        self.store.objects.put(path, make(stored.content))
        return path

    def replace_directory(self, location: str, files: dict[str, bytes]) -> None:
        objects = self.store.objects
        for path in objects.list(f"{location}/"):
            objects.delete(path)
        for path, content in files.items():
            objects.put(f"{location}/{path}", content)

    def relative(self, location: str) -> dict[str, bytes]:
        return {path.removeprefix(f"{location}/"): content for path, content in self.files(location).items()}

    def drift(self, table_key: str, rows: list[dict[str, object]]) -> None:
        """Append rows behind the graph's back and have them published."""
        pin = self.pin(table_key)
        tables = self.store.tables
        table = tables.open(pin.address, pin.version)
        lance.write_dataset(
            pa.Table.from_pylist(rows, schema=table.schema),
            tables.uri(pin.address),
            mode="append",
            storage_options=tables.storage_options,
        )
        omnigraph.open(self.root).repair(force=True, confirm=True)


def missing_file(place: Place) -> str:
    path = place.current_data_file("node:Sailor")
    place.store.objects.delete(path)
    return path


def truncated_file(place: Place) -> str:
    return place.change(place.current_data_file("node:Sailor"), lambda content: content[:-10])


def zeroed_file(place: Place) -> str:
    return place.change(place.current_data_file("node:Sailor"), lambda content: bytes(len(content)))


def flipped_bit(place: Place) -> str:
    """Flip a bit inside a stored text: Lance reads another text there, without a word."""

    def flip(content: bytes) -> bytes:
        at = content.index(b"QWERTZ77")
        return content[:at] + bytes([content[at] ^ 2]) + content[at + 1 :]

    return place.change(place.current_data_file("node:Sailor"), flip)


def swapped_directories(place: Place) -> str:
    sailors, ships = place.pin("node:Sailor").location, place.pin("node:Ship").location
    first, second = place.relative(sailors), place.relative(ships)
    place.replace_directory(sailors, second)
    place.replace_directory(ships, first)
    return sailors


def replaced_directory(place: Place) -> str:
    other = Place(f"{place.root.removesuffix('.omni')}-other.omni")
    graph = harbor.new_graph(other.root)
    graph.optimize()
    location = place.pin("node:Sailor").location
    place.replace_directory(location, other.relative(other.pin("node:Sailor").location))
    return location


def missing_index_file(place: Place) -> str:
    location = place.pin("node:Ship").location
    path = next(path for path in place.store.objects.list(f"{location}/_indices/") if path.endswith(".lance"))
    place.store.objects.delete(path)
    return path


def deleted_log(place: Place) -> str:
    place.replace_directory("_graph_commits", {})
    return "_graph_commits"


def doubled_key(place: Place) -> str:
    place.drift("node:Sailor", [{"id": "Ana", "name": "Ana", "rank": "mate"}])
    return "Ana"


def dangling_edge(place: Place) -> str:
    place.drift("edge:Mentors", [{"id": "m9", "src": "Ana", "dst": "Nobody"}])
    return "Nobody"


def wrong_enum(place: Place) -> str:
    place.drift("node:Sailor", [{"id": "Zed", "name": "Zed", "rank": "pirate"}])
    return "pirate"


CHEAP = {
    missing_file: "file_lost",
    truncated_file: "file_lost",
    zeroed_file: "file_changed",
    swapped_directories: "table_replaced",
    replaced_directory: "table_replaced",
    missing_index_file: "index_lost",
    deleted_log: "log_incomplete",
    doubled_key: "constraint_broken",
    dangling_edge: "constraint_broken",
}
"""What is found without --deep already; what exactly is wrong with a file of zeros only --deep can say."""
DEEP = {flipped_bit: "file_changed", wrong_enum: "constraint_broken"}
ON_S3 = (missing_file, truncated_file, flipped_bit, swapped_directories, missing_index_file, deleted_log, dangling_edge)


def new_place(root: str) -> Place:
    graph = harbor.new_graph(root)
    graph.load(harbor.lines([harbor.sailor("Dee", age=20, badge="QWERTZ77")]), mode="append")
    graph.optimize()
    return Place(root)


def check_damage(run, place: Place, damage: Callable[[Place], str]) -> None:
    kind = (CHEAP | DEEP)[damage]
    named = damage(place)

    shallow = run("verify", place.root, "--json")
    deep = run("verify", place.root, "--deep", "--json")

    assert shallow.code == (2 if damage in CHEAP else 0), shallow.out
    assert deep.code == 2, deep.out
    found = [problem for problem in deep.document["problems"] if problem["kind"] == kind]
    assert any(named in json.dumps(problem) for problem in found), deep.document["problems"]
    text = run("verify", place.root, "--deep")
    assert text.code == 2
    assert named in text.out


@pytest.mark.parametrize("damage", [*CHEAP, *DEEP])
def test_every_damage_is_found_and_named(run, local_root: str, damage: Callable[[Place], str]) -> None:
    check_damage(run, new_place(local_root), damage)


@pytest.mark.s3
@pytest.mark.parametrize("damage", ON_S3)
def test_damage_is_found_on_s3(run, s3_root: str, damage: Callable[[Place], str]) -> None:
    check_damage(run, new_place(s3_root), damage)


def busy_graph(root: str) -> Graph:
    """A graph with a history of every kind of write, a branch, a merge, dropped and added columns and types."""
    graph = harbor.new_graph(root)
    with graph.write() as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
        batch.delete("Ship", ids=["S2"])
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Zed")]), mode="append", branch="review")
    graph.branches.merge("review")
    graph.branches.delete("review")
    changed = harbor.SCHEMA.replace("rank:", 'nickname: String @default("-")\n    rank:')
    graph.apply_schema(f"{changed}\nnode Buoy {{ label: String @key }}\n")
    graph.optimize()
    graph.apply_schema(harbor.SCHEMA)
    graph.branches.create("later")
    with graph.write(branch="later") as batch:
        batch.delete("Sailor", ids=["Cy"])
    return graph


def test_a_whole_graph_is_whole_and_every_file_is_checkable(run, local_root: str) -> None:
    busy_graph(local_root)

    report = run("verify", local_root, "--deep", "--all-branches", "--json").document

    assert (report["clean"], report["problems"]) == (True, [])
    assert report["branches"] == ["main", "later"]
    # The deletion files of a branch's first write, of sailors and of who mentors them, are made after the fork.
    assert report["files_without_checksum"] == 2
    assert report["rows_read"] > 0


def test_indexes_are_compared_in_a_program_that_loads_numpy_late(run_process, local_root: str) -> None:
    """A process of its own: only there is Arrow loaded without numpy, and cannot convert to it."""
    harbor.new_graph(local_root).optimize()

    ran = run_process("verify", local_root, "--deep", "--json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.document["problems"] == []


def test_verify_changes_nothing(run, local_root: str) -> None:
    busy_graph(local_root)
    before = {path: path.stat().st_mtime_ns for path in Path(local_root).rglob("*")}

    run("verify", local_root, "--deep", "--all-branches")

    assert {path: path.stat().st_mtime_ns for path in Path(local_root).rglob("*")} == before


def test_versions_that_cleanup_removed_are_not_missed(run, local_root: str) -> None:
    graph = busy_graph(local_root)
    for number in range(4):
        graph.load(harbor.lines([harbor.sailor(f"n{number}")]), mode="append")
    run("cleanup", local_root, "--keep", "1", "--confirm")

    report = run("verify", local_root, "--deep", "--json").document

    assert report["clean"], report["problems"]
    assert report["versions_reclaimed"] > 0


def test_an_older_version_that_lost_a_file_is_told_apart_from_the_head(run, local_root: str) -> None:
    place = new_place(local_root)
    needed = place.current_data_file("node:Sailor")
    data = f"{place.pin('node:Sailor').location}/data/"
    old = next(path for path in place.store.objects.list(data) if path != needed)
    place.store.objects.delete(old)

    shown = run("verify", local_root)

    assert shown.code == 2
    assert f"data file {old} is missing" in shown.out
    assert "the table is whole in graph versions 1" in shown.out
    assert omnigraph.open(local_root).snapshot().table("Sailor").count_rows() == 4


def test_a_foreign_file_is_counted_as_not_checkable(run, local_root: str) -> None:
    place = new_place(local_root)
    place.drift("node:Sailor", [{"id": "Zed", "name": "Zed", "rank": "mate"}])

    shown = run("verify", local_root, "--deep")

    assert shown.code == 0, shown.out
    assert "1 file not checkable byte for byte" in shown.out


def test_a_copied_graph_is_whole(run, local_root: str, tmp_path: Path) -> None:
    new_place(local_root)
    shutil.copytree(local_root, tmp_path / "copy.omni")

    assert run("verify", str(tmp_path / "copy.omni"), "--deep").code == 0


def test_a_graph_that_is_not_there_and_flags_that_exclude_each_other_have_codes_of_their_own(run, local_root) -> None:
    assert run("verify", local_root).code == 70
    assert run("verify", local_root, "--branch", "b", "--all-branches").code == 64


def test_python_gives_the_typed_result(local_root: str) -> None:
    place = new_place(local_root)
    graph = omnigraph.open(local_root)
    assert graph.verify(deep=True).is_clean

    path = missing_file(place)
    (problem,) = omnigraph.open(local_root).verify().problems

    assert isinstance(problem, omnigraph.Problem)
    assert (problem.table_key, problem.file, problem.branch) == ("node:Sailor", path, None)
    assert replace(problem, versions=()).versions == ()
