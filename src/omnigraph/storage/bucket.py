"""Objects of a bucket that belong to no graph: input that a load reads, output that an export writes.

Unlike control objects they may be large, so they are read and written as streams. An object appears whole or not at
all.
"""

import io
import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, BinaryIO, assert_never

import obstore
from obstore.store import S3Store

from omnigraph.base.values import dataclass
from omnigraph.errors import Addressing, Internal, StorageError
from omnigraph.storage.objects.s3_failures import OBSTORE_FAILURES, is_no_such_key, storage_error
from omnigraph.storage.settings import S3Settings, StoreSettings
from omnigraph.storage.uris import GraphRoot, StoreKind

_BUFFER_BYTES = 8 * 2**20
_REQUEST_SECONDS_MAX = 60
_RETRY_SECONDS_MAX = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketObject:
    """An object that a bucket lists."""

    uri: str
    size_bytes: int


class Bucket:
    """One bucket; objects are named by whole URIs."""

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        scheme, _, rest = uri.partition("://")
        name = rest.partition("/")[0]
        if not name:
            raise Addressing(f"{uri} names no bucket; write {scheme}://bucket/prefix.")
        self._root = f"{scheme}://{name}"
        # Settings are resolved for a graph's root; any root in the bucket has the same.
        root = GraphRoot.parse(f"{self._root}/any")
        self._store = _open_store(root, StoreSettings.resolve(root, storage_options, os.environ))

    def list(self, uri: str) -> Iterator[BucketObject]:
        """List the object at `uri`, if there is one, and all objects below it as if it were a directory."""
        key = self._key(uri)
        try:
            if key and not uri.endswith("/"):
                size = self._size(key)
                if size is not None:
                    yield BucketObject(uri=uri, size_bytes=size)
            for page in obstore.list(self._store, f"{key}/" if key else None):
                for found in page:
                    yield BucketObject(uri=f"{self._root}/{found['path']}", size_bytes=found["size"])
        except OBSTORE_FAILURES as exc:
            raise storage_error(exc, doing="Listing", uri=uri) from exc

    def open(self, uri: str) -> BinaryIO:
        """Open an object for reading from its first byte; seeking works, at the cost of a request."""
        try:
            reader = obstore.open_reader(self._store, self._key(uri), buffer_size=_BUFFER_BYTES)
        except OBSTORE_FAILURES as exc:
            raise storage_error(exc, doing="Reading", uri=uri) from exc
        return io.BufferedReader(_ObjectReader(reader, uri), _BUFFER_BYTES)

    def write(self, uri: str, content: BinaryIO) -> None:
        """Write an object from a stream, in parts where it is large."""
        try:
            obstore.put(self._store, self._key(uri), content)
        except OBSTORE_FAILURES as exc:
            raise storage_error(exc, doing="Writing", uri=uri) from exc

    def _size(self, key: str) -> int | None:
        try:
            return int(obstore.head(self._store, key)["size"])
        except OBSTORE_FAILURES as exc:
            if isinstance(exc, FileNotFoundError) or is_no_such_key(exc):
                return None
            raise

    def _key(self, uri: str) -> str:
        return uri.partition("://")[2].partition("/")[2].rstrip("/")


class _ObjectReader(io.RawIOBase):
    """Gives an object the shape of a file."""

    def __init__(self, reader: Any, uri: str) -> None:
        super().__init__()
        self._reader = reader
        self._uri = uri

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = bytes(self._reader.read(len(buffer)))
        except OBSTORE_FAILURES as exc:
            raise self._failure(exc) from exc
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return int(self._reader.seek(offset, whence))
        except OBSTORE_FAILURES as exc:
            raise self._failure(exc) from exc

    def tell(self) -> int:
        return int(self._reader.tell())

    def _failure(self, exc: BaseException) -> StorageError:
        return storage_error(exc, doing="Reading", uri=self._uri)


def _open_store(root: GraphRoot, settings: StoreSettings) -> S3Store:
    match root.store:
        case StoreKind.S3:
            assert settings.s3 is not None  # resolved for a root on S3
            return _open_s3(settings.s3)
        case StoreKind.LOCAL:
            raise Internal(f"{root.uri} is in no bucket")
        case never:
            assert_never(never)


def _open_s3(settings: S3Settings) -> S3Store:
    config: Any = settings.options()
    return S3Store(
        settings.bucket,
        config=config,
        client_options={"allow_http": settings.allow_http, "timeout": timedelta(seconds=_REQUEST_SECONDS_MAX)},
        retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=_RETRY_SECONDS_MAX)},
    )
