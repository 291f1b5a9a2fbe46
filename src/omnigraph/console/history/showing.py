"""Changed entities as people read them: what happened, to what, and only the values that differ; nothing here draws."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.values import dataclass

if TYPE_CHECKING:
    from omnigraph.changes.entities import EntityChange, Image

FOLDED_AFTER = 120
"""Values of more characters than this are shown by their beginning."""
SHOWN_MAX = 20_000
_SIGNS = {
    "insert": ("+", "added", "og-came"),
    "update": ("~", "changed", "og-became"),
    "delete": ("−", "deleted", "og-went"),
}
_FROM, _TO = "from", "to"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownValue:
    """A value as text; None is a value that is not there."""

    text: str | None

    @property
    def is_long(self) -> bool:
        """Whether only its beginning is shown at first."""
        return self.text is not None and (len(self.text) > FOLDED_AFTER or self.text.count("\n") > 2)

    @property
    def beginning(self) -> str:
        """The first characters, on one line."""
        return " ".join((self.text or "")[:FOLDED_AFTER].split()) + " …"

    @property
    def whole(self) -> str:
        """All of it, unless that is more than a page should hold."""
        text = self.text or ""
        if len(text) <= SHOWN_MAX:
            return text
        return f"{text[:SHOWN_MAX]} … ({len(text):,} characters in all)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProperty:
    """One property that differs; an insert has nothing before, a delete nothing after."""

    name: str
    before: ShownValue | None
    after: ShownValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChange:
    """One changed entity."""

    sign: str
    word: str
    tone: str
    type_name: str
    entity_id: str
    ends: tuple[str, str] | None
    """The nodes that an edge goes from and to."""
    properties: tuple[ShownProperty, ...]


def shown_value(value: object) -> ShownValue:
    """Spell a value: texts as they stand, all else as JSON."""
    if value is None:
        return ShownValue(text=None)
    return ShownValue(text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def shown_change(change: "EntityChange") -> ShownChange:
    """Present one change."""
    sign, word, tone = _SIGNS[change.op]
    newest = change.after or change.before
    endpoints = newest.endpoints if newest is not None else None
    return ShownChange(
        sign=sign,
        word=word,
        tone=tone,
        type_name=change.type.name,
        entity_id=change.id,
        ends=None if endpoints is None else (endpoints.source, endpoints.target),
        properties=_differences(change.before, change.after),
    )


def _differences(before: "Image | None", after: "Image | None") -> tuple[ShownProperty, ...]:
    if before is None or after is None:
        image = after or before
        values: Mapping[str, Any] = {} if image is None else image.properties
        return tuple(
            ShownProperty(
                name=name,
                before=None if before is None else shown_value(value),
                after=None if after is None else shown_value(value),
            )
            for name, value in values.items()
            if value is not None
        )
    old, new = _facts(before), _facts(after)
    return tuple(
        ShownProperty(name=name, before=shown_value(old.get(name)), after=shown_value(new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def _facts(image: "Image") -> dict[str, Any]:
    ends = {} if image.endpoints is None else {_FROM: image.endpoints.source, _TO: image.endpoints.target}
    return {**ends, **image.properties}
