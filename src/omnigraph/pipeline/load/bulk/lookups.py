"""What a worker finds out about stored rows while it holds the incoming ones: it looks their keys up.

The process that commits what came through the data source has no cluster. Whatever has to be known about stored rows is
therefore asked where the incoming ones are, and that process compares incoming rows among each other only. The answers
hold for the versions that were asked; on others all is asked again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.engine.local import worker_engine
from omnigraph.pipeline.load.bulk.buckets import Facet, Side, degree_facet, source_facet, unique_facets
from omnigraph.pipeline.load.meaning import naming_endpoints, resolve_ids
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.storage.index_lookup import count_found, count_values, look_up_values, unindexed_rows
from omnigraph.storage.layout import read_layout
from omnigraph.storage.tables import Table
from omnigraph.writes.constraints.keys import key_columns, key_fields, typed

SCANNED_ROWS_MAX = 32 << 20
"""Stored rows without an index that every piece can look through; what an index covers it need not."""

_TEXT = pa.field("", pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgesFound:
    """How many stored edges of a type have one of the incoming nodes at one end."""

    table_key: TableKey
    column: str
    edges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """What the keys of one part met among stored rows."""

    suspects: int
    """How many of them met what they must not meet."""
    met: tuple[tuple[Side, Facet, pa.Table], ...] = ()
    """What all parts together must know: the ends of edges that no stored node has, so that some other part must bring
    them, and of sources whose edges are counted how many are stored and which of them are replaced."""
    edges_found: tuple[EdgesFound, ...] = ()
    """The stored edges at nodes that replace all others of their type."""


def asked_columns(catalog: Catalog, entity: EntityType, mode: LoadMode) -> Iterator[tuple[TableKey, str]]:
    """Yield the columns in which keys of incoming rows of a type are looked up."""
    if mode != "overwrite":
        yield entity.table_key, "id"
        for rule in entity.uniques:
            yield entity.table_key, rule.properties[0]
    if isinstance(entity, EdgeType):
        looks_for_equals = mode == "merge" and not naming_endpoints(entity)
        if looks_for_equals or not entity.cardinality.is_unbounded:
            yield entity.table_key, "src"
        for name in (entity.from_type, entity.to_type):
            yield catalog.node_by_name[name].table_key, "id"
    elif mode == "overwrite" and isinstance(entity, NodeType):
        for edge, column in _edges_at(catalog, entity):
            yield edge.table_key, column


def asked_tables(catalog: Catalog, entity: EntityType, mode: LoadMode) -> frozenset[TableKey]:
    """Return the tables whose stored rows are asked for incoming rows of a type."""
    return frozenset(key for key, _ in asked_columns(catalog, entity, mode))


def scans_much(
    asked: Iterable[tuple[TableKey, str]], rows: Callable[[TableKey], int], open_table: Callable[[TableKey], Table]
) -> bool:
    """Whether to look keys up in these columns means to look through many rows that no index covers.

    No table is opened that has too few rows to matter.
    """
    columns = set(asked)
    tables = {key for key, _ in columns}
    if sum(map(rows, tables)) <= SCANNED_ROWS_MAX:
        return False
    layouts = {key: read_layout(open_table(key)) for key in tables if rows(key)}
    scanned = [unindexed_rows(layouts[key], column) for key, column in columns if key in layouts]
    return sum(scanned) > SCANNED_ROWS_MAX


def find_meant(table: Table, edge: EdgeType, rows: pa.Table, *, minted: pa.Array) -> pa.Array:
    """Return the ids of merged edges: given, those of the stored edges that they mean, or minted.

    Two parts may take the same stored edge, and one may take an edge that another part names; an id then occurs twice.
    Where none does, all parts together would have taken the same: of equal edges, each takes those with the least ids.
    """
    found = resolve_ids(table, worker_engine(1), edge, rows, minted=minted)["id"].combine_chunks()
    return found.cast(pa.string())


def look_up(
    open_table: Callable[[TableKey], Table],
    catalog: Catalog,
    mode: LoadMode,
    entity: EntityType,
    rows: pa.Table,
    keys: pa.Table,
    *,
    known: pa.Array,
) -> LookedUp:
    """Look up ids, unique values and endpoints of some rows of an append; a merge may meet its own ids.

    `known` are the ids that may be stored: all but those that were minted just now. What an overwrite meets of its own
    type goes; but edges that stay need the nodes that come.
    """
    met: list[tuple[Side, Facet, pa.Table]] = list(_missing_ends(open_table, catalog, entity, keys))
    if mode == "overwrite":
        if isinstance(entity, NodeType):
            return LookedUp(suspects=0, edges_found=tuple(_edges_found(open_table, catalog, entity, keys)))
        if isinstance(entity, EdgeType) and entity.cardinality.low > 0:
            # Sources that lose their last edge are those that no record names.
            met.append(_degrees(open_table(entity.table_key), entity, keys["src"].combine_chunks()))
        return LookedUp(suspects=0, met=tuple(met))
    table = open_table(entity.table_key)
    suspects = look_up_values(table, "id", known, ["id"]).num_rows if mode == "append" else 0
    for rule, facet in zip(entity.uniques, unique_facets(entity, mode), strict=True):
        first = rule.properties[0]
        names = [name for name, _ in key_fields(entity)]
        members = list(dict.fromkeys([*_stored_names(entity), *rule.properties]))
        stored = look_up_values(table, first, rows[first].combine_chunks(), members)
        spelled = pa.table([typed(column, _TEXT) for column in key_columns(entity, stored)], names)
        suspects += _shared(facet, keys, spelled)
    if isinstance(entity, EdgeType) and not entity.cardinality.is_unbounded:
        met += _edges_of_sources(table, entity, keys, known if mode == "merge" else known.slice(0, 0))
    return LookedUp(suspects=suspects, met=tuple(met))


def left_alone(found: Iterable[EdgesFound], count_rows: Callable[[TableKey], int]) -> int:
    """Count the stored edges that no part of an overwrite found, although all of them stay.

    Parts that bring the same node find its edges twice, but then its id is a suspect by itself.
    """
    edges: dict[tuple[TableKey, str], int] = defaultdict(int)
    for part in found:
        edges[part.table_key, part.column] += part.edges
    return sum(abs(count_rows(key) - count) for (key, _), count in edges.items())


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
) -> Iterator[tuple[Side, Facet, pa.Table]]:
    if not isinstance(entity, EdgeType):
        return
    for column, name in (("src", entity.from_type), ("dst", entity.to_type)):
        nodes = open_table(catalog.node_by_name[name].table_key)
        ends = keys[column].combine_chunks().unique()
        found = look_up_values(nodes, "id", ends, ["id"])["id"].combine_chunks()
        missing = ends.filter(pc.invert(pc.is_in(ends, value_set=found)))
        if len(missing):
            yield "m", Facet(entity, (column,)), pa.table({column: missing})


def _edges_at(catalog: Catalog, node: NodeType) -> Iterator[tuple[EdgeType, str]]:
    """Yield the types of edges that nodes of a type may have, each with the end at which they have it."""
    for edge in catalog.edges:
        for column, name in (("src", edge.from_type), ("dst", edge.to_type)):
            if name == node.name:
                yield edge, column


def _edges_found(
    open_table: Callable[[TableKey], Table], catalog: Catalog, node: NodeType, keys: pa.Table
) -> Iterator[EdgesFound]:
    """Count the stored edges that find their node among those that come: all of them must."""
    for edge, column in _edges_at(catalog, node):
        found = count_found(open_table(edge.table_key), column, keys["id"].combine_chunks())
        yield EdgesFound(table_key=edge.table_key, column=column, edges=found)


def _edges_of_sources(
    table: Table, edge: EdgeType, keys: pa.Table, known: pa.Array
) -> Iterator[tuple[Side, Facet, pa.Table]]:
    """Tell of every source that gets or loses an edge how many are stored, and which of them are replaced."""
    replaced = typed(look_up_values(table, "id", known, ["src"])["src"], _TEXT)
    if len(replaced):
        yield "r", source_facet(edge), pa.table({"src": replaced})
    yield _degrees(table, edge, pa.concat_arrays([typed(keys["src"], _TEXT), replaced]))


def _degrees(table: Table, edge: EdgeType, sources: pa.Array) -> tuple[Side, Facet, pa.Table]:
    return "m", degree_facet(edge), count_values(table, "src", sources).rename_columns(["src", "rows"])
