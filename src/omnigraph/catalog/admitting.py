"""The catalog by which input of a graph is read: its Blob properties know which references the graph allows."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, TypeVar

from omnigraph.catalog.blob_bases import BlobBases
from omnigraph.catalog.model import Catalog, EntityType, Property, Scalar

FindBlobBases: TypeAlias = Callable[[], BlobBases | None]
"""Finds the bases that a graph allows, None for no base at all; asked when something may be stored."""
EntityT = TypeVar("EntityT", bound=EntityType)


def no_blob_bases() -> BlobBases | None:
    """Allow no references: what a graph does that belongs to no cluster."""
    return None


def with_blob_bases(catalog: Catalog, find: FindBlobBases) -> Catalog:
    """Tell the Blob properties of a catalog what the graph allows; nobody is asked if there are none."""
    if not any(_is_blob(declared) for entity in catalog.entity_types() for declared in entity.properties):
        return catalog
    bases = find()
    if bases is None:
        return catalog
    return replace(
        catalog,
        nodes=tuple(_told(node, bases) for node in catalog.nodes),
        edges=tuple(_told(edge, bases) for edge in catalog.edges),
    )


def _told(entity: EntityT, bases: BlobBases) -> EntityT:
    properties = tuple(
        replace(declared, type=replace(declared.type, blob_bases=bases)) if _is_blob(declared) else declared
        for declared in entity.properties
    )
    return replace(entity, properties=properties)


def _is_blob(declared: Property) -> bool:
    return declared.type.scalar is Scalar.BLOB
