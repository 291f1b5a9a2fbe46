"""Raw bytes of a Lance table's own files, through the store that also holds the control objects.

Used only to name operations (`storage/operations.py`); rows are never read like this.
"""

from omnigraph.storage.objects import ControlStore


class TableDirectory:
    """The files of the table at `location`, a directory relative to the graph's root."""

    def __init__(self, objects: ControlStore, location: str) -> None:
        self._objects = objects
        self._location = location

    @property
    def uri(self) -> str:
        """The table's address, for messages."""
        return self._objects.root.table_uri(self._location)

    def read(self, path: str) -> bytes:
        """Return the file at `path`, relative to the table's directory; raise FileNotFoundError when it is absent."""
        found = self._objects.read(f"{self._location}/{path}")
        if found is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        return found.content
