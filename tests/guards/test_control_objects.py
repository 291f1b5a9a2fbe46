"""The object store layer under sidecars, locks and schema files, on local disk.

Pins lance-notes 21, storage 11. The same calls against S3 are in `test_s3.py`.
"""

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore


@pytest.fixture
def store(tmp_path) -> LocalStore:
    return LocalStore(tmp_path)


def test_create_succeeds_once(store):
    obstore.put(store, "folder/object.json", b"first", mode="create")

    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "folder/object.json", b"second", mode="create")

    assert bytes(obstore.get(store, "folder/object.json").bytes()) == b"first"


def test_compare_and_swap_is_not_implemented_for_local_files(store):
    token = obstore.put(store, "object.json", b"first")["e_tag"]

    with pytest.raises(NotImplementedError):
        obstore.put(store, "object.json", b"second", mode={"e_tag": token})

    assert bytes(obstore.get(store, "object.json").bytes()) == b"first"


def test_absence_is_the_builtin_file_not_found_error(store):
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "nothing.json")


def test_listing_of_an_absent_folder_is_empty(store):
    assert obstore.list(store, "nothing").collect() == []
