"""Which stored edge an edge record without an id means, when it is merged.

Repeating a merge must be harmless, so such a record looks for the edge it means before it becomes a new one: by the
endpoints where a `@unique` over endpoints makes them a name, else by endpoints and equal properties, one to one.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EdgeType
from omnigraph.engine.interface import Engine
from omnigraph.records.contents import row_contents
from omnigraph.records.tables import POSITION
from omnigraph.storage.index_lookup import look_up_values
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID, Table

_ENDPOINTS = {"src", "dst"}


def naming_endpoints(edge: EdgeType) -> tuple[tuple[str, ...], ...]:
    """Return the `@unique` constraints over endpoints only: each makes its endpoints a name for the edge."""
    return tuple(rule.properties for rule in edge.uniques if set(rule.properties) <= _ENDPOINTS)


def resolve_ids(table: Table, engine: Engine, edge: EdgeType, rows: pa.Table, *, minted: pa.Array) -> pa.Table:
    """Fill the missing ids of edge records: with those of the stored edges they mean, else with the minted ones."""
    missing = pc.is_null(rows["id"])
    if not pc.any(missing).as_py():
        return rows
    anonymous = rows.filter(missing)
    named = rows["id"].combine_chunks().drop_null()
    names = naming_endpoints(edge)
    if names:
        meant = _by_endpoints(table, engine, anonymous, names)
    else:
        meant = _by_content(table, engine, edge, anonymous, named)
    filled = pc.coalesce(meant, minted.filter(missing.combine_chunks()))
    ids = pc.replace_with_mask(rows["id"].combine_chunks(), missing.combine_chunks(), filled)
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), ids)


def _by_endpoints(table: Table, engine: Engine, anonymous: pa.Table, names: tuple[tuple[str, ...], ...]) -> pa.Array:
    """Take the one edge on which all naming constraints agree; where they disagree the uniqueness check decides."""
    found: list[pa.Array] = []
    for columns in names:
        stored = look_up_values(table, columns[0], anonymous[columns[0]].combine_chunks(), ["id", *columns])
        keys = " AND ".join(f"i.{column} = s.{column}" for column in columns)
        matches = engine.sql(
            {"incoming": anonymous.select([*columns, POSITION]), "stored": stored.select(["id", *columns])},
            f"SELECT i.{POSITION} AS position, min(s.id) AS id FROM incoming i JOIN stored s ON {keys} "  # noqa: S608
            "GROUP BY position",
        )
        found.append(_in_order(anonymous, matches))
    meant = found[0]
    for other in found[1:]:
        agree = pc.or_kleene(pc.is_null(meant), pc.or_kleene(pc.is_null(other), pc.equal(meant, other)))
        meant = pc.if_else(agree, pc.coalesce(meant, other), pa.scalar(None, pa.string()))
    return _once_each(meant)


def _once_each(meant: pa.Array) -> pa.Array:
    """Let only the first of several records take an edge; the others become new edges, which the checks then refuse."""
    places = pa.table({"id": meant, "place": pa.array(range(len(meant)), pa.int64())})
    first = places.group_by("id").aggregate([("place", "min")])["place_min"].combine_chunks()
    is_first = pc.is_in(places["place"].combine_chunks(), value_set=first)
    return pc.if_else(is_first, meant, pa.scalar(None, pa.string()))


def _by_content(table: Table, engine: Engine, edge: EdgeType, anonymous: pa.Table, named: pa.Array) -> pa.Array:
    """Match records with equal stored edges one to one, leaving out edges that the input names by id."""
    columns = ["src", "dst", *edge.property_by_name]
    stored = _between_same_ends(table, engine, anonymous, ["id", *columns])
    stored = stored.filter(pc.invert(pc.is_in(stored["id"], value_set=named))).drop_columns([ROW_ID, ROW_ADDRESS])
    matches = engine.sql(
        {
            "incoming": anonymous.select([POSITION]).append_column("content", row_contents(anonymous, columns)),
            "stored": stored.select(["id"]).append_column("content", row_contents(stored, columns)),
        },
        f"""
        WITH i AS (
            SELECT {POSITION} AS position, content,
                   row_number() OVER (PARTITION BY content ORDER BY {POSITION}) AS place FROM incoming
        ), s AS (
            SELECT id, content, row_number() OVER (PARTITION BY content ORDER BY id) AS place FROM stored
        )
        SELECT i.position, s.id FROM i JOIN s ON i.place = s.place AND i.content = s.content
        """,  # noqa: S608 — a name of ours
    )
    return _in_order(anonymous, matches)


def _between_same_ends(table: Table, engine: Engine, anonymous: pa.Table, columns: list[str]) -> pa.Table:
    """Read the stored edges that join the same nodes as some record; of others of the same source only their ends."""
    near = look_up_values(table, "src", anonymous["src"].combine_chunks(), ["src", "dst"])
    same = engine.sql(
        {"incoming": anonymous.select(["src", "dst"]), "stored": near.select(["src", "dst", ROW_ID])},
        f"SELECT s.{ROW_ID} AS row_id FROM stored s SEMI JOIN incoming i ON s.src = i.src AND s.dst = i.dst",  # noqa: S608
    )
    return table.take(same["row_id"].combine_chunks().cast(pa.uint64()), columns)


def _in_order(anonymous: pa.Table, matches: pa.Table) -> pa.Array:
    """Return the matched id of each record, null where there is none."""
    at = pc.index_in(
        anonymous[POSITION].combine_chunks(), value_set=matches["position"].combine_chunks().cast(pa.uint64())
    )
    return matches["id"].combine_chunks().cast(pa.string()).take(at)
