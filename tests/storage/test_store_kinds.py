"""A kind of store is declared in one place; an address in none of them is refused by name, never taken for local."""

import pytest

import omnigraph
from omnigraph.errors import Addressing, Internal, Usage
from omnigraph.storage.bucket import Bucket
from omnigraph.storage.locks import open_locks
from omnigraph.storage.locks.flock_locks import FlockLocks
from omnigraph.storage.locks.lease_locks import LeaseLocks
from omnigraph.storage.objects import open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import STORES, GraphRoot, StoreKind, is_bucket_uri

ADDRESSES = {StoreKind.LOCAL: "file:///tmp/g.omni", StoreKind.S3: "s3://bucket/g.omni"}
ACCEPTED = "Accepted are a path, file:///path and s3://bucket/prefix."


@pytest.mark.parametrize("kind", StoreKind)
def test_every_kind_of_store_can_be_addressed_and_opened(kind: StoreKind) -> None:
    root = GraphRoot.parse(ADDRESSES[kind])
    objects = open_objects(root, StoreSettings.resolve(root, None, {}))
    assert root.store is kind
    assert root.is_local is STORES[kind].is_file_system
    assert is_bucket_uri(ADDRESSES[kind]) is not root.is_local
    assert objects.root == root
    assert isinstance(open_locks(root, objects)._locks, FlockLocks if root.is_local else LeaseLocks)


@pytest.mark.parametrize("address", ["gs://bucket/g", "az://container/g", "hdfs://host/g"])
def test_an_unknown_store_is_refused_with_those_that_there_are(address: str, tmp_path) -> None:
    said = f"{address} has the unknown scheme {address.partition(':')[0]}://. {ACCEPTED}"
    with pytest.raises(Addressing) as refused:
        GraphRoot.parse(address)
    assert str(refused.value) == said
    graph = omnigraph.init(str(tmp_path / "g.omni"), "node A { name: String @key }")
    for attempt in (lambda: graph.load(f"{address}/a.jsonl", mode="append"), lambda: graph.export(f"{address}/")):
        with pytest.raises(Usage, match=f"has the unknown scheme {address.partition(':')[0]}://. Accepted are a path"):
            attempt()


def test_a_root_that_lies_nowhere_is_not_local() -> None:
    with pytest.raises(Internal, match="gs://bucket/g"):
        assert GraphRoot(uri="gs://bucket/g", identity="gs://bucket/g").is_local


def test_files_are_in_no_bucket() -> None:
    with pytest.raises(Internal, match="is in no bucket"):
        Bucket("file://localhost/g")
