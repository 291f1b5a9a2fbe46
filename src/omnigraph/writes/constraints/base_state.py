"""What is stored, as far as a check needs it: lookups in the captured tables, less what the write takes away."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.storage.index_lookup import holds_only
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.delta import TableDelta, rows_without


class RetainedRows:
    """Stored rows that the write leaves as they are."""

    def __init__(self, capture: Capture, deltas: Mapping[TableKey, TableDelta]) -> None:
        self._capture = capture
        self._deltas = deltas

    def where_in(self, entity: EntityType, column: str, values: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return the retained rows of a type whose `column` is one of `values`."""
        delta = self._deltas.get(entity.table_key)
        wanted = [*dict.fromkeys(["id", *columns])]
        table = self._capture.table(entity.table_key)
        if delta is not None and delta.replaces_all:
            return table.read(wanted, where="false")
        found = table.lookup(column, values, wanted).drop_columns([ROW_ID, ROW_ADDRESS])
        return found if delta is None else rows_without(found, delta.gone_ids)

    def existing_ids(self, entity: EntityType, ids: pa.Array) -> pa.Array:
        """Return those of `ids` that the type will have after the write."""
        delta = self._deltas.get(entity.table_key)
        written = delta.upserts["id"].combine_chunks() if delta is not None else pa.array([], pa.string())
        wanted = ids.unique()
        missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=written)))
        retained = self.where_in(entity, "id", missing, [])["id"].combine_chunks() if len(missing) else missing
        return pa.concat_arrays([wanted.filter(pc.is_in(wanted, value_set=written)), retained])

    def keeps_ends(self, edge: EntityType, column: str, node: EntityType) -> bool:
        """Whether it is plain that no retained edge loses its node at one end: by looking up the nodes that are there.

        Where all nodes of a type are replaced, that takes as long as there are new ones, however many are stored.
        """
        delta = self._deltas.get(node.table_key)
        if delta is None:
            return True
        of_edge = self._deltas.get(edge.table_key)
        if of_edge is not None and of_edge.replaces_all:
            return True
        if not delta.replaces_all or of_edge is not None:
            return False
        return holds_only(self._capture.table(edge.table_key), column, delta.upserts["id"].combine_chunks())

    def lost_ids(self, entity: EntityType) -> pa.Array:
        """Return the ids that the type has now and will not have after the write."""
        delta = self._deltas.get(entity.table_key)
        if delta is None:
            return pa.array([], pa.string())
        if not delta.replaces_all:
            return delta.removed["id"].combine_chunks()
        stored = self._capture.table(entity.table_key).read(["id"])
        return rows_without(stored, delta.upserts["id"].combine_chunks())["id"].combine_chunks()
