"""The catalog of a cluster: the applied text of every query and policy, stored under the digest of its content.

A blob at its path is never rewritten: its name says what it holds. What a ledger no longer names stays where it is.
"""

import hashlib
from enum import StrEnum
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.cluster.resources import ResourceKind, graph_of, kind_of, name_of
from omnigraph.cluster.site import ClusterSite
from omnigraph.errors import Internal, StorageError
from omnigraph.storage.objects import ObjectExists

RESOURCES: Final = "resources"


class BlobState(StrEnum):
    """What a look at a blob came to."""

    WHOLE = "whole"
    MISSING = "missing"
    ALTERED = "altered"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogBlob:
    """One blob: its content if that has the digest that was asked for, else what is wrong with it."""

    address: str
    path: str
    state: BlobState
    content: bytes | None = None
    reason: str | None = None


def has_blob(address: str) -> bool:
    """Whether the resource at an address is kept in the catalog: queries and policies are."""
    return kind_of(address) in {ResourceKind.QUERY, ResourceKind.POLICY}


def blob_path(address: str, digest: str) -> str:
    """Return where the content of a query or policy is, below `__cluster/`."""
    match kind_of(address):
        case ResourceKind.QUERY:
            return f"{RESOURCES}/query/{graph_of(address)}/{name_of(address)}/{digest}.gq"
        case ResourceKind.POLICY:
            return f"{RESOURCES}/policy/{name_of(address)}/{digest}.yaml"
        case _:
            raise Internal(f"{address} has no blob")


def read_blob(site: ClusterSite, address: str, digest: str) -> CatalogBlob:
    """Read a blob and compare its content with its digest; a store that fails is not a blob that is gone."""
    path = blob_path(address, digest)
    try:
        stored = site.objects.read(path)
    except StorageError as error:
        return CatalogBlob(address=address, path=path, state=BlobState.UNREADABLE, reason=error.message)
    if stored is None:
        return CatalogBlob(address=address, path=path, state=BlobState.MISSING)
    if hashlib.sha256(stored.content).hexdigest() != digest:
        return CatalogBlob(address=address, path=path, state=BlobState.ALTERED)
    return CatalogBlob(address=address, path=path, state=BlobState.WHOLE, content=stored.content)


def publish_blob(site: ClusterSite, address: str, digest: str, content: bytes) -> None:
    """Write a blob unless a whole one is there; one that was altered is replaced, because its name says what it holds.

    Raises `StorageError`.
    """
    path = blob_path(address, digest)
    try:
        site.objects.create(path, content)
    except ObjectExists:
        if read_blob(site, address, digest).state is not BlobState.WHOLE:
            site.objects.put(path, content)
