"""Lance branches as table refs: names, files, leftovers, and what reads what.

Pins lance-notes 14, storage 7 and 13.4, branching 2, 4 and 9, lessons 8, 19, 21, 22 and 33.
"""

import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
import pytest


def drop_ref_object(table, name: str) -> None:
    """Remove the ref and leave its tree, as a crash in the middle of a delete does."""
    (Path(table.uri) / "_refs" / "branches" / f"{name}.json").unlink()


def test_branch_lives_under_tree_and_starts_at_its_parents_version(table):
    branch = table.create("a", "b").create_branch("b.1f2e", 1)

    assert branch.uri == table.ref_uri("b.1f2e")
    assert branch.version == 1
    assert table.ids(table.open_ref("b.1f2e")) == "a"


def test_branch_and_parent_use_the_same_version_numbers_for_different_content(table):
    table.create("a").create_branch("b", 1)

    table.append("m")
    table.append("n", ref="b")

    assert table.ids(table.open(2)) == "am"
    assert table.ids(table.open_ref("b", 2)) == "an"


def test_branch_list_tells_parent_version_and_identifier(table):
    table.create("a").create_branch("b", 1)
    table.open_ref("b").create_branch("c", ("b", 1))

    listed = table.open().branches.list()

    assert (listed["b"]["parent_branch"], listed["b"]["parent_version"]) == (None, 1)
    assert (listed["c"]["parent_branch"], listed["c"]["parent_version"]) == ("b", 1)
    assert [version for version, _ in listed["c"]["branch_identifier"]] == [1, 1]
    assert listed["c"]["branch_identifier"][0] == listed["b"]["branch_identifier"][0]


def test_identifier_changes_on_re_creation(table):
    table.create("a")
    identifiers = set()
    for _ in range(2):
        table.open().create_branch("b")
        identifiers.add(table.open().branches.list()["b"]["branch_identifier"][-1][1])
        table.open().branches.delete("b")

    assert len(identifiers) == 2


def test_checked_out_branch_still_reports_the_main_uri(table):
    table.create("a").create_branch("b")
    table.append("n", ref="b")

    handle = table.open().checkout_version(("b", 2))

    assert table.ids(handle) == "an"
    assert handle.uri == table.uri
    assert table.ids(lance.dataset(handle.uri)) == "a"


def test_dataset_does_not_take_a_branch_and_version_pair(table):
    table.create("a").create_branch("b")

    with pytest.raises(OSError, match="version must be an integer or a string"):
        lance.dataset(table.uri, version=("b", 1))


def test_handle_opened_at_the_ref_directory_survives_pickling(table):
    table.create("a").create_branch("b")
    table.append("n", ref="b")

    copy = pickle.loads(pickle.dumps(table.open_ref("b", 2)))

    assert table.ids(copy) == "an"


@pytest.mark.parametrize("name", [".hidden", "-dash", "größe"])
def test_lance_accepts_names_that_we_refuse(table, name):
    table.create("a").create_branch(name)

    assert list(table.open().branches.list()) == [name]


def test_tree_without_ref_opens_but_is_not_listed_and_not_deleted(table):
    table.create("a").create_branch("b")
    drop_ref_object(table, "b")

    assert table.ids(table.open_ref("b")) == "a"
    assert table.open().branches.list() == {}
    with pytest.raises(ValueError, match="b"):
        table.open().branches.delete("b")
    assert table.ids(table.open_ref("b")) == "a"


def test_tree_without_ref_blocks_creation_until_it_is_dropped(table):
    table.create("a").create_branch("b")
    drop_ref_object(table, "b")

    with pytest.raises(OSError, match="internal error"):
        table.open().create_branch("b")
    shutil.rmtree(table.ref_uri("b"))
    table.open().create_branch("b")

    assert list(table.open().branches.list()) == ["b"]


def test_tree_with_nothing_but_data_does_not_block_creation(table):
    dataset = table.create("a")
    data = Path(table.ref_uri("b"), "data")
    data.mkdir(parents=True)
    (data / "staged.lance").write_bytes(b"staged")

    dataset.create_branch("b")

    assert (data / "staged.lance").exists()
    assert table.ids(table.open_ref("b")) == "a"


