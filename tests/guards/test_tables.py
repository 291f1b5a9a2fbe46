"""Creation, row ids, names and filters: what every table of ours relies on.

Pins lance-notes 1, storage 3 and 11, lessons 32 and 60.
"""

import re
import shutil
import subprocess
import sys

import lance
import pyarrow as pa
import pytest
from lance.dataset import serialize_row_addrs


def test_new_table_has_stable_row_ids_and_format_2_2(table):
    dataset = table.create("a")

    assert dataset.has_stable_row_ids
    assert dataset.data_storage_version == "2.2"


def test_stable_row_ids_cannot_be_added_later(table):
    lance.write_dataset(table.rows("a"), table.uri, data_storage_version="2.2")

    lance.write_dataset(table.rows("b"), table.uri, mode="append", enable_stable_row_ids=True)

    assert not table.open().has_stable_row_ids


def test_append_keeps_stable_row_ids_and_format_without_being_told(table):
    table.create("a", "b")

    assert table.open().has_stable_row_ids
    assert table.open().data_storage_version == "2.2"
    assert table.row_ids() == {"a": 0, "b": 1}


def test_a_scan_can_be_told_the_row_ids_that_it_is_to_return(table):
    """Also where row ids and addresses have nothing to do with each other any more; what is gone is left out."""
    table.create("a", "b", "c", "d")
    dataset = table.open()
    dataset.update({"note": "'changed'"}, where="id = 'b'")
    dataset.delete("id = 'c'")
    dataset.optimize.compact_files()
    row_ids = table.row_ids()
    wanted = [row_ids["b"], row_ids["d"], 2, 10**9]

    found = (
        table.open()
        .scanner(columns=["id"], with_row_id=True, row_addr_allowlist=serialize_row_addrs(wanted))
        .to_table()
    )

    assert dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True)) == {
        "b": row_ids["b"],
        "d": row_ids["d"],
    }
    nothing = table.open().scanner(columns=["id"], row_addr_allowlist=serialize_row_addrs([])).to_table()
    assert nothing.num_rows == 0


def test_row_id_survives_upsert_and_compaction(table):
    dataset = table.create("ab", "c")

    table.upsert(dataset, "b", age=5)
    table.open().optimize.compact_files()

    assert table.row_ids() == {"a": 0, "b": 1, "c": 2}
    assert len(table.open().get_fragments()) == 1


@pytest.mark.parametrize(
    "name", ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"]
)
def test_reserved_column_name_is_refused(table, name):
    with pytest.raises(OSError, match=f"{name} is a reserved name"):
        lance.write_dataset(pa.table({"id": ["a"], name: pa.array([1], pa.uint64())}), table.uri)


@pytest.mark.parametrize("name", ["_distance", "_score"])
def test_search_result_names_are_allowed_as_columns(table, name):
    dataset = lance.write_dataset(pa.table({"id": ["a"], name: [1.0]}), table.uri)

    assert dataset.to_table()[name].to_pylist() == [1.0]


def test_filter_falls_back_to_a_name_in_other_letter_case(table):
    dataset = lance.write_dataset(pa.table({"Name": ["x", "y"]}), table.uri)

    assert dataset.count_rows("name = 'x'") == 1


def test_double_quotes_make_a_string_not_a_column(table):
    dataset = lance.write_dataset(pa.table({"repoName": ["x", "y"]}), table.uri)

    assert dataset.count_rows("\"repoName\" = 'x'") == 0
    assert dataset.count_rows("`repoName` = 'x'") == 1
    assert dataset.delete("\"repoName\" = 'x'")["num_deleted_rows"] == 0


COMMIT_TWICE = """
import sys
from contextlib import nullcontext
import lance, pyarrow as pa

uri, data = sys.argv[1], pa.table({"id": ["a"]})
lance.write_dataset(data, uri, data_storage_version="2.2")
append = lance.LanceOperation.Append(lance.fragment.write_fragments(data, uri))
lance.LanceDataset.commit(uri, append, read_version=1, commit_lock=lambda version: nullcontext())
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see system calls")
def test_local_commit_links_its_version_into_place_unless_a_commit_lock_makes_it_rename_and_never_syncs(
    table, tmp_path
):
    """A link fails when the name is taken and a rename does not: that is why no commit of ours passes a lock."""
    trace = tmp_path / "trace"
    calls = "trace=link,linkat,rename,renameat,renameat2,fsync,fdatasync,syncfs"

    subprocess.run(
        ["strace", "-f", "-qq", "-e", calls, "-o", trace, sys.executable, "-c", COMMIT_TWICE, table.uri], check=True
    )

    content = trace.read_text()
    versions = re.findall(r"(link|rename)\w*\(.*/_versions/(\d+)\.manifest\"", content)
    assert versions == [("link", str(2**64 - 2)), ("rename", str(2**64 - 3))]
    assert "sync(" not in content
