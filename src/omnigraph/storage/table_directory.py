"""Raw bytes of a Lance table's own files, read through the same door as every other object of the graph.

Used only to name operations (`operations.py`); rows are never read like this.
"""

from omnigraph.storage.objects import ControlStore


class TableDirectory:
    """The files of the table at `location`, relative to the graph's root."""

    def __init__(self, objects: ControlStore, location: str) -> None:
        self._objects = objects
        self._location = location

    @property
    def uri(self) -> str:
        """The table's address, for messages."""
        return self._objects.root.table_uri(self._location)

    def read(self, path: str) -> bytes:
        """Return the file at `path`, relative to the table's directory; raise FileNotFoundError when it is absent."""
        stored = self._objects.read(f"{self._location}/{path}")
        if stored is None:
            raise FileNotFoundError(path)
        return stored.content
