"""Pins that move to a state which exists already: no table is touched, the publish alone makes the difference."""

from collections.abc import Iterable

from omnigraph.manifest.publish import PinMove
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.tables import TableStore


def pointer_moves(store: TableStore, pins: Iterable[TablePin]) -> tuple[PinMove, ...]:
    """Return the moves of these pins; opens each state, so that one that cleanup has taken is refused by name."""
    moves = []
    for pin in pins:
        table = pin.state.open(store)
        moves.append(
            PinMove.to(table, table_key=pin.table_key, identity=pin.identity, transaction_uuid=table.transaction_uuid)
        )
    return tuple(moves)
