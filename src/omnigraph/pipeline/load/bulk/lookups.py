"""What a worker finds out about stored rows while it holds the incoming ones: it looks their keys up.

The process that commits what came through the data source has no cluster. Whatever has to be known about stored rows is
therefore asked where the incoming ones are, and that process compares incoming rows among each other only. The answers
hold for the versions that were asked; on others all is asked again.
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, TableKey
from omnigraph.engine.local import worker_engine
from omnigraph.pipeline.load.bulk.buckets import Facet, counted_facet, unique_facets
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.storage.index_lookup import look_up_values, unindexed_rows
from omnigraph.storage.layout import read_layout
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints.keys import key_columns, key_fields, typed

LOOK_UP_ROWS_MAX = 32 << 20
"""Stored rows that every worker can afford to look through; what an index covers it need not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """What the keys of one part met among stored rows."""

    suspects: int
    """How many of them met what they must not meet."""
    met: tuple[tuple[Facet, pa.Table], ...] = ()
    """What all parts together must know: the ends of edges that no stored node has, so that some other part must bring
    them, and the stored edges of a source whose edges are counted."""


def can_look_up(entity: EntityType, mode: LoadMode, keys: pa.Table) -> bool:
    """Whether stored rows can be asked one part at a time.

    An edge that is merged without an id looks for the one that it means, which no other may mean; one that moves takes
    from a source that no record names, which may have to keep some; and where a source may have any number of edges but
    not too few, all its edges would have to be brought here.
    """
    if not isinstance(entity, EdgeType) or mode == "overwrite":
        return True
    if mode == "merge" and (keys["id"].null_count or entity.cardinality.low > 0):
        return False
    return entity.cardinality.is_unbounded or entity.cardinality.high is not None


def asked_columns(catalog: Catalog, entity: EntityType) -> Iterator[tuple[TableKey, str]]:
    """Yield the columns in which keys of incoming rows of a type are looked up."""
    yield entity.table_key, "id"
    for rule in entity.uniques:
        yield entity.table_key, rule.properties[0]
    if isinstance(entity, EdgeType):
        if not entity.cardinality.is_unbounded:
            yield entity.table_key, "src"
        for name in (entity.from_type, entity.to_type):
            yield catalog.node_by_name[name].table_key, "id"


def asked_tables(catalog: Catalog, entity: EntityType) -> frozenset[TableKey]:
    """Return the tables whose stored rows are asked for incoming rows of a type."""
    return frozenset(key for key, _ in asked_columns(catalog, entity))


def can_afford(
    asked: Iterable[tuple[TableKey, str]], rows: Callable[[TableKey], int], open_table: Callable[[TableKey], Table]
) -> bool:
    """Whether every worker can afford to look keys up in these columns: most of what is stored is indexed, or little.

    No table is opened that has too few rows to matter.
    """
    columns = set(asked)
    tables = {key for key, _ in columns}
    if sum(map(rows, tables)) <= LOOK_UP_ROWS_MAX:
        return True
    layouts = {key: read_layout(open_table(key)) for key in tables if rows(key)}
    scanned = [unindexed_rows(layouts[key], column) for key, column in columns if key in layouts]
    return sum(scanned) <= LOOK_UP_ROWS_MAX


def look_up(
    open_table: Callable[[TableKey], Table],
    catalog: Catalog,
    mode: LoadMode,
    entity: EntityType,
    rows: pa.Table,
    keys: pa.Table,
    *,
    has_ids: bool,
) -> LookedUp:
    """Look up ids, unique values and endpoints of some rows of an append; a merge may meet its own ids.

    What an overwrite meets of its own type goes; its edges need their endpoints all the same.
    """
    ends = _missing_ends(open_table, catalog, entity, keys)
    if mode == "overwrite":
        return LookedUp(suspects=0, met=tuple(ends))
    table = open_table(entity.table_key)
    suspects = (
        look_up_values(table, "id", keys["id"].combine_chunks(), ["id"]).num_rows if has_ids and mode == "append" else 0
    )
    for rule, facet in zip(entity.uniques, unique_facets(entity, mode), strict=True):
        first = rule.properties[0]
        names = [name for name, _ in key_fields(entity)]
        members = list(dict.fromkeys([*_stored_names(entity), *rule.properties]))
        stored = look_up_values(table, first, rows[first].combine_chunks(), members)
        spelled = pa.table([typed(column, pa.field("", pa.string())) for column in key_columns(entity, stored)], names)
        suspects += _shared(facet, keys, spelled)
    return LookedUp(suspects=suspects, met=(*ends, *_edges_of_sources(table, entity, keys)))


def _stored_names(entity: EntityType) -> list[str]:
    """Return the stored columns that key columns are made of."""
    members = [name for rule in entity.uniques for name in rule.properties]
    return ["id", *(("src", "dst") if isinstance(entity, EdgeType) else ()), *members]


def _shared(facet: Facet, keys: pa.Table, stored: pa.Table) -> int:
    listed = " AND ".join(f"i.{name} = s.{name}" for name in facet.columns)
    listed += " AND i.owner <> s.owner" if facet.has_owner else ""
    relations = {"i": facet.rows(keys), "s": facet.rows(stored)}
    found = worker_engine(1).sql(relations, f"SELECT count(*) AS shared FROM i SEMI JOIN s ON {listed}")  # noqa: S608
    return int(found["shared"][0].as_py())


def _missing_ends(
    open_table: Callable[[TableKey], Table], catalog: Catalog, entity: EntityType, keys: pa.Table
) -> Iterator[tuple[Facet, pa.Table]]:
    if not isinstance(entity, EdgeType):
        return
    for column, name in (("src", entity.from_type), ("dst", entity.to_type)):
        nodes = open_table(catalog.node_by_name[name].table_key)
        ends = keys[column].combine_chunks().unique()
        found = look_up_values(nodes, "id", ends, ["id"])["id"].combine_chunks()
        missing = ends.filter(pc.invert(pc.is_in(ends, value_set=found)))
        if len(missing):
            yield Facet(entity, (column,)), pa.table({column: missing})


def _edges_of_sources(table: Table, entity: EntityType, keys: pa.Table) -> Iterator[tuple[Facet, pa.Table]]:
    """Find the stored edges of the sources at hand, if they are counted; never more than a source may have."""
    if isinstance(entity, EdgeType) and not entity.cardinality.is_unbounded:
        stored = look_up_values(table, "src", keys["src"].combine_chunks(), ["src", "id"])
        if stored.num_rows:
            text = pa.field("", pa.string())
            yield counted_facet(entity), pa.table({name: typed(stored[name], text) for name in ("src", "id")})
