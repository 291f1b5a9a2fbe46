"""Finding one blob: by the kind and type of its entity, the entity's id, and the property that holds it."""

import hashlib

from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import Scalar
from omnigraph.errors import EntityNotFound, InvalidTarget
from omnigraph.graphs.comparisons import no_such_property
from omnigraph.graphs.snapshot import Snapshot, stored_table
from omnigraph.storage.blobs import StoredBlob, find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobSelector:
    """Which blob somebody means."""

    entity_kind: str
    type_name: str
    id: str
    property: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlob:
    """A blob, the commit whose state it was found in, and a name that another content never has."""

    blob: StoredBlob
    commit_id: str
    tag: str


def find(snapshot: Snapshot, selector: BlobSelector) -> FoundBlob:
    """Find a blob; raise `EntityNotFound` for an entity or value that is not there, `InvalidTarget` for no blob."""
    (table_key,) = snapshot.table_keys([f"{selector.entity_kind}:{selector.type_name}"])
    entity = snapshot.catalog.type_by_table_key[table_key]
    declared = next((each for each in entity.properties if each.name == selector.property), None)
    if declared is None:
        raise no_such_property(entity, selector.property)
    if declared.type.scalar is not Scalar.BLOB:
        raise InvalidTarget(f"{selector.type_name}.{selector.property} is {declared.type}, not a Blob.")
    is_there, blob = find_blob(stored_table(snapshot, table_key), selector.property, id_=selector.id)
    if blob is None:
        what = "has no value there" if is_there else "does not exist"
        raise EntityNotFound(
            f"The {selector.entity_kind} {selector.type_name} '{selector.id}' {what}.",
            entity=selector.entity_kind,
            type=selector.type_name,
            id=selector.id,
            property=selector.property,
        )
    pin = snapshot.table(table_key).pin
    # A table's version names its content, so that the tag changes whenever the blob may have.
    facts = "\0".join((str(pin.identity), pin.ref or "", str(pin.version), selector.id, selector.property))
    return FoundBlob(blob=blob, commit_id=snapshot.commit_id, tag=hashlib.sha256(facts.encode()).hexdigest()[:32])
