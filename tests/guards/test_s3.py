"""The same facts over the S3 protocol: conditional puts, races, refs, and where settings come from.

Pins lance-notes 17 and 21, storage 11, 14 and 18. Runs against a server on this machine.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import lance
import obstore
import pyarrow as pa
import pytest
from lance import LanceOperation
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

pytestmark = pytest.mark.s3

NOBODY = "http://127.0.0.1:9"
AT_ONCE = {"client_max_retries": "0", "client_retry_timeout": "1"}


@pytest.fixture
def s3_table(table, s3_root):
    table.uri = f"{s3_root}/table"
    return table


@pytest.fixture
def store(s3_root) -> S3Store:
    address = urlsplit(s3_root)
    return S3Store(address.netloc, prefix=address.path.strip("/"), client_options={"allow_http": True})


# Lance.


def test_lance_takes_its_settings_from_the_environment(s3_table):
    s3_table.create("ab")

    assert s3_table.ids() == "ab"


def test_plain_http_fails_without_permission(s3_table, monkeypatch):
    s3_table.create("a")
    monkeypatch.delenv("AWS_ALLOW_HTTP")

    with pytest.raises(ValueError, match="builder error"):
        lance.dataset(s3_table.uri, storage_options=AT_ONCE, session=lance.Session())


def test_explicit_endpoint_wins_over_the_general_variable_and_loses_to_the_one_for_s3(s3_table, monkeypatch):
    """Hence both adapters get every option explicitly, the endpoint under its strongest name."""
    s3_table.create("a")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ["AWS_ENDPOINT_URL"]
    explicit = {"aws_endpoint": endpoint, **AT_ONCE}

    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOBODY)
    found = s3_table.ids(lance.dataset(s3_table.uri, storage_options=explicit, session=lance.Session()))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", NOBODY)
    with pytest.raises(ValueError, match="error sending request"):
        lance.dataset(s3_table.uri, storage_options=explicit, session=lance.Session())

    assert found == "a"


def test_unreachable_endpoint_says_error_sending_request(s3_root, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", NOBODY)

    with pytest.raises(ValueError, match="error sending request"):
        lance.dataset(f"{s3_root}/table", storage_options=AT_ONCE, session=lance.Session())


def test_missing_table_says_was_not_found(s3_table):
    with pytest.raises(ValueError, match="was not found"):
        s3_table.open()


def test_racing_appends_all_land(s3_table):
    s3_table.create("a")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(s3_table.append, "bcde"))

    assert s3_table.ids() == "abcde"
    assert s3_table.open().version == 5


def test_second_upsert_of_one_new_key_fails(s3_table):
    s3_table.create("a")
    first, second = s3_table.open(), s3_table.open()

    s3_table.upsert(first, "n")
    with pytest.raises(OSError, match="Too many concurrent writers"):
        s3_table.upsert(second, "n")

    assert s3_table.ids() == "an"


def test_one_shared_row_turns_racing_publishers_into_one_chain(s3_table):
    s3_table.create(["head"])

    def publish(writer: int) -> list[int]:
        parents = []
        while len(parents) < 2:
            dataset = s3_table.open()
            parent = dataset.to_table(filter="id = 'head'")["age"][0].as_py()
            try:
                s3_table.upsert(dataset, ["head"], age=parent + 1)
            except OSError:
                continue  # Somebody else's publish landed, so the loops end together.
            parents.append(parent)
        return parents

    with ThreadPoolExecutor(5) as pool:
        parents = [parent for result in pool.map(publish, range(5)) for parent in result]

    assert sorted(parents) == list(range(10))


def test_staged_commit_and_restore_carry_our_uuid(s3_table):
    s3_table.create("a")
    append = s3_table.transaction(1, LanceOperation.Append(s3_table.stage("b")), operation_id="op-1")
    restore = s3_table.transaction(2, LanceOperation.Restore(1))

    for change in (append, restore):
        lance.LanceDataset.commit(s3_table.uri, change, max_retries=0)

    dataset = s3_table.open()
    assert [dataset.read_transaction(version).uuid for version in (2, 3)] == [append.uuid, restore.uuid]
    assert s3_table.ids() == "a"


def test_ref_lives_under_tree_and_is_listed(s3_table):
    s3_table.create("a").create_branch("b", 1)
    s3_table.append("n", ref="b")

    assert list(s3_table.open().branches.list()) == ["b"]
    assert s3_table.ids(s3_table.open_ref("b")) == "an"
    s3_table.open().branches.delete("b")
    with pytest.raises(ValueError, match="was not found"):
        s3_table.open_ref("b")


def test_version_manifests_have_the_same_names_as_on_local_disk(s3_table, store):
    s3_table.create("a").create_branch("b", 1)

    paths = {meta["path"] for meta in obstore.list(store, "table").collect()}

    assert f"table/_versions/{2**64 - 2}.manifest" in paths
    assert f"table/tree/b/_versions/{2**64 - 2}.manifest" in paths


# Control objects.


def test_create_succeeds_once(store):
    obstore.put(store, "object.json", b"first", mode="create")

    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "object.json", b"second", mode="create")

    assert bytes(obstore.get(store, "object.json").bytes()) == b"first"


def test_compare_and_swap_refuses_a_stale_token(store):
    token = obstore.put(store, "object.json", b"first")["e_tag"]
    obstore.put(store, "object.json", b"second", mode={"e_tag": token})

    with pytest.raises(PreconditionError):
        obstore.put(store, "object.json", b"third", mode={"e_tag": token})

    assert bytes(obstore.get(store, "object.json").bytes()) == b"second"


def test_absence_is_the_builtin_file_not_found_error(store):
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "nothing.json")


def test_lookup_goes_through_the_index(s3_table):
    s3_table.create(["alpha", "beta"]).create_scalar_index("id", "BTREE")

    lookup = s3_table.open().scanner(filter="id = 'beta'")

    assert "ScalarIndexQuery" in lookup.explain_plan()
    assert lookup.to_table()["id"] == pa.chunked_array([["beta"]])
