"""Which store a path lies in: this machine, or a bucket."""

from collections.abc import Iterator
from typing import BinaryIO

from omnigraph.pipeline.load.sources import InputStore, LocalInputs, StoredFile
from omnigraph.storage.uris import is_bucket_uri


def store_of(path: str) -> InputStore:
    """Return the store that can list and open `path`; nothing is read yet."""
    return BucketInputs(path) if is_bucket_uri(path) else LocalInputs()


class BucketInputs:
    """The objects of the bucket that a path names."""

    def __init__(self, path: str) -> None:
        from omnigraph.storage.bucket import Bucket  # imports the client, which local input does not need

        self._bucket = Bucket(path)

    def list(self, prefix: str, *, depth: int | None = None) -> Iterator[StoredFile]:
        """List the object at `prefix` and those below it; a bucket pays per page, not per level."""
        del depth
        for found in self._bucket.list(prefix):
            yield StoredFile(path=found.uri, size_bytes=found.size_bytes)

    def open(self, path: str) -> BinaryIO:
        """Open an object for reading from its first byte."""
        return self._bucket.open(path)
