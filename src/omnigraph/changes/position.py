"""A place in an ordered list of changes: right behind one entity of one type.

Positions travel inside page tokens, which are at most 4 KiB long. Ids may be longer; of those a position keeps the
beginning and a digest.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.errors import ChangeCursorRejected

_ID_BYTES_MAX = 512
_PREFIX_CHARACTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Behind the entity that `id_prefix` and `id_digest` name, or `id_prefix` alone if it is the whole id."""

    identity: str
    """The table's, as text."""
    id_prefix: str
    id_digest: str | None = None

    @classmethod
    def behind(cls, identity: object, entity_id: str) -> "Position":
        """Return the place right behind an entity."""
        encoded = entity_id.encode()
        if len(encoded) <= _ID_BYTES_MAX:
            return cls(identity=str(identity), id_prefix=entity_id)
        digest = hashlib.sha256(encoded).hexdigest()
        return cls(identity=str(identity), id_prefix=entity_id[:_PREFIX_CHARACTERS], id_digest=digest)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Position":
        """Read back what `to_document` wrote."""
        return cls(identity=document["table"], id_prefix=document["id"], id_digest=document.get("digest"))

    def to_document(self) -> dict[str, str]:
        """Spell the position for a token."""
        digest = {"digest": self.id_digest} if self.id_digest is not None else {}
        return {"table": self.identity, "id": self.id_prefix, **digest}

    def rows_behind(self, changes: pa.Table) -> pa.Table:
        """Return the changes of this position's type that lie behind it; they are ordered by id."""
        ids = changes["id"].combine_chunks()
        if self.id_digest is None:
            return changes.filter(pc.greater(ids, self.id_prefix))
        alike = ids.filter(pc.starts_with(ids, self.id_prefix)).to_pylist()
        named = [entity_id for entity_id in alike if Position.behind(self.identity, entity_id) == self]
        if not named:
            raise ChangeCursorRejected("the page token names an entity that is not among the changes")
        return changes.filter(pc.greater(ids, named[0]))
