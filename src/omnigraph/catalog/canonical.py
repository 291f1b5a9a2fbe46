"""One spelling and one order for everything that is hashed or compared.

Two sources that mean the same must give the same bytes, so nothing here depends on declaration order, dictionary
order or ids.
"""

import json
from collections.abc import Iterable
from typing import Any

from omnigraph.catalog.model import Annotation, Constraint, Index, Key, PatternCheck, Range, Unique

CONSTRAINT_KINDS: dict[type[Constraint], str] = {
    PatternCheck: "check",
    Index: "index",
    Key: "key",
    Range: "range",
    Unique: "unique",
}


def canonical_json(value: object) -> str:
    """Spell a JSON value without spaces, members sorted, non-ASCII characters as they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def annotation_document(annotation: Annotation) -> dict[str, Any]:
    """Return the JSON object of an annotation."""
    return {"name": annotation.name, "value": annotation.value, "kwargs": dict(annotation.kwargs)}


def sort_annotations(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    """Order annotations by their serialised text, which starts with the name."""
    return tuple(sorted(annotations, key=lambda found: canonical_json([found.name, found.value, found.kwargs])))


def sort_constraints(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Order constraints by kind, then by the names of their members, then by bounds or pattern."""
    return tuple(sorted(constraints, key=_constraint_order))


def _constraint_order(rule: Constraint) -> tuple[str, tuple[str, ...], str]:
    kind = CONSTRAINT_KINDS[type(rule)]
    match rule:
        case Key() | Unique() | Index():
            return kind, tuple(sorted(rule.properties)), ""
        case Range():
            return kind, (rule.property,), canonical_json([rule.low, rule.high])
        case PatternCheck():
            return kind, (rule.property,), rule.pattern
