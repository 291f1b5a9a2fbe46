"""The set checks of a bulk load: few statements, whatever the number of types and rules.

The first only asks whether anything is suspicious (`screening.py`). If so, the next counts repeated ids, and the last
runs every check and returns the first few violations of each, aligned to one set of columns. Rows stay on the workers;
both engines run the same text.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey, Unique
from omnigraph.engine.interface import Engine, Produced
from omnigraph.pipeline.load.bulk.keys import member_columns
from omnigraph.pipeline.load.bulk.screening import Screening
from omnigraph.pipeline.load.bulk.views import IncomingKeys, Views
from omnigraph.pipeline.load.words import existing_finding, repeated_finding
from omnigraph.pipeline.load.writer import LoadMode
from omnigraph.records.findings import Code, Finding, FindingCollector
from omnigraph.writes.constraints import words
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
class Check:
    """One query for violations, the columns it returns, and the words for a row of it."""

    code: Code
    query: str
    columns: frozenset[str]
    word: Callable[[Mapping[str, Any]], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCheck:
    """Everything that the checks of one load look at."""

    engine: Engine
    catalog: Catalog
    mode: LoadMode
    incoming: Mapping[TableKey, IncomingKeys]
    stored: Callable[[EntityType], Produced]
    screen: Callable[[Screening], int]
    """Counts suspects where the keys are."""
    spell_place: Callable[[int, int], str]

    def find(self, findings: FindingCollector) -> dict[TableKey, int]:
        """Collect every violation in the state that the load would produce; return how many entities each type has."""
        if not self.screen(Screening(self.incoming, self.catalog, self.mode)):
            return {key: table.rows for key, table in self.incoming.items()}
        counts = self._distinct_ids()
        self._find_each(counts, findings)
        return counts

    def _distinct_ids(self) -> dict[TableKey, int]:
        """Count the entities that the input holds of each type, repeated ids as one."""
        counts = {key: table.rows for key, table in self.incoming.items()}
        views = Views(self.incoming, self.stored, mode=self.mode)
        asked = [key for key, table in sorted(self.incoming.items()) if not table.is_all_new(self.mode)]
        if not asked:
            return counts
        queries = [
            f"SELECT {number} AS number, count(DISTINCT id) AS ids FROM {views.named(self.incoming[key].entity)}"
            for number, key in enumerate(asked)
        ]
        result = self.engine.sql(views.relations, views.statement(" UNION ALL ".join(queries)))
        return counts | {asked[row["number"]]: row["ids"] for row in result.to_pylist()}

    def views(self, counts: Mapping[TableKey, int]) -> Views:
        """Begin a statement over the resulting state."""
        folded = frozenset(key for key, table in self.incoming.items() if counts[key] < table.rows)
        return Views(self.incoming, self.stored, mode=self.mode, folded=folded)

    def _find_each(self, counts: Mapping[TableKey, int], findings: FindingCollector) -> None:
        views = self.views(counts)
        checks = [*self._identity_checks(views, counts, findings.limit), *self._rule_checks(views, findings.limit)]
        if not checks:
            return
        members = max((len(rule.properties) for rule in self._uniques()), default=0)
        aligned = _ALIGNED | {f"u{index}": "STRING" for index in range(members)}
        queries = [_aligned(number, check, aligned) for number, check in enumerate(checks)]
        result = self.engine.sql(views.relations, views.statement(" UNION ALL ".join(queries)))
        shown: Counter[int] = Counter()
        totals: dict[int, int] = {}
        for row in result.to_pylist():
            shown[row["number"]] += 1
            totals[row["number"]] = row["total"]
            findings.add(checks[row["number"]].word(row))
        for number, total in totals.items():
            findings.count(checks[number].code, total - shown[number])

    def _uniques(self) -> list[Unique]:
        return [rule for table in self.incoming.values() for rule in table.entity.uniques]

    def _identity_checks(self, views: Views, counts: Mapping[TableKey, int], limit: int) -> Iterator[Check]:
        for key, table in sorted(self.incoming.items()):
            is_keyed = isinstance(table.entity, NodeType) and table.entity.key is not None
            if counts[key] < table.rows and (self.mode != "merge" or is_keyed):
                yield self._repeated(views, table.entity, limit)
            if self.mode == "append" and not table.is_all_new(self.mode):
                yield _existing(views, table.entity, limit)

    def _repeated(self, views: Views, entity: EntityType, limit: int) -> Check:
        named = views.named(entity)
        query = f"""
            SELECT id, file, line, first_file, first_line, count(*) OVER () AS total FROM (
                SELECT id, file, line, position,
                    row_number() OVER (PARTITION BY id ORDER BY position) AS place,
                    first_value(file) OVER (PARTITION BY id ORDER BY position) AS first_file,
                    first_value(line) OVER (PARTITION BY id ORDER BY position) AS first_line
                FROM {named}
            ) WHERE place > 1 ORDER BY position LIMIT {limit}
        """

        def word(row: Mapping[str, Any]) -> Finding:
            return repeated_finding(
                entity,
                row["id"],
                first=self.spell_place(row["first_file"], row["first_line"]),
                place=self.spell_place(row["file"], row["line"]),
                file_index=row["file"],
                line=row["line"],
            )

        columns = frozenset({"id", "file", "line", "first_file", "first_line", "total"})
        return Check(code=Code.DUPLICATE_ID, query=query, columns=columns, word=word)

    def _rule_checks(self, views: Views, limit: int) -> Iterator[Check]:
        for _, table in sorted(self.incoming.items()):
            for place, rule in enumerate(table.entity.uniques):
                yield _unique(views, table.entity, rule, place, limit)
            if isinstance(table.entity, EdgeType):
                yield from self._endpoints(views, table.entity, limit)
        for edge in self.catalog.edges:
            if self.mode == "overwrite" and not views.is_replaced(edge):
                yield from self._stored_orphans(views, edge, limit)
            if views.has(edge) and not edge.cardinality.is_unbounded:
                yield self._cardinality(views, edge, limit)

    def _node(self, edge: EdgeType, word: str) -> NodeType:
        return self.catalog.node_by_name[edge.from_type if word == "from" else edge.to_type]

    def _endpoints(self, views: Views, edge: EdgeType, limit: int) -> Iterator[Check]:
        for word, column in _ENDPOINTS:
            node = self._node(edge, word)
            edges = f"(SELECT id, {column} AS endpoint, position, file, line FROM {views.incoming(edge)})"
            yield Check(
                code=Code.ORPHAN_EDGE,
                query=orphan_statement(limit=limit, edges=edges, nodes=views.ids_afterwards(node)),
                columns=frozenset({"id", "endpoint", "file", "line", "total"}),
                word=_bound(words.orphan_finding, edge, node, word),
            )

    def _stored_orphans(self, views: Views, edge: EdgeType, limit: int) -> Iterator[Check]:
        """Find stored edges that stay while a node at one of their ends goes."""
        for word, column in _ENDPOINTS:
            node = self._node(edge, word)
            if not views.is_replaced(node):
                continue
            lost = views.step(
                f"lost_{node.type_id}",
                f"SELECT s.id FROM {views.stored(node)} s ANTI JOIN {views.incoming(node)} i ON s.id = i.id",
            )
            query = (
                f"SELECT e.id, e.{column} AS endpoint, count(*) OVER () AS total FROM {views.kept(edge)} e "
                f"SEMI JOIN {lost} l ON e.{column} = l.id ORDER BY e.id LIMIT {limit}"
            )
            yield Check(
                code=Code.ORPHAN_EDGE,
                query=query,
                columns=frozenset({"id", "endpoint", "total"}),
                word=_bound(words.stored_orphan_finding, edge, node, word),
            )

    def _cardinality(self, views: Views, edge: EdgeType, limit: int) -> Check:
        incoming, number = views.incoming(edge), edge.type_id
        sources = [f"SELECT src FROM {incoming}"]
        if views.is_replaced(edge):
            sources.append(f"SELECT src FROM {views.stored(edge)}")
        elif not views.is_all_new(edge):
            sources.append(f"SELECT s.src FROM {views.stored(edge)} s SEMI JOIN {incoming} i ON s.id = i.id")
        touched = views.step(
            f"touched_{number}",
            f"SELECT DISTINCT t.src FROM ({' UNION ALL '.join(sources)}) t "
            f"SEMI JOIN {views.ids_afterwards(self._node(edge, 'from'))} n ON t.src = n.id",
        )
        edges = views.step(
            f"edges_{number}",
            f"SELECT src, position, file, line FROM {incoming} UNION ALL "
            f"SELECT s.src, NULL, NULL, NULL FROM {views.kept(edge)} s SEMI JOIN {touched} t ON s.src = t.src",
        )
        low, high = edge.cardinality.low, edge.cardinality.high
        counted = cardinality_statement(low, high, limit=limit, touched=touched, edges=edges)
        return Check(
            code=Code.CARD_VIOLATION,
            query=f"SELECT src AS id, n, file, line, total FROM ({counted})",
            columns=frozenset({"id", "n", "file", "line", "total"}),
            word=_bound(words.cardinality_finding, edge),
        )


def _existing(views: Views, entity: EntityType, limit: int) -> Check:
    query = (
        f"SELECT i.id, i.file, i.line, count(*) OVER () AS total FROM {views.incoming(entity)} i "
        f"SEMI JOIN {views.stored(entity)} s ON i.id = s.id ORDER BY i.position LIMIT {limit}"
    )
    return Check(
        code=Code.KEY_CONFLICT,
        query=query,
        columns=frozenset({"id", "file", "line", "total"}),
        word=lambda row: existing_finding(entity, row["id"], file_index=row["file"], line=row["line"]),
    )


def _unique(views: Views, entity: EntityType, rule: Unique, place: int, limit: int) -> Check:
    column_by_name = member_columns(entity)
    columns = [column_by_name[name] for name in rule.properties]
    spelled = ", ".join(f"{column} AS u{index}" for index, column in enumerate(columns))
    held = " AND ".join(f"s.{column} = i.{column}" for column in columns)
    incoming = views.incoming(entity)
    suffix = f"{entity.kind[0]}{entity.type_id}_{place}"
    written = views.step(f"written_{suffix}", f"SELECT id, {spelled}, position, file, line FROM {incoming}")
    kept = views.step(
        f"held_{suffix}",
        f"SELECT s.id, {', '.join(f's.{column} AS u{index}' for index, column in enumerate(columns))} "
        f"FROM {views.kept(entity)} s SEMI JOIN {incoming} i ON {held}",
    )
    members = frozenset(f"u{index}" for index in range(len(columns)))
    return Check(
        code=Code.UNIQUE_VIOLATION,
        query=unique_statement(len(columns), limit=limit, incoming=written, retained=kept),
        columns=members | {"id", "holder", "file", "line", "total"},
        word=_bound(words.unique_finding, entity, rule),
    )


def _bound(word: Callable[..., Finding], *about: Any) -> Callable[[Mapping[str, Any]], Finding]:
    return lambda row: word(*about, row)


def _aligned(number: int, check: Check, columns: Mapping[str, str]) -> str:
    listed = ", ".join(
        name if name in check.columns else f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns.items()
    )
    return f"SELECT {number} AS number, {listed} FROM ({check.query})"
