"""Which table a pin means, and whether a directory holds it.

Every table carries from birth, in its Lance schema metadata, the graph and the identity that it was made for. Whoever
opens a table through a pin compares the two, at no request: the schema is read with the table anyway. So a directory
that was swapped with another one, or copied in from another graph, is refused instead of being read as something else.
"""

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA
from omnigraph.errors import TableReplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTable:
    """The table that has to be at an address."""

    table_key: str
    mark: str
    is_marked: bool
    """Whether the pinned state is known to carry its mark; tables from before there were marks may go without."""

    def check(self, found: str | None, *, place: str, is_pin: bool) -> None:
        """Raise `TableReplaced` when a table with another mark, or none where there must be one, is at the address.

        Versions above the pin may have lost it: whoever changes a table behind the graph's back makes drift, which
        `repair` judges.
        """
        if found == self.mark or (found is None and not (self.is_marked and is_pin)):
            return
        raise TableReplaced(
            f"The directory {place} does not hold table {self.table_key}: expected {self.mark}, found "
            f"{found or 'a table without an identity'}. It was swapped with or replaced by another table; nothing was "
            "read or written. Put the right directory back.",
            table_key=self.table_key,
            expected=self.mark,
            found=found,
            location=place,
        )


def mark_of(schema: pa.Schema) -> str | None:
    """Return the mark in a table's schema."""
    found = (schema.metadata or {}).get(TABLE_IDENTITY_METADATA.encode())
    return found.decode() if found is not None else None
