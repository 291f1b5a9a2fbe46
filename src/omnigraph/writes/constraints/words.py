"""Broken rules as findings: the same words whoever checked, and wherever the check ran."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.units import counted, shorten
from omnigraph.catalog.model import EdgeType, EntityType, NodeType, Unique
from omnigraph.records.offences import Code, Offence

Row = Mapping[str, Any]
"""One row of a statement of `statements.py`; `file` and `line` are null for entities that are not in the input."""


def unique_finding(entity: EntityType, rule: Unique, row: Row) -> Offence:
    """Word a tuple with two holders."""
    first = rule.properties[0]
    named = first if len(rule.properties) == 1 else f"({', '.join(rule.properties)})"
    values = ", ".join(shorten(row[f"u{index}"]) for index in range(len(rule.properties)))
    message = (
        f"@unique violation on {entity.name}.{named}: {values!r} is held by both {shorten(row['holder'])!r} "
        f"and {shorten(row['id'])!r}"
    )
    property_name = first if len(rule.properties) == 1 else None
    return _finding(Code.UNIQUE_VIOLATION, entity, row, message, property_name=property_name)


def doubled_finding(entity: EntityType, row: Row) -> Offence:
    """Word an id that `n` stored rows have."""
    named = "key" if isinstance(entity, NodeType) and entity.key is not None else "id"
    message = f"{entity.name} has {counted(row['n'], 'row')} with the {named} {shorten(row['id'])!r}"
    return Offence(code=Code.DUPLICATE_ID, message=message, table_key=entity.table_key, row_id=row["id"])


def orphan_finding(edge: EdgeType, node: NodeType, word: str, row: Row) -> Offence:
    """Word a written edge without a node at one end."""
    message = f"{edge.name} {word} {shorten(row['endpoint'])!r}: node {node.name} not found"
    return _finding(Code.ORPHAN_EDGE, edge, row, message, property_name=word)


def stored_orphan_finding(edge: EdgeType, node: NodeType, word: str, row: Row) -> Offence:
    """Word a stored edge that would lose the node at one end."""
    message = (
        f"stored edge {edge.name} {shorten(row['id'])!r} {word} {shorten(row['endpoint'])!r}: node {node.name} "
        "not found after this write"
    )
    return Offence(code=Code.ORPHAN_EDGE, message=message, table_key=edge.table_key, row_id=row["id"])


def cardinality_finding(edge: EdgeType, row: Row) -> Offence:
    """Word a source, given as `id`, with `n` edges."""
    too_few = row["n"] < edge.cardinality.low
    bound = f"min {edge.cardinality.low}" if too_few else f"max {edge.cardinality.high}"
    message = (
        f"@card violation on edge {edge.name}: source {shorten(row['id'])!r} has {counted(row['n'], 'edge')}, {bound}"
    )
    return _finding(Code.CARD_VIOLATION, edge, row, message)


def _finding(code: Code, entity: EntityType, row: Row, message: str, *, property_name: str | None = None) -> Offence:
    placed = row["line"] is not None
    return Offence(
        code=code,
        message=message,
        file_index=row["file"] if placed else None,
        line=row["line"] if placed else None,
        table_key=entity.table_key,
        property=property_name,
        row_id=None if placed else row["id"],
    )
