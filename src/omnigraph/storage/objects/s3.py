"""Control objects on S3, by conditional puts.

A put whose answer is lost may have landed. The library's own retries would then meet our object and report somebody
else's, so conditional puts are attempted one at a time, and after an unclear one the object is read and compared.
"""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

import obstore
from obstore.store import S3Store

from omnigraph.base import clock, ids
from omnigraph.errors import Effect, Internal, StorageError
from omnigraph.storage.objects.contract import (
    PIECE_BYTES,
    ObjectChanged,
    ObjectExists,
    ObjectFacts,
    StoredObject,
    Token,
)
from omnigraph.storage.objects.probe import probe_once
from omnigraph.storage.objects.s3_failures import OBSTORE_FAILURES, is_conflict, is_no_such_key, storage_error
from omnigraph.storage.settings import S3Settings
from omnigraph.storage.uris import GraphRoot

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from obstore import PutMode


_ATTEMPTS_MAX = 4
_PAUSE_SECONDS = 0.2
# A call ends within the sum of both, which must stay below half the life of a lease: that is how much of it is left
# when its holder deletes it.
_REQUEST_SECONDS_MAX = 10
_RETRY_SECONDS_MAX = 15
_HEADS_MAX = 16
"""Up to this many objects are asked for one by one, all at once; for more, listings around them are cheaper."""


