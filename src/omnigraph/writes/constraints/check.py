"""Running the set checks over the deltas of one write."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.identity import spell_column
from omnigraph.catalog.model import EdgeType, EntityType, TableKey, Unique
from omnigraph.graphs.capture import Capture
from omnigraph.records.offences import Code, OffenceCollector
from omnigraph.records.tables import FILE, LINE, POSITION
from omnigraph.storage.index_lookup import holds_only
from omnigraph.writes.constraints import words
from omnigraph.writes.constraints.base_state import RetainedRows
from omnigraph.writes.constraints.statements import cardinality_statement, orphan_statement, unique_statement
from omnigraph.writes.delta import TableDelta

ENDPOINTS = (("from", "src"), ("to", "dst"))


def check_deltas(capture: Capture, deltas: Mapping[TableKey, TableDelta], findings: OffenceCollector) -> None:
    """Collect every violation of uniqueness, endpoints and cardinality in the state that `deltas` would produce."""
    retained = RetainedRows(capture, deltas)
    for _, delta in sorted(deltas.items()):
        for rule in delta.entity.uniques:
            _check_unique(capture, retained, delta, rule, findings)
        if isinstance(delta.entity, EdgeType):
            _check_endpoints(capture, retained, delta, delta.entity, findings)
    for edge in capture.catalog.edges:
        _check_retained_edges(capture, retained, edge, findings)
        _check_cardinality(capture, retained, deltas.get(edge.table_key), edge, findings)


def _check_unique(
    capture: Capture, retained: RetainedRows, delta: TableDelta, rule: Unique, findings: OffenceCollector
) -> None:
    if delta.upserts.num_rows == 0:
        return
    entity = delta.entity
    first = rule.properties[0]
    stored = retained.where_in(entity, first, delta.upserts[first].combine_chunks(), list(rule.properties))
    if stored.num_rows == 0 and delta.upserts.num_rows == 1:
        return  # alone with its values
    result = capture.context.engine.sql(
        {
            "incoming": _spelled(delta.upserts, entity, rule.properties, with_place=True),
            "retained": _spelled(stored, entity, rule.properties, with_place=False),
        },
        unique_statement(len(rule.properties), limit=findings.limit),
    )
    for row in _counted(result, Code.UNIQUE_VIOLATION, findings):
        findings.add(words.unique_finding(entity, rule, row))


def _check_endpoints(
    capture: Capture, retained: RetainedRows, delta: TableDelta, edge: EdgeType, findings: OffenceCollector
) -> None:
    if delta.upserts.num_rows == 0:
        return
    node_by_column = {
        column: capture.catalog.node_by_name[edge.from_type if word == "from" else edge.to_type]
        for word, column in ENDPOINTS
    }
    existing: dict[str, pa.Array] = {}
    for word, column in ENDPOINTS:
        node = node_by_column[column]
        if node.name not in existing:
            # Both ends at once where they are of one type: a look-up takes its time, however little it looks for.
            ends = [delta.upserts[end].combine_chunks() for end, other in node_by_column.items() if other is node]
            existing[node.name] = retained.existing_ids(node, pa.concat_arrays(ends))
        endpoints = delta.upserts[column].combine_chunks()
        if pc.all(pc.is_in(endpoints, value_set=existing[node.name])).as_py():
            continue
        edges = _with_place(delta.upserts, {"id": delta.upserts["id"], "endpoint": endpoints})
        result = capture.context.engine.sql(
            {"edges": edges, "nodes": pa.table({"id": existing[node.name]})},
            orphan_statement(limit=findings.limit),
        )
        for row in _counted(result, Code.ORPHAN_EDGE, findings):
            findings.add(words.orphan_finding(edge, node, word, row))


def _check_retained_edges(capture: Capture, retained: RetainedRows, edge: EdgeType, findings: OffenceCollector) -> None:
    """Find stored edges that stay while a node at one of their ends goes."""
    for word, column in ENDPOINTS:
        node = capture.catalog.node_by_name[edge.from_type if word == "from" else edge.to_type]
        lost = pa.array([], pa.string()) if retained.keeps_ends(edge, column, node) else retained.lost_ids(node)
        if len(lost) == 0:
            continue
        orphans = retained.where_in(edge, column, lost, [column]).sort_by("id")
        for row in orphans.slice(0, findings.limit).to_pylist():
            findings.add(words.stored_orphan_finding(edge, node, word, {"id": row["id"], "endpoint": row[column]}))
        findings.count(Code.ORPHAN_EDGE, max(0, orphans.num_rows - findings.limit))


def _check_cardinality(
    capture: Capture,
    retained: RetainedRows,
    delta: TableDelta | None,
    edge: EdgeType,
    findings: OffenceCollector,
) -> None:
    if delta is None or edge.cardinality.is_unbounded:
        return
    touched = _touched_sources(capture, delta, edge)
    node = capture.catalog.node_by_name[edge.from_type]
    existing = retained.existing_ids(node, touched)
    if len(existing) == 0:
        return
    stored = retained.where_in(edge, "src", existing, ["src"])
    places = _with_place(delta.upserts, {"src": delta.upserts["src"]})
    nothing = {name: pa.nulls(stored.num_rows, places[name].type) for name in ("position", "file", "line")}
    result = capture.context.engine.sql(
        {
            "touched": pa.table({"src": existing}),
            "edges": pa.concat_tables([places, pa.table({"src": stored["src"], **nothing})]),
        },
        cardinality_statement(edge.cardinality.low, edge.cardinality.high, limit=findings.limit),
    )
    for row in _counted(result, Code.CARD_VIOLATION, findings):
        findings.add(words.cardinality_finding(edge, {**row, "id": row["src"]}))


def _touched_sources(capture: Capture, delta: TableDelta, edge: EdgeType) -> pa.Array:
    """Return the sources whose number of edges the write may change to what it must not be."""
    sources = [delta.upserts["src"].combine_chunks(), delta.matched["src"].combine_chunks()]
    sources.append(delta.removed["src"].combine_chunks())
    if delta.replaces_all and edge.cardinality.low > 0:
        # Sources that no written edge names lose all of theirs.
        table = capture.table(edge.table_key)
        if not holds_only(table, "src", sources[0]):
            sources.append(table.read(["src"])["src"].combine_chunks())
    return pa.concat_arrays([source.cast(pa.string()) for source in sources]).unique()


def _spelled(rows: pa.Table, entity: EntityType, members: Sequence[str], *, with_place: bool) -> pa.Table:
    columns: dict[str, Any] = {"id": rows["id"]}
    for index, member in enumerate(members):
        declared = entity.property_by_name.get(member)
        values = rows[member].combine_chunks()
        # `src` and `dst` are ids: their spelling is themselves.
        columns[f"u{index}"] = values if declared is None else spell_column(values, declared.type)
    return _with_place(rows, columns) if with_place else pa.table(columns)


def _with_place(rows: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    return pa.table({**columns, "position": rows[POSITION], "file": rows[FILE], "line": rows[LINE]})


def _counted(result: pa.Table, code: Code, findings: OffenceCollector) -> list[dict[str, Any]]:
    """Return the reported rows, and count those beyond the limit."""
    if result.num_rows:
        total = pc.max(result["total"]).as_py()
        findings.count(code, total - result.num_rows)
    return list(result.to_pylist())
