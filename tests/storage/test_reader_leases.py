import json
import os

import pytest

from omnigraph.base import clock
from omnigraph.errors import StorageError
from omnigraph.storage.locks import (
    LeaseTerms,
    StoreClock,
    forget_dead_readers,
    list_reader_leases,
    put_reader_lease,
)
from omnigraph.storage.objects import ControlStore, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.tables import StateAddress, TableAddress
from omnigraph.storage.uris import GraphRoot
from support.processes import child

TERMS = LeaseTerms(ttl_seconds=3.0, renew_seconds=0.4)
VERSIONS = (
    StateAddress(address=TableAddress("nodes/01-01"), version=7),
    StateAddress(address=TableAddress("edges/02-01", "review.0123456789ab"), version=3),
)

READER = """
    import os, sys
    from omnigraph.storage.locks import LeaseTerms, put_reader_lease
    from omnigraph.storage.objects import open_objects
    from omnigraph.storage.settings import StoreSettings
    from omnigraph.storage.tables import StateAddress, TableAddress
    from omnigraph.storage.uris import GraphRoot

    root = GraphRoot.parse(sys.argv[1])
    objects = open_objects(root, StoreSettings.resolve(root, None, os.environ))
    pinned = StateAddress(address=TableAddress("nodes/01-01"), version=7)
    terms = LeaseTerms(ttl_seconds=3.0, renew_seconds=0.4)
    with put_reader_lease(objects, [pinned], operation="export", terms=terms):
        print("reading")
        sys.stdin.readline()
    print("done")
"""


@pytest.fixture
def objects(store_root) -> ControlStore:
    root = GraphRoot.parse(store_root)
    return open_objects(root, StoreSettings.resolve(root, None, os.environ))


def test_a_lease_shows_what_it_protects_until_it_is_released(objects):
    store_clock = StoreClock.observe(objects)
    with put_reader_lease(objects, VERSIONS, operation="export", terms=TERMS):
        (seen,) = list_reader_leases(objects, store_clock=store_clock)

        assert seen.versions == VERSIONS
        assert (seen.holder.pid, seen.holder.operation) == (os.getpid(), "export")

    assert list_reader_leases(objects, store_clock=None) == ()


def test_a_lease_names_versions_on_disk_by_location_ref_and_version(objects):
    with put_reader_lease(objects, VERSIONS, operation="export", terms=TERMS):
        (path,) = objects.list("__locks/readers")
        document = json.loads(objects.read(path).content)

    assert document["versions"] == [
        {"location": "nodes/01-01", "ref": None, "version": 7},
        {"location": "edges/02-01", "ref": "review.0123456789ab", "version": 3},
    ]


def test_readers_do_not_exclude_each_other(objects):
    with (
        put_reader_lease(objects, VERSIONS[:1], operation="export", terms=TERMS),
        put_reader_lease(objects, VERSIONS[1:], operation="export", terms=TERMS),
    ):
        seen = list_reader_leases(objects, store_clock=None)

        assert {lease.versions for lease in seen} == {VERSIONS[:1], VERSIONS[1:]}


def test_a_lease_outlives_its_time_while_its_reader_lives(objects, store_root):
    with child(READER, store_root) as reader:
        assert reader.hear() == "reading"
        store_clock = StoreClock.observe(objects)

        assert not clock.wait_until(
            lambda: list_reader_leases(objects, store_clock=store_clock) == (), timeout_seconds=5, pause_seconds=0.2
        )
        reader.tell()
        assert reader.hear() == "done"

    assert list_reader_leases(objects, store_clock=None) == ()


def test_a_killed_readers_lease_stops_counting_by_the_stores_clock_only(objects, store_root):
    with child(READER, store_root) as reader:
        assert reader.hear() == "reading"
        reader.kill()
    store_clock = StoreClock.observe(objects)

    assert len(list_reader_leases(objects, store_clock=store_clock)) == 1
    assert clock.wait_until(lambda: not list_reader_leases(objects, store_clock=store_clock), timeout_seconds=15)
    assert len(list_reader_leases(objects, store_clock=None)) == 1


def test_only_leases_that_died_long_ago_are_forgotten(objects, store_root):
    with child(READER, store_root) as reader:
        assert reader.hear() == "reading"
        reader.kill()
    now = StoreClock.observe(objects)
    half_an_hour_later, two_hours_later = (
        StoreClock(store_seconds=now.store_seconds + seconds, observed_at=now.observed_at) for seconds in (1_800, 7_200)
    )

    forget_dead_readers(objects, store_clock=half_an_hour_later)
    assert len(list_reader_leases(objects, store_clock=None)) == 1
    forget_dead_readers(objects, store_clock=two_hours_later)
    assert list_reader_leases(objects, store_clock=None) == ()


def test_a_lease_that_cannot_be_read_is_not_overlooked(objects):
    objects.put("__locks/readers/broken.json", b"?")

    with pytest.raises(StorageError, match="not a lease"):
        list_reader_leases(objects, store_clock=None)
