"""The codes of schema changes: tools match on them, so a code is never respelled and never given a second meaning."""

from collections.abc import Iterable
from enum import StrEnum

from omnigraph.errors import UnsupportedSchemaChange


class ChangeCode(StrEnum):
    """What a refused change or a drop does; the letters name a family, e.g. `MF` may fail on existing data."""

    NODE_DROPPED = "OG-DS-102"
    EDGE_DROPPED = "OG-DS-103"
    PROPERTY_DROPPED = "OG-DS-104"
    VECTOR_DROPPED = "OG-DS-105"
    UNIQUE_ADDED = "OG-MF-101"
    KEY_CHANGED = "OG-MF-102"
    REQUIRED_PROPERTY_ADDED = "OG-MF-103"
    PROPERTY_MADE_REQUIRED = "OG-MF-104"
    VALUE_CONSTRAINT_ADDED = "OG-MF-105"
    TYPE_CHANGED = "OG-MF-106"
    CONSTRAINT_REMOVED = "OG-CD-101"
    HINT_UNRESOLVED = "OG-BC-101"
    INTERFACE_REMOVED = "OG-BC-102"
    INTERFACES_CHANGED = "OG-BC-103"
    DECLARATION_MOVED = "OG-BC-104"
    PROMISES_CHANGED = "OG-BC-105"
    ANNOTATION_CHANGED = "OG-BC-106"
    UNCLASSIFIED = "OG-BC-199"
    ENDPOINT_CHANGED = "OG-ED-101"
    CARDINALITY_CHANGED = "OG-ED-102"
    EMBED_CHANGED = "OG-VE-101"


def refusal(reasons: Iterable[str], *, code: ChangeCode, entity: str) -> UnsupportedSchemaChange:
    """Return the error of a schema that cannot be applied: one line per reason, each led by the code."""
    message = "\n".join(f"[{code}] {reason}" for reason in reasons)
    return UnsupportedSchemaChange(message, rule=code.value, entity=entity)
