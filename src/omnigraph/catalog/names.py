"""Property names that nobody may declare, because storage or queries use them."""

from omnigraph.catalog.shape import TypeKind

_RESERVED_EVERYWHERE = frozenset(
    {
        "id",
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_distance",
        "_score",
        "_tombstone",
    }
)
_RESERVED_ON_EDGES = _RESERVED_EVERYWHERE | {"src", "dst", "from", "to"}


def is_reserved(name: str, *, kind: TypeKind) -> bool:
    """Tell whether a property of an interface, node or edge may not be called `name`, whatever its letter case."""
    # Lance falls back to case-insensitive column names in filters, so `_RowId` would shadow `_rowid`.
    return name.lower() in (_RESERVED_ON_EDGES if kind == "edge" else _RESERVED_EVERYWHERE)
