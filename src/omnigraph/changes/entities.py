"""One changed entity as consumers see it: what it is, what happened, and its images before and after."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityKind, EntityType
from omnigraph.changes.compare import Op
from omnigraph.records.rendering import render_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedType:
    """The type of a changed entity; the id survives renames, the name is the one after the change."""

    kind: EntityKind
    type_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """The node ids that an edge connects."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """All properties of an entity at one moment, spelled as `export` writes and `load` reads them."""

    properties: Mapping[str, Any]
    endpoints: Endpoints | None
    """Edges only."""
    size_bytes: int
    """How long the entity is as a line of an export."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EntityChange(Shown):
    """What happened to one entity: an insert has only `after`, a delete only `before`, an update both."""

    type: ChangedType
    id: str
    op: Op
    before: Image | None
    after: Image | None

    @property
    def size_bytes(self) -> int:
        """How much of a page the change takes."""
        return sum(image.size_bytes for image in (self.before, self.after) if image is not None)


def images_by_id(rows: pa.Table, entity: EntityType) -> dict[str, Image]:
    """Spell rows as images."""
    lines = render_lines(rows, entity).splitlines()
    records = json.loads(b"[" + b",".join(lines) + b"]")
    return dict(map(_image, records, map(len, lines)))


def _image(record: dict[str, Any], size_bytes: int) -> tuple[str, Image]:
    properties = record["data"]
    endpoints = Endpoints(source=record["from"], target=record["to"]) if "edge" in record else None
    id_ = properties.pop("id")
    return id_, Image(properties=properties, endpoints=endpoints, size_bytes=size_bytes)
