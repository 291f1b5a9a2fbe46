"""Control objects: the small text objects beside the tables, with one contract on every store."""

from typing import assert_never

from omnigraph.storage.objects.contract import (
    ControlStore,
    ObjectChanged,
    ObjectExists,
    ObjectFacts,
    StoredObject,
    Token,
)
from omnigraph.storage.objects.local import LocalObjects
from omnigraph.storage.objects.probe import ConditionsIgnored
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot, StoreKind

__all__ = [
    "ConditionsIgnored",
    "ControlStore",
    "ObjectChanged",
    "ObjectExists",
    "ObjectFacts",
    "StoredObject",
    "Token",
    "open_objects",
]


def open_objects(root: GraphRoot, settings: StoreSettings) -> ControlStore:
    """Return the control objects of the graph at `root`; nothing is read or written yet."""
    match root.store:
        case StoreKind.LOCAL:
            return LocalObjects(root)
        case StoreKind.S3:
            from omnigraph.storage.objects.s3 import S3Objects

            assert settings.s3 is not None  # resolved for a root on S3
            return S3Objects(root, settings.s3)
        case never:
            assert_never(never)
