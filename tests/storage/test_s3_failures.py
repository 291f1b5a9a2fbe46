"""Every text of obstore that we read, provoked by a server that behaves so."""

import os

import obstore
import pytest

from omnigraph.errors import StorageError
from omnigraph.storage.objects import open_objects, s3
from omnigraph.storage.objects.s3_failures import is_conflict, is_no_such_key, storage_error
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot
from support.faulty_s3 import Answer, Delay, LoseAnswer, LoseRequest

pytestmark = pytest.mark.s3


def objects_at(uri: str, **options: str):
    root = GraphRoot.parse(uri)
    return open_objects(root, StoreSettings.resolve(root, options, os.environ))


@pytest.mark.parametrize(
    ("status", "storage_kind"),
    [
        (400, "configuration"),
        (401, "configuration"),
        (403, "configuration"),
        (405, "configuration"),
        (429, "transient"),
        (500, "transient"),
        (501, "configuration"),
        (502, "transient"),
        (503, "transient"),
        (504, "transient"),
        (301, "configuration"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "LIST", "PUT", "DELETE"])
def test_every_status_has_a_kind_on_every_call(s3_root, s3_faults, status, storage_kind, method):
    objects = objects_at(s3_root)
    store = objects._single
    calls = {
        "GET": lambda: obstore.get(store, "a.json"),
        "LIST": lambda: obstore.list(store, "a").collect(),
        "PUT": lambda: obstore.put(store, "a.json", b"", mode="create"),
        "DELETE": lambda: obstore.delete(store, "a.json"),
    }
    s3_faults.break_next(Answer(status))

    with pytest.raises(Exception) as caught:
        calls[method]()

    assert not is_conflict(caught.value)
    assert not is_no_such_key(caught.value)
    error = storage_error(caught.value, doing="Trying", uri=s3_root)
    assert error.details["storage_kind"] == storage_kind
    assert "InjectedFault" not in str(error)
    assert "Debug source" not in str(error)


@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer()], ids=repr)
def test_a_broken_connection_is_transient(s3_root, s3_faults, fault):
    store = objects_at(s3_root)._single
    s3_faults.break_next(fault)

    with pytest.raises(obstore.exceptions.GenericError) as caught:
        obstore.get(store, "a.json")

    assert storage_error(caught.value, doing="Reading", uri=s3_root).is_transient


def test_an_endpoint_where_nobody_listens_is_transient(s3_root):
    store = objects_at(s3_root, endpoint="http://127.0.0.1:1")._single

    with pytest.raises(obstore.exceptions.GenericError) as caught:
        obstore.get(store, "a.json")

    assert storage_error(caught.value, doing="Reading", uri=s3_root).is_transient


def test_a_wrong_region_is_named(s3_root, s3_faults):
    s3_faults.break_next(Answer(301))

    with pytest.raises(StorageError, match="another region"):
        objects_at(s3_root).read("a.json")


def test_only_no_such_key_is_absence(s3_root):
    store = objects_at(s3_root)._single

    with pytest.raises(FileNotFoundError) as caught:
        obstore.get(store, "a.json")

    assert is_no_such_key(caught.value)


def test_an_outage_through_all_retries_is_transient(s3_root, s3_faults, monkeypatch):
    s3_faults.break_next(Answer(503), times=1_000)

    with pytest.raises(StorageError, match="503") as caught:
        objects_at(s3_root).read("a.json")

    assert caught.value.is_transient


def test_a_store_that_takes_too_long_is_transient(s3_root, s3_faults, monkeypatch):
    monkeypatch.setattr(s3, "_REQUEST_SECONDS_MAX", 0.3)
    store = objects_at(s3_root)._single
    s3_faults.break_next(Delay(0.6))

    with pytest.raises(obstore.exceptions.GenericError) as caught:
        obstore.get(store, "a.json")

    assert storage_error(caught.value, doing="Reading", uri=s3_root).is_transient
