"""What replacing an entity does to vectors that `embed` made, where the new image leaves them out."""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EntityType
from omnigraph.records.tables import embedded_properties, omitted_column
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table


def keep_vectors(table: Table, entity: EntityType, rows: pa.Table, matched_ids: pa.Array) -> pa.Table:
    """Let an omitted `@embed` vector keep its stored value while the text it was made from is unchanged.

    So loading a file again neither undoes `embed` nor leaves a vector that belongs to another text.
    """
    if not embedded_properties(entity) or len(matched_ids) == 0:
        return rows
    stored = table.lookup("id", matched_ids, vector_columns(entity))
    return keep_vectors_of(stored.drop_columns([ROW_ID, ROW_ADDRESS]), entity, rows)


def vector_columns(entity: EntityType) -> list[str]:
    """Name what must be known of an entity to keep its vectors: its id, the vectors, the texts they were made from."""
    names = embedded_properties(entity)
    return ["id", *dict.fromkeys([*names, *(_embed_source(entity, name) for name in names)])]


def keep_vectors_of(stored: pa.Table, entity: EntityType, rows: pa.Table) -> pa.Table:
    """Do the same with the entities as they are so far; those that are not among them keep nothing."""
    if stored.num_rows == 0:
        return rows
    sources = {name: _embed_source(entity, name) for name in embedded_properties(entity)}
    at = pc.index_in(rows["id"].combine_chunks(), value_set=stored["id"].combine_chunks())
    for name, source in sources.items():
        same_text = _equal_or_both_null(rows[source].combine_chunks(), stored[source].combine_chunks().take(at))
        keeps = pc.and_(rows[omitted_column(name)].combine_chunks(), same_text)
        kept = pc.if_else(keeps, stored[name].combine_chunks().take(at), rows[name].combine_chunks())
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), kept)
    return rows


def _equal_or_both_null(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.coalesce(pc.equal(left, right), pc.and_(pc.is_null(left), pc.is_null(right)))


def _embed_source(entity: EntityType, name: str) -> str:
    embed = entity.property_by_name[name].embed
    assert embed is not None
    return embed.source
