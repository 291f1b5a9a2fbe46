"""Names of branches and types for somebody who waits at a prompt: from names of objects and one small file, no Lance.

What is read here is no authority: a graph of an older format has no such copies, and then there are no names.
"""

import json
import os
from urllib.parse import unquote

from omnigraph.storage.objects import ControlStore, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot

_MAIN = "main"
_REFS = "__manifest/_refs/branches/"
_SUFFIX = ".json"
_SCHEMA_COPY = "_schema.ir.json"
_KINDS = (("node", "nodes"), ("edge", "edges"))


def quick_branch_names(uri: str) -> list[str]:
    """Return the branches of a graph, `main` first; those of the program are hidden."""
    objects = _objects(uri)
    if not objects.sizes_of([_SCHEMA_COPY]):
        return []
    paths = objects.list(_REFS)
    names = [unquote(path.removeprefix(_REFS).removesuffix(_SUFFIX)) for path in paths if path.endswith(_SUFFIX)]
    return [_MAIN, *sorted(name for name in names if not name.startswith("__"))]


def quick_table_keys(uri: str) -> list[str]:
    """Return the types of a graph as table keys, nodes first."""
    stored = _objects(uri).read(_SCHEMA_COPY)
    schema = json.loads(stored.content) if stored is not None else {}
    return [f"{kind}:{entity['name']}" for kind, member in _KINDS for entity in schema.get(member, ())]


def _objects(uri: str) -> ControlStore:
    root = GraphRoot.parse(uri)
    return open_objects(root, StoreSettings.resolve(root, None, os.environ))
