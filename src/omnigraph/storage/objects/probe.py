"""Proving that a store keeps the promises of conditional writes before anything depends on them.

File systems without hard links and S3-compatible stores that ignore `If-None-Match` or `If-Match` exist, and on them
two writers would both win. They can be read, not written.
"""

from threading import Lock

from omnigraph.base import ids
from omnigraph.errors import StorageError
from omnigraph.storage.objects.contract import ControlStore, ObjectChanged, ObjectExists, Token

_PROBES = "__locks/probes"


class ConditionsIgnored(StorageError):
    """The store takes conditional writes for plain ones, so that of two writers both would win."""


_proven: set[str] = set()
_proven_lock = Lock()


def probe_once(objects: ControlStore) -> None:
    """Run the probe unless this process has already seen it succeed for this root."""
    identity = objects.root.identity
    with _proven_lock:
        if identity in _proven:
            return
    _probe(objects)
    with _proven_lock:
        _proven.add(identity)


def _probe(objects: ControlStore) -> None:
    path = f"{_PROBES}/{ids.new_ulid()}.json"
    token = objects.create(path, b'{"probe": 1}')
    try:
        _expect_second_create_refused(objects, path)
        objects.replace(path, b'{"probe": 2}', token)
        _expect_stale_replace_refused(objects, path, token)
    finally:
        objects.delete(path)


def _expect_second_create_refused(objects: ControlStore, path: str) -> None:
    try:
        objects.create(path, b'{"probe": "second"}')
    except ObjectExists:
        return
    raise _unconditional(objects, "overwrote an existing object that was to be created only if absent")


def _expect_stale_replace_refused(objects: ControlStore, path: str, stale: Token) -> None:
    try:
        objects.replace(path, b'{"probe": "stale"}', stale)
    except ObjectChanged:
        return
    raise _unconditional(objects, "overwrote an object that had changed since it was read")


def _unconditional(objects: ControlStore, what: str) -> ConditionsIgnored:
    uri = objects.root.uri
    return ConditionsIgnored(
        f"The store of {uri} {what}: without conditional puts two writers could both win, so the graph can be read "
        "here but not written. Use a store that honours If-None-Match and If-Match.",
        storage_kind="configuration",
        uri=uri,
    )