def test_ref_without_tree_is_listed_and_deleted_but_not_opened(table):
    table.create("a").create_branch("b")
    shutil.rmtree(table.ref_uri("b"))

    assert list(table.open().branches.list()) == ["b"]
    with pytest.raises(ValueError, match="was not found"):
        table.open_ref("b")
    table.open().branches.delete("b")
    assert table.open().branches.list() == {}


def test_deleting_a_branch_removes_its_tree(table):
    table.create("a").create_branch("b")
    table.append("n", ref="b")

    table.open().branches.delete("b")

    assert not Path(table.ref_uri("b")).exists()


def test_deleting_a_branch_with_descendants_is_refused_and_names_them(table):
    table.create("a").create_branch("b")
    table.open_ref("b").create_branch("grandchild", ("b", 1))

    with pytest.raises(OSError, match="grandchild"):
        table.open().branches.delete("b")

    assert set(table.open().branches.list()) == {"b", "grandchild"}


def test_one_of_six_racing_creations_wins(table):
    table.create("a")

    def create(_: int) -> bool:
        try:
            table.open().create_branch("b")
        except OSError:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        wins = sum(pool.map(create, range(6)))

    assert wins == 1
    assert list(table.open().branches.list()) == ["b"]


def test_leftover_of_an_outer_name_holds_the_data_of_the_inner_one(table):
    """Names that nest share directories: dropping the remains of `a` drops `a/b`, whose ref stays."""
    dataset = table.create("x")
    dataset.create_branch("a")
    dataset.create_branch("a/b")

    table.open().branches.delete("a")
    assert Path(table.ref_uri("a")).exists()
    shutil.rmtree(table.ref_uri("a"))

    assert list(table.open().branches.list()) == ["a/b"]
    with pytest.raises(ValueError, match="was not found"):
        table.open_ref("a/b")


def test_ref_names_its_base_by_absolute_path(table, tmp_path):
    table.create("a").create_branch("b")
    copy = tmp_path / "copy"
    shutil.copytree(table.uri, copy)

    assert table.ids(lance.dataset(f"{copy}/tree/b")) == "a"
    shutil.rmtree(table.uri)

    assert table.ids(lance.dataset(str(copy))) == "a"
    with pytest.raises(pa.ArrowInvalid, match="Not found"):
        lance.dataset(f"{copy}/tree/b", session=lance.Session()).to_table()


def test_cleanup_keeps_fork_versions_of_branches_and_grandchildren(table):
    dataset = table.create("a", "b", "c")
    dataset.create_branch("child", 1)
    table.append("m", ref="child")
    table.open_ref("child").create_branch("grandchild", ("child", 2))

    table.open().cleanup_old_versions(retain_versions=1)
    table.open_ref("child").cleanup_old_versions(retain_versions=1)

    assert table.versions() == [1, 3]
    assert table.ids(table.open_ref("child")) == "am"
    assert table.ids(table.open_ref("grandchild")) == "am"


def test_cleanup_keeps_the_index_files_that_a_branch_inherits(table):
    table.create("ab").create_scalar_index("id", "BTREE", name="i")
    table.open().create_branch("b", 2)
    table.open().create_scalar_index("id", "BTREE", name="i", replace=True)

    table.open().cleanup_old_versions(retain_versions=1)

    lookup = table.open_ref("b").scanner(filter="id = 'b'")
    assert "ScalarIndexQuery" in lookup.explain_plan()
    assert lookup.to_table()["id"].to_pylist() == ["b"]


def test_cleanup_drops_a_version_that_no_lance_branch_refers_to(table):
    """A graph branch that only inherits a table has no Lance ref on it; its pin is ours to protect."""
    table.create("a", "b", "c")

    table.open().cleanup_old_versions(retain_versions=1)

    with pytest.raises(ValueError, match="was not found"):
        table.open(2)