class S3Objects:
    """A `ControlStore` below an S3 prefix."""

    def __init__(self, root: GraphRoot, settings: S3Settings) -> None:
        self._root = root
        self._retrying = _open_store(root, settings, retries_max=5)
        self._single = _open_store(root, settings, retries_max=0)

    @property
    def root(self) -> GraphRoot:
        """The graph that the paths are relative to."""
        return self._root

    def create(self, path: str, content: bytes) -> Token:
        """Write a new object with `If-None-Match: *`."""
        token = self._put_if(path, content, mode="create")
        if token is None:
            raise ObjectExists(path)
        return token

    def replace(self, path: str, content: bytes, token: Token) -> Token:
        """Overwrite one content of the object with `If-Match`."""
        new_token = self._put_if(path, content, mode={"e_tag": token})
        if new_token is None:
            raise ObjectChanged(path)
        return new_token

    def put(self, path: str, content: bytes) -> None:
        """Write the object whatever was there before."""
        try:
            obstore.put(self._retrying, path, content, mode="overwrite", use_multipart=False)
        except OBSTORE_FAILURES as exc:
            raise self._error(exc, "Writing", path) from exc

    def read(self, path: str) -> StoredObject | None:
        """Return the object, or None if the store says that there is no such key."""
        try:
            result = obstore.get(self._retrying, path)
            content = bytes(result.bytes())
        except OBSTORE_FAILURES as exc:
            if is_no_such_key(exc):
                return None
            raise self._error(exc, "Reading", path) from exc
        return StoredObject(
            content=content,
            token=self._token(result.meta["e_tag"]),
            last_modified=result.meta["last_modified"].timestamp(),
        )

    def read_pieces(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object: a small one by one request, a large one by a request per piece."""
        try:
            # Asking for the first piece tells the size of the whole, so that a small object costs one request.
            first = obstore.get(self._retrying, path, options={"range": (0, PIECE_BYTES)})
            size = first.meta["size"]
            yield bytes(first.bytes())
            for start in range(PIECE_BYTES, size, PIECE_BYTES):
                end = min(start + PIECE_BYTES, size)
                yield bytes(obstore.get_range(self._retrying, path, start=start, end=end))
        except OBSTORE_FAILURES as exc:
            if is_no_such_key(exc):
                raise FileNotFoundError(path) from exc
            raise self._error(exc, "Reading", path) from exc

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of an object from `start` to `end`, by one request."""
        try:
            return bytes(obstore.get_range(self._retrying, path, start=start, end=end))
        except OBSTORE_FAILURES as exc:
            if is_no_such_key(exc):
                raise FileNotFoundError(path) from exc
            raise self._error(exc, "Reading", path) from exc

    def read_end(self, path: str, length: int) -> bytes:
        """Return the last bytes of an object, by one request."""
        try:
            return bytes(obstore.get(self._retrying, path, options={"range": {"suffix": length}}).bytes())
        except OBSTORE_FAILURES as exc:
            if is_no_such_key(exc):
                raise FileNotFoundError(path) from exc
            raise self._error(exc, "Reading", path) from exc

    def list(self, prefix: str) -> tuple[str, ...]:
        """Return the paths of all objects below `prefix`, page after page, sorted."""
        return tuple(self.sizes(prefix))

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the paths of all objects below `prefix` with their sizes, sorted."""
        return {path: found.size for path, found in self.facts(prefix).items()}

    def facts(self, prefix: str) -> dict[str, ObjectFacts]:
        """Return the paths of all objects below `prefix` with their sizes and times, sorted."""
        try:
            found = obstore.list(self._retrying, prefix).collect()
        except OBSTORE_FAILURES as exc:
            raise self._error(exc, "Listing", prefix) from exc
        return {
            meta["path"]: ObjectFacts(size=meta["size"], last_modified=meta["last_modified"].timestamp())
            for meta in sorted(found, key=lambda meta: meta["path"])
        }

    def sizes_of(self, paths: Collection[str]) -> dict[str, int]:
        """Return the bytes of each of these objects that is there, by one request each or by listings around them."""
        if len(paths) > _HEADS_MAX:
            directories = sorted({path.rpartition("/")[0] + "/" for path in paths})
            listed = {path: size for directory in directories for path, size in self.sizes(directory).items()}
            return {path: listed[path] for path in paths if path in listed}
        if not paths:
            return {}
        with ThreadPoolExecutor(max_workers=len(paths), thread_name_prefix="omnigraph-heads") as pool:
            found = dict(zip(paths, pool.map(self._size, paths), strict=True))
        return {path: size for path, size in found.items() if size is not None}

    def delete(self, path: str) -> None:
        """Remove the object; an absent one is fine."""
        try:
            obstore.delete(self._retrying, path)
        except OBSTORE_FAILURES as exc:
            if not is_no_such_key(exc):
                raise self._error(exc, "Deleting", path) from exc

    def delete_all(self, paths: Collection[str]) -> None:
        """Remove objects, several at a time; absent ones are fine."""
        try:
            obstore.delete(self._retrying, list(paths))
        except OBSTORE_FAILURES as exc:
            if not is_no_such_key(exc):
                raise self._error(exc, "Deleting files below", f"{min(paths).rpartition('/')[0]}/") from exc

    def glance_at_clock(self) -> float | None:
        """Ask for the date of an answer: every answer has one, also a refusal, so the request needs no signature."""
        try:
            signed = obstore.sign(self._retrying, "HEAD", "__locks/clock.json", timedelta(seconds=60))
        except OBSTORE_FAILURES:
            return None
        return date_of_answer(signed.partition("?")[0], timeout_seconds=_REQUEST_SECONDS_MAX)

    def probe(self) -> None:
        """Prove that the store honours conditional puts; some S3-compatible ones take them for plain puts."""
        probe_once(self)

    def _size(self, path: str) -> int | None:
        try:
            return obstore.head(self._retrying, path)["size"]
        except FileNotFoundError:
            # The answer has no body, so it does not tell an absent object from an absent bucket; a listing does.
            return self.sizes(path.rpartition("/")[0] + "/").get(path)
        except OBSTORE_FAILURES as exc:
            raise self._error(exc, "Looking at", path) from exc

    def _put_if(self, path: str, content: bytes, *, mode: "PutMode") -> Token | None:
        """Put under a condition; return the new token, or None if somebody else's object is there instead."""
        unclear: StorageError | None = None
        for attempt in range(_ATTEMPTS_MAX):
            clock.sleep_seconds(_PAUSE_SECONDS * attempt * ids.jitter())
            try:
                return self._token(obstore.put(self._single, path, content, mode=mode)["e_tag"])
            except OBSTORE_FAILURES as exc:
                if is_conflict(exc):
                    # A first refusal is certain. A later one may be our own earlier attempt, arrived after all.
                    return self._token_if_landed(path, content) if unclear else None
                failure = self._error(exc, "Writing", path)
                if unclear or failure.is_transient:
                    failure.effect = Effect.UNKNOWN
                if not failure.is_transient:
                    raise failure from exc
                unclear = failure
            landed = self._token_if_landed(path, content)
            if landed is not None:
                return landed
        raise unclear or Internal("a conditional put ended without an outcome")

    def _token_if_landed(self, path: str, content: bytes) -> Token | None:
        try:
            stored = self.read(path)
        except StorageError as exc:
            exc.effect = Effect.UNKNOWN
            raise
        return stored.token if stored is not None and stored.content == content else None

    def _token(self, e_tag: str | None) -> Token:
        if e_tag is None:
            raise StorageError(
                f"The store of {self._root.uri} sends no ETag, and without one no write can be made conditional.",
                storage_kind="configuration",
                uri=self._root.uri,
            )
        return Token(e_tag)

    def _error(self, exc: Exception, doing: str, path: str) -> StorageError:
        return storage_error(exc, doing=doing, uri=f"{self._root.uri}/{path}")


def _open_store(root: GraphRoot, settings: S3Settings, *, retries_max: int) -> S3Store:
    """Open obstore with paths relative to the root."""
    # obstore declares short spellings of these options and accepts the ones it shares with Lance. The bulk form of
    # delete is a POST that several S3-compatible stores lack.
    config: Any = {**settings.options(), "aws_disable_bulk_delete": "true"}
    return S3Store(
        settings.bucket,
        prefix=root.key,
        config=config,
        client_options={"allow_http": settings.allow_http, "timeout": timedelta(seconds=_REQUEST_SECONDS_MAX)},
        retry_config={
            "max_retries": retries_max,
            "retry_timeout": timedelta(seconds=_RETRY_SECONDS_MAX),
            "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2},
        },
    )


def date_of_answer(url: str, *, timeout_seconds: float) -> float | None:
    """Return the date of whatever the server answers, in seconds since the Unix epoch; None when it does not say."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, method="HEAD"), timeout=timeout_seconds) as answer:  # noqa: S310 — the store's own URL
            date = answer.headers.get("Date")
    except HTTPError as refusal:
        date = refusal.headers.get("Date")
    except (URLError, HTTPException, OSError, ValueError):
        return None
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except ValueError:
        return None
