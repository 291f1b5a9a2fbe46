"""Whether a ref is still the one that it was, asked of the file system alone.

Lance lists all refs and reads each of them to tell about one. On a local disk the file that names a ref is enough: it
is written once, so that as long as it is the same file, the ref is the same.
"""

import os
from typing import NamedTuple
from urllib.parse import unquote

from omnigraph.storage.known_heads import Identity, identity
from omnigraph.storage.uris import GraphRoot


class SeenRef(NamedTuple):
    """The file that names a ref, as it was when somebody looked."""

    path: str
    identity: Identity

    @property
    def is_unchanged(self) -> bool:
        """Whether it still is that file."""
        return identity(self.path) == self.identity


def see_ref(root: GraphRoot, location: str, name: str) -> SeenRef | None:
    """Look at the file of a ref; None when there is none, and on S3, where a look costs as much as a list."""
    if not root.is_local:
        return None
    directory = f"{root.uri}/{location}/_refs/branches"
    try:
        entries = os.listdir(directory)  # noqa: PTH208 — names are all that is needed
    except OSError:
        return None
    # Lance escapes what a name has and a file must not have.
    path = next((f"{directory}/{entry}" for entry in entries if unquote(unquote(entry)) == f"{name}.json"), None)
    found = identity(path) if path is not None else None
    return SeenRef(path, found) if path is not None and found is not None else None
