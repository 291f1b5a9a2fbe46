"""The set checks of large writes: rows stay on the workers, and one statement finds the violations of all rules.

The statements themselves are those of `statements.py`; here they are put together over the state that a write would
produce, whichever write that is. Both engines run the same text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, Unique
from omnigraph.engine.interface import Engine
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.writes.constraints import words
from omnigraph.writes.constraints.keys import member_columns
from omnigraph.writes.constraints.resulting_state import ResultingState, number_of
from omnigraph.writes.constraints.statements import cardinality_statement, orphan_statement, unique_statement

_ENDPOINTS = (("from", "src"), ("to", "dst"))
_ALIGNED = {
    "id": "STRING",
    "holder": "STRING",
    "endpoint": "STRING",
    "n": "BIGINT",
    "first_file": "INT",
    "first_line": "BIGINT",
    "file": "INT",
    "line": "BIGINT",
    "total": "BIGINT",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationQuery:
    """One query for violations, the columns it returns, and the words for a row of it."""

    code: Code
    query: str
    columns: frozenset[str]
    word: Callable[[Mapping[str, Any]], Offence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """What one check found: the first few worded, and how many there are."""

    number: int
    """Which of the checks that were run."""
    code: Code
    first: tuple[Offence, ...]
    total: int

    def add_to(self, findings: OffenceCollector) -> None:
        """Report them all."""
        for finding in self.first:
            findings.add(finding)
        findings.count(self.code, self.total - len(self.first))


def run_checks(
    engine: Engine, state: ResultingState, checks: Sequence[ViolationQuery], findings: OffenceCollector
) -> None:
    """Run all checks as one statement: the first few violations of each are worded, all are counted."""
    for violations in find_violations(engine, state, checks):
        violations.add_to(findings)


def find_violations(engine: Engine, state: ResultingState, checks: Sequence[ViolationQuery]) -> list[Violations]:
    """Run all checks as one statement, and return what each of those found that found something."""
    if not checks:
        return []
    members = {column for check in checks for column in check.columns if column not in _ALIGNED}
    aligned = _ALIGNED | dict.fromkeys(sorted(members), "STRING")
    queries = [_aligned(number, check, aligned) for number, check in enumerate(checks)]
    result = engine.sql(state.relations, state.statement(" UNION ALL ".join(queries)))
    rows_by_number: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in result.to_pylist():
        rows_by_number[row["number"]].append(row)
    return [
        Violations(
            number=number,
            code=checks[number].code,
            first=tuple(map(checks[number].word, rows)),
            total=rows[0]["total"],
        )
        for number, rows in sorted(rows_by_number.items())
    ]


def unique_checks(state: ResultingState, entity: EntityType, limit: int) -> Iterator[ViolationQuery]:
    """Check that no tuple of a `@unique` has two holders, of which at least one is written."""
    for place, rule in enumerate(entity.uniques):
        yield _unique(state, entity, rule, place, limit)


def endpoint_checks(
    state: ResultingState, catalog: Catalog, edge: EdgeType, limit: int, *, at: NodeType | None = None
) -> Iterator[ViolationQuery]:
    """Check that written edges have nodes at both ends, or only where nodes of one type belong."""
    for word, column in _ENDPOINTS:
        node = _node(catalog, edge, word)
        if at is not None and node != at:
            continue
        edges = f"(SELECT id, {column} AS endpoint, position, file, line FROM {state.incoming(edge)})"
        yield ViolationQuery(
            code=Code.ORPHAN_EDGE,
            query=orphan_statement(limit=limit, edges=edges, nodes=state.ids_afterwards(node)),
            columns=frozenset({"id", "endpoint", "file", "line", "total"}),
            word=_bound(words.orphan_finding, edge, node, word),
        )


def stored_orphan_checks(
    state: ResultingState,
    catalog: Catalog,
    edge: EdgeType,
    limit: int,
    *,
    loses: Callable[[NodeType], bool],
) -> Iterator[ViolationQuery]:
    """Check that no stored edge stays while a node at one of its ends goes."""
    for word, column in _ENDPOINTS:
        node = _node(catalog, edge, word)
        if not loses(node):
            continue
        query = (
            f"SELECT e.id, e.{column} AS endpoint, count(*) OVER () AS total FROM {state.kept(edge)} e "
            f"SEMI JOIN {state.lost(node)} l ON e.{column} = l.id ORDER BY e.id LIMIT {limit}"
        )
        yield ViolationQuery(
            code=Code.ORPHAN_EDGE,
            query=query,
            columns=frozenset({"id", "endpoint", "total"}),
            word=_bound(words.stored_orphan_finding, edge, node, word),
        )


def cardinality_check(state: ResultingState, catalog: Catalog, edge: EdgeType, limit: int) -> ViolationQuery:
    """Check that every source whose edges change has as many as it may have."""
    incoming, number = state.incoming(edge), edge.type_id
    touched = state.step(
        f"touched_{number}",
        f"SELECT DISTINCT t.src FROM ({state.touched_sources(edge)}) t "
        f"SEMI JOIN {state.ids_afterwards(_node(catalog, edge, 'from'))} n ON t.src = n.id",
    )
    edges = state.step(
        f"edges_{number}",
        f"SELECT src, position, file, line FROM {incoming} UNION ALL "
        f"SELECT s.src, NULL, NULL, NULL FROM {state.kept(edge)} s SEMI JOIN {touched} t ON s.src = t.src",
    )
    low, high = edge.cardinality.low, edge.cardinality.high
    counted = cardinality_statement(low, high, limit=limit, touched=touched, edges=edges)
    return ViolationQuery(
        code=Code.CARD_VIOLATION,
        query=f"SELECT src AS id, n, file, line, total FROM ({counted})",
        columns=frozenset({"id", "n", "file", "line", "total"}),
        word=_bound(words.cardinality_finding, edge),
    )


def _unique(state: ResultingState, entity: EntityType, rule: Unique, place: int, limit: int) -> ViolationQuery:
    column_by_name = member_columns(entity)
    columns = [column_by_name[name] for name in rule.properties]
    spelled = ", ".join(f"{column} AS u{index}" for index, column in enumerate(columns))
    held = " AND ".join(f"s.{column} = i.{column}" for column in columns)
    incoming = state.incoming(entity)
    suffix = f"{number_of(entity)}_{place}"
    written = state.step(f"written_{suffix}", f"SELECT id, {spelled}, position, file, line FROM {incoming}")
    kept = state.step(
        f"held_{suffix}",
        f"SELECT s.id, {', '.join(f's.{column} AS u{index}' for index, column in enumerate(columns))} "
        f"FROM {state.kept(entity)} s SEMI JOIN {incoming} i ON {held}",
    )
    members = frozenset(f"u{index}" for index in range(len(columns)))
    return ViolationQuery(
        code=Code.UNIQUE_VIOLATION,
        query=unique_statement(len(columns), limit=limit, incoming=written, retained=kept),
        columns=members | {"id", "holder", "file", "line", "total"},
        word=_bound(words.unique_finding, entity, rule),
    )


def _node(catalog: Catalog, edge: EdgeType, word: str) -> NodeType:
    return catalog.node_by_name[edge.from_type if word == "from" else edge.to_type]


def _bound(word: Callable[..., Offence], *about: Any) -> Callable[[Mapping[str, Any]], Offence]:
    return lambda row: word(*about, row)


def _aligned(number: int, check: ViolationQuery, columns: Mapping[str, str]) -> str:
    listed = ", ".join(
        name if name in check.columns else f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns.items()
    )
    return f"SELECT {number} AS number, {listed} FROM ({check.query})"
