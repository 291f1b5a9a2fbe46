"""Finding a Blob value in a table of a snapshot, and reading it there."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property

from omnigraph.catalog.scalars import Scalar
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.graphs.blobs import Blob, BlobSelector
from omnigraph.graphs.comparisons import no_such_property
from omnigraph.graphs.table import SnapshotTable, stored_state
from omnigraph.storage.blobs import OpenBlob, StoredBlob, find_blob


def find_in_table(table: SnapshotTable, entity_id: str, name: str, *, branch: str, commit_id: str) -> Blob:
    """Find a value; raise `InvalidTarget` for a property of another type, `EntityNotFound` where nothing is."""
    entity = table.entity
    declared = entity.property_by_name.get(name)
    if declared is None:
        raise InvalidTarget(no_such_property(entity, name).message)
    if declared.type.scalar is not Scalar.BLOB:
        raise InvalidTarget(f"{entity.name}.{name} is {declared.type}, not Blob; a query returns its value.")
    selector = BlobSelector(entity=entity.kind, type=entity.name, id=entity_id, property=name)
    stored_table, reading = stored_state(table)
    with reading():
        is_there, stored = find_blob(stored_table, entity_id, name)
    if stored is None:
        reason = "there is no value" if is_there else f"there is no {entity.name} of that id"
        raise EntityNotFound(f"{selector} was not found: {reason}.", selector=str(selector))
    is_reference = stored.uri is not None
    return Blob(
        selector,
        size=None if is_reference else stored.size,
        etag=None if is_reference else stored.etag,
        uri=stored.uri,
        branch=branch,
        commit_id=commit_id,
        read=_Reader(stored, reading),
    )


class _Reader:
    """Reads parts of a stored blob, which is opened for the first of them."""

    def __init__(self, stored: StoredBlob, reading: Callable[[], AbstractContextManager[None]]) -> None:
        self._stored = stored
        self._reading = reading

    def __call__(self, offset: int, length: int) -> bytes:
        with self._reading():
            return self._open.read(offset, length)

    @cached_property
    def _open(self) -> OpenBlob:
        return self._stored.opened()
