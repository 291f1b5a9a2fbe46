"""Key columns cut by their values: rows that a check must see together are in one bucket, whoever read them.

A facet is what rows are brought together by, for instance the source of an edge. Every reader cuts each facet of its
rows into the same number of buckets and keeps one file of them; a check then runs bucket by bucket on any worker.
"""

from collections.abc import Iterable
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.storage.cut_files import write_cuts
from omnigraph.storage.scratch import Scratch
from omnigraph.writes.constraints.keys import member_columns
from omnigraph.writes.exchange.cutting import Buckets

Side = Literal["i", "s", "m", "r"]
"""Incoming, stored, what incoming rows met or missed among stored ones, or stored ones that incoming rows replace."""

_BUCKET_INPUT_BYTES = 512 << 20
"""Input whose keys one bucket holds: a check of them needs a few hundred megabytes."""
_STORED_ROW_BYTES = 100
"""The input that a stored row once was, at a guess."""
_FRAME_BYTES = 8 << 30
"""What a frame is taken to hold: more makes larger buckets, less makes needlessly many of them."""


@dataclass(frozen=True, slots=True)
class Facet:
    """Columns whose values bring rows together; a merge must also know whose values they are.

    Instead of rows there may be their number.
    """

    entity: EntityType
    columns: tuple[str, ...]
    has_owner: bool = False
    is_counted: bool = False

    def relation(self, side: Side) -> str:
        """Name the relation of this facet."""
        named = f"{side}_{self.entity.kind[0]}{self.entity.type_id}_{'_'.join(self.columns)}"
        return f"{named}{'_of' * self.has_owner}{'_counted' * self.is_counted}"

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of the relation: all of them text, but for the number of rows."""
        texts = [(name, pa.string()) for name in (*self.columns, *(["owner"] if self.has_owner else []))]
        return pa.schema(texts + ([("rows", pa.int64())] if self.is_counted else []))

    def rows(self, keys: pa.Table) -> pa.Table:
        """Take the facet out of key columns; rows without a value have nobody to meet."""
        columns = [keys[name] for name in self.columns]
        if self.has_owner:
            minted = "minted" in keys.column_names
            columns.append(pc.coalesce(keys["id"], keys["minted"]) if minted else keys["id"])
        if self.is_counted:
            columns.append(keys["rows"])
        rows = pa.table(columns, schema=self.schema)
        for name in self.columns:
            if rows[name].null_count:
                rows = rows.filter(pc.is_valid(rows[name]))
        return rows


def identity_facet(entity: EntityType) -> Facet:
    """Return what brings equal ids together."""
    return Facet(entity, ("id",))


def unique_facets(entity: EntityType, mode: LoadMode) -> list[Facet]:
    """Return what brings the holders of equal unique values together, rule by rule."""
    column_by_name = member_columns(entity)
    return [
        Facet(entity, tuple(column_by_name[name] for name in rule.properties), has_owner=mode == "merge")
        for rule in entity.uniques
    ]


def source_facet(edge: EntityType) -> Facet:
    """Return what brings the edges of one source together."""
    return Facet(edge, ("src",))


def degree_facet(edge: EntityType) -> Facet:
    """Return what tells of a source how many stored edges it has; several parts may say so of the same one."""
    return Facet(edge, ("src",), is_counted=True)


def incoming_facets(entity: EntityType, mode: LoadMode, *, has_ids: bool) -> list[Facet]:
    """Return every facet of incoming rows that a check may ask for; ids that were all minted meet nothing."""
    facets = [] if entity.kind == "edge" and not has_ids else [identity_facet(entity)]
    if entity.kind == "edge":
        facets += [source_facet(entity), Facet(entity, ("dst",))]
    return list(dict.fromkeys([*facets, *unique_facets(entity, mode)]))


def buckets_for(size_bytes: int | None, *, stored_rows: int, slots: int) -> Buckets:
    """Choose buckets of bounded size for so much input; a frame's size is not known.

    Few keys stay together: to cut them would take longer than to look at them on one worker.
    """
    size_bytes = (_FRAME_BYTES if size_bytes is None else size_bytes) + stored_rows * _STORED_ROW_BYTES
    return Buckets.of(max(-(-size_bytes // _BUCKET_INPUT_BYTES), 1), slots=slots)


def keep_facets(buckets: Buckets, scratch: Scratch, name: str, keys: Iterable[tuple[Side, Facet, pa.Table]]) -> None:
    """Cut facets and keep them in one file."""
    cuts = (
        (bucket, facet.relation(side), part)
        for side, facet, rows in keys
        for bucket, part in buckets.cut(facet.rows(rows), facet.columns)
    )
    write_cuts(scratch, name, cuts)
