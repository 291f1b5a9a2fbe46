"""Control objects: the small text objects beside the tables, with one contract on every store."""

from omnigraph.storage.objects.contract import ControlStore, ObjectFacts, StoredObject, Token
from omnigraph.storage.objects.errors import ObjectChanged, ObjectExists
from omnigraph.storage.objects.local import LocalObjects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot

__all__ = ["ControlStore", "ObjectChanged", "ObjectExists", "ObjectFacts", "StoredObject", "Token", "open_objects"]


def open_objects(root: GraphRoot, settings: StoreSettings) -> ControlStore:
    """Return the control objects of the graph at `root`; nothing is read or written yet."""
    if settings.s3 is None:
        return LocalObjects(root)
    from omnigraph.storage.objects.s3 import S3Objects

    return S3Objects(root, settings.s3)
