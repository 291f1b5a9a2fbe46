"""What a worker does in a merge once it knows which of its rows are stored: leave out equals, write the others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.ids import new_ulid
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType, TableKey
from omnigraph.engine.interface import Engine, Watch
from omnigraph.pipeline.load.bulk.reading import LoadTask, PieceOutcome, PieceTable, looks_for_meaning
from omnigraph.pipeline.load.bulk.views import Views
from omnigraph.records.contents import equal_ids
from omnigraph.records.tables import POSITION, content_schema
from omnigraph.storage.cut_files import read_cuts, write_cuts
from omnigraph.storage.index_lookup import look_up_values
from omnigraph.storage.scratch import Scratch
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.storage.worker_files import worker_store
from omnigraph.writes.delta import rows_among, rows_without
from omnigraph.writes.exchange.removing import KeptRemoved, keep_removed
from omnigraph.writes.vectors import keep_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """What a merge changes by the rows of one type in one piece."""

    table_key: TableKey
    fragments: tuple[str, ...]
    removed: KeptRemoved | None
    """The stored rows that have a successor in the fragments, if there are any."""


def rewrite_changed(
    engine: Engine, views: Views, load: LoadTask, entities: Sequence[EntityType], *, watch: Watch
) -> Iterator[Rewritten]:
    """Join all records with the stored rows they replace, and have workers write what changed: one job for all types.

    A part is what one piece holds of one type. Where the files of each piece are stands in the scratch, so that no
    worker carries those of all pieces.
    """
    scratch = Scratch(worker_store(load.uri, load.operation_id), load.operation_id)
    folders = f"folders-{new_ulid()}"
    write_cuts(scratch, folders, ((piece, "", _folder_table(folder)) for piece, folder in load.folder_by_piece.items()))
    queries = [
        f"SELECT i.file * {len(entities)} + {place} AS part, i.id, i.position, s.row_id, s.row_address "
        f"FROM {views.incoming(entity)} i LEFT JOIN {views.stored(entity)} s ON i.id = s.id"
        for place, entity in enumerate(entities)
    ]
    return engine.map_groups(
        views.relations,
        views.statement(" UNION ALL ".join(queries)),
        by="part",
        function=partial(_rewrite_part, replace(load, folder_by_piece={}), folders, tuple(entities)),
        watch=watch,
    )


def with_rewritten(load: LoadTask, scratch: Scratch, outcome: PieceOutcome) -> PieceOutcome:
    """Write what a merge changes by one piece, if its keys were looked up and so it is known what is stored."""
    if load.mode != "merge" or any(table.suspects is None for table in outcome.tables):
        return outcome
    load = replace(load, folder_by_piece={outcome.ordinal: outcome.folder})
    return replace(outcome, tables=tuple(_with_rewritten(load, scratch, outcome, table) for table in outcome.tables))


def _with_rewritten(load: LoadTask, scratch: Scratch, outcome: PieceOutcome, table: PieceTable) -> PieceTable:
    entity = load.catalog.type_by_table_key[table.table_key]
    keys = scratch.read_table(load.keys_name(outcome.ordinal, table.part, entity))
    ids = keys["id"].combine_chunks()
    if looks_for_meaning(entity, load.mode) and table.lacks_ids:
        ids = scratch.read_table(load.ids_name(outcome.ordinal, table.part, entity))["id"].combine_chunks()
    if pc.count_distinct(ids).as_py() < len(ids):
        return replace(table, suspects=None)  # one of them counts, and all pieces together tell which
    opened = load.places[table.table_key].open(scratch.store)
    stored = look_up_values(opened, "id", _perhaps_stored(ids, keys), ["id"])
    at = pc.index_in(ids, value_set=stored["id"].combine_chunks())
    matches = pa.table(
        {
            "id": ids,
            "position": keys["position"],
            "row_id": stored[ROW_ID].combine_chunks().take(at),
            "row_address": stored[ROW_ADDRESS].combine_chunks().take(at),
        }
    )
    rewritten = rewrite_piece(load, entity, outcome.ordinal, matches)
    return replace(table, fragments=rewritten.fragments, removed=rewritten.removed)


def _perhaps_stored(ids: pa.Array, keys: pa.Table) -> pa.Array:
    """Return the ids of records without those that were minted."""
    if "minted" not in keys.column_names:
        return ids
    is_minted = pc.and_(pc.is_null(keys["id"]), pc.equal(ids, keys["minted"])).combine_chunks()
    return ids.filter(pc.invert(is_minted))


def _rewrite_part(
    load: LoadTask, folders: str, entities: tuple[EntityType, ...], part: int, matches: pa.Table
) -> Rewritten:
    ordinal, place = divmod(part, len(entities))
    scratch = Scratch(worker_store(load.uri, load.operation_id), load.operation_id)
    ((_, found),) = read_cuts(scratch, folders, ordinal)
    load = replace(load, folder_by_piece={ordinal: found["folder"][0].as_py()})
    return rewrite_piece(load, entities[place], ordinal, matches)


def _folder_table(folder: str) -> pa.Table:
    return pa.table({"folder": pa.array([folder], pa.string())})


def rewrite_piece(load: LoadTask, entity: EntityType, ordinal: int, matches: pa.Table) -> Rewritten:
    """Write the rows of one piece that are new or differ from what is stored."""
    store = worker_store(load.uri, load.operation_id)
    scratch = Scratch(store, load.operation_id)
    place = load.places[entity.table_key]
    table = place.open(store)
    rows = _with_final_ids(scratch.read_table(load.rows_name(ordinal, entity)), matches)
    matched = matches.filter(pc.is_valid(matches["row_id"]))
    matched_ids = matched["id"].combine_chunks().cast(pa.string())
    rows = keep_vectors(table, entity, rows, matched_ids)
    stored = table.take(matched["row_id"].combine_chunks().cast(pa.uint64()), content_schema(entity).names)
    rows = rows.select(content_schema(entity).names)
    same = equal_ids(rows_among(rows, matched_ids), stored.drop_columns([ROW_ID, ROW_ADDRESS]))
    changed, replaced = rows_without(rows, same), rows_without(matched, same)
    replaced_ids = replaced["id"].combine_chunks().cast(pa.string())
    rewritten = rows_among(changed, replaced_ids)
    at = pc.index_in(rewritten["id"].combine_chunks(), value_set=replaced_ids)
    fragments = place.write_rows(
        store,
        pa.concat_tables([rewritten, rows_without(changed, replaced_ids)]),
        row_ids=replaced["row_id"].combine_chunks().cast(pa.uint64()).take(at),
    )
    addresses = replaced["row_address"].combine_chunks().cast(pa.uint64())
    removed = keep_removed(scratch, entity, addresses, folder=load.folder(ordinal)) if len(addresses) else None
    return Rewritten(table_key=entity.table_key, fragments=fragments, removed=removed)


def _with_final_ids(rows: pa.Table, matches: pa.Table) -> pa.Table:
    """Keep the records that stand for an entity, each under the id it will have."""
    positions = matches["position"].combine_chunks().cast(pa.uint64())
    at = pc.index_in(rows[POSITION].combine_chunks(), value_set=positions)
    rows, at = rows.filter(pc.is_valid(at)), at.drop_null()
    ids = matches["id"].combine_chunks().cast(pa.string()).take(at)
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), ids)
