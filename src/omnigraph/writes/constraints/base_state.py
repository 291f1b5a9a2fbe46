"""What is stored, as far as a check needs it: lookups in the captured tables, less what the write takes away."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.grouping import grouped
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.storage.index_lookup import holds_only
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.delta import TableDelta, rows_without

_LOST_AT_ONCE_ROWS = 1 << 19


class RetainedRows:
    """Stored rows that the write leaves as they are."""

    def __init__(self, capture: Capture, deltas: Mapping[TableKey, TableDelta]) -> None:
        self._capture = capture
        self._deltas = deltas
        self._lost: dict[TableKey, pa.Array] = {}

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
        """Whether it is plain that no retained edge loses its node at one end.

        Where all nodes of a type are replaced by others, and there are fewer edges than nodes, that all edges are found
        by the new nodes takes less than to find the nodes that go.
        """
        delta, of_edge = self._deltas.get(node.table_key), self._deltas.get(edge.table_key)
        if delta is None or (of_edge is not None and of_edge.replaces_all):
            return True
        if not delta.replaces_all or of_edge is not None:
            return False
        edges = self._capture.table(edge.table_key)
        if edges.count_rows() >= self._capture.table(node.table_key).count_rows():
            return False
        return holds_only(edges, column, delta.upserts["id"].combine_chunks())

    def lost_ids(self, entity: EntityType) -> pa.Array:
        """Return the ids that the type has now and will not have after the write."""
        delta = self._deltas.get(entity.table_key)
        if delta is None:
            return pa.array([], pa.string())
        if not delta.replaces_all:
            return delta.removed["id"].combine_chunks()
        if entity.table_key not in self._lost:
            self._lost[entity.table_key] = pa.concat_arrays(self._lost_parts(delta))
        return self._lost[entity.table_key]

    def _lost_parts(self, delta: TableDelta) -> Iterator[pa.Array]:
        """Find the stored ids that no new row has, without holding all of them."""
        kept = delta.upserts["id"].combine_chunks()
        yield kept.slice(0, 0)
        stored = self._capture.table(delta.entity.table_key).scan(["id"])
        for batches in grouped(stored, (attrgetter("num_rows"), _LOST_AT_ONCE_ROWS)):
            yield rows_without(pa.Table.from_batches(batches), kept)["id"].combine_chunks()
