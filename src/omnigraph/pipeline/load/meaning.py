"""Which stored edge an edge record without an id means, when it is merged.

Repeating a merge must be harmless, so such a record looks for the edge it means before it becomes a new one: by the
endpoints where a `@unique` over endpoints makes them a name, else by endpoints and equal properties, one to one.
"""

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import EdgeType
from omnigraph.records.findings import Code, Finding, FindingCollector
from omnigraph.records.tables import FILE, LINE, POSITION
from omnigraph.storage.tables import ROW_ADDRESS, ROW_ID
from omnigraph.writes.authority import Capture

_ENDPOINTS = {"src", "dst"}


def naming_endpoints(edge: EdgeType) -> tuple[tuple[str, ...], ...]:
    """Return the `@unique` constraints over endpoints only: each makes its endpoints a name for the edge."""
    return tuple(rule.properties for rule in edge.uniques if set(rule.properties) <= _ENDPOINTS)


def resolve_ids(
    capture: Capture, edge: EdgeType, rows: pa.Table, *, minted: pa.Array, findings: FindingCollector
) -> pa.Table:
    """Fill the missing ids of edge records: with those of the edges they mean, else with the minted ones."""
    missing = pc.is_null(rows["id"])
    if not pc.any(missing).as_py():
        return rows
    anonymous = rows.filter(missing)
    named = rows["id"].combine_chunks().drop_null()
    names = naming_endpoints(edge)
    if names:
        meant = _by_endpoints(capture, edge, anonymous, names, findings)
    else:
        meant = _by_content(capture, edge, anonymous, named)
    filled = pc.coalesce(meant, minted.filter(missing.combine_chunks()))
    ids = pc.replace_with_mask(rows["id"].combine_chunks(), missing.combine_chunks(), filled)
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), ids)


def _by_endpoints(
    capture: Capture,
    edge: EdgeType,
    anonymous: pa.Table,
    names: tuple[tuple[str, ...], ...],
    findings: FindingCollector,
) -> pa.Array:
    """Take the one edge on which all naming constraints agree; where they disagree the uniqueness check decides."""
    found: list[pa.Array] = []
    for columns in names:
        _refuse_repeated(capture, edge, anonymous, columns, findings)
        stored = capture.table(edge.table_key).lookup(
            columns[0], anonymous[columns[0]].combine_chunks(), ["id", *columns]
        )
        keys = " AND ".join(f"i.{column} = s.{column}" for column in columns)
        matches = capture.context.engine.sql(
            {"incoming": anonymous.select([*columns, POSITION]), "stored": stored.select(["id", *columns])},
            f"SELECT i.{POSITION} AS position, min(s.id) AS id FROM incoming i JOIN stored s ON {keys} "  # noqa: S608
            "GROUP BY position",
        )
        found.append(_in_order(anonymous, matches))
    meant = found[0]
    for other in found[1:]:
        agree = pc.or_kleene(pc.is_null(meant), pc.or_kleene(pc.is_null(other), pc.equal(meant, other)))
        meant = pc.if_else(agree, pc.coalesce(meant, other), pa.scalar(None, pa.string()))
    return meant


def _refuse_repeated(
    capture: Capture, edge: EdgeType, anonymous: pa.Table, columns: tuple[str, ...], findings: FindingCollector
) -> None:
    listed = ", ".join(columns)
    repeated = capture.context.engine.sql(
        {"incoming": anonymous.select([*columns, POSITION, FILE, LINE])},
        f"""
        WITH ranked AS (
            SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY {POSITION}) AS place FROM incoming
        )
        SELECT *, count(*) OVER () AS total FROM ranked WHERE place > 1 ORDER BY {POSITION} LIMIT {findings.limit}
        """,  # noqa: S608 — column names are src and dst
    )
    for row in repeated.to_pylist():
        values = ", ".join(row[column] for column in columns)
        named = columns[0] if len(columns) == 1 else f"({listed})"
        findings.add(
            Finding(
                code=Code.UNIQUE_VIOLATION,
                message=f"@unique violation on {edge.name}.{named}: {values!r} occurs twice in the input",
                file_index=row[FILE],
                line=row[LINE],
                table_key=edge.table_key,
            )
        )
    if repeated.num_rows:
        findings.count(Code.UNIQUE_VIOLATION, repeated["total"][0].as_py() - repeated.num_rows)


def _by_content(capture: Capture, edge: EdgeType, anonymous: pa.Table, named: pa.Array) -> pa.Array:
    """Match records with equal stored edges one to one, leaving out edges that the input names by id."""
    columns = ["src", "dst", *edge.property_by_name]
    stored = capture.table(edge.table_key).lookup("src", anonymous["src"].combine_chunks(), ["id", *columns])
    stored = stored.filter(pc.invert(pc.is_in(stored["id"], value_set=named))).drop_columns([ROW_ID, ROW_ADDRESS])
    numbered = [f"c{index}" for index in range(len(columns))]
    partition = ", ".join(numbered)
    equal = " AND ".join(f"i.{name} IS NOT DISTINCT FROM s.{name}" for name in numbered)
    matches = capture.context.engine.sql(
        {
            "incoming": anonymous.select([*columns, POSITION]).rename_columns([*numbered, "position"]),
            "stored": stored.select([*columns, "id"]).rename_columns([*numbered, "id"]),
        },
        f"""
        WITH i AS (
            SELECT *, row_number() OVER (PARTITION BY {partition} ORDER BY position) AS place FROM incoming
        ), s AS (
            SELECT *, row_number() OVER (PARTITION BY {partition} ORDER BY id) AS place FROM stored
        )
        SELECT i.position, s.id FROM i JOIN s ON i.place = s.place AND {equal}
        """,  # noqa: S608 — column names are numbered
    )
    return _in_order(anonymous, matches)


def _in_order(anonymous: pa.Table, matches: pa.Table) -> pa.Array:
    """Return the matched id of each record, null where there is none."""
    at = pc.index_in(
        anonymous[POSITION].combine_chunks(), value_set=matches["position"].combine_chunks().cast(pa.uint64())
    )
    return matches["id"].combine_chunks().cast(pa.string()).take(at)
