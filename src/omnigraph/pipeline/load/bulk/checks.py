"""The set checks of a bulk load: few statements, whatever the number of types and rules.

The first only asks whether anything is suspicious (`screening.py`). If so, the next counts repeated ids, and the last
runs every check and returns the first few violations of each, aligned to one set of columns. Rows stay on the workers;
both engines run the same text.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityType, NodeType, TableKey
from omnigraph.engine.interface import Engine, Produced
from omnigraph.pipeline.load.bulk.screening import Screening
from omnigraph.pipeline.load.bulk.views import IncomingKeys, Views
from omnigraph.pipeline.load.writer import LoadMode, existing_finding, repeated_finding
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.writes.constraints.set_checks import (
    ViolationQuery,
    cardinality_check,
    endpoint_checks,
    run_checks,
    stored_orphan_checks,
    unique_checks,
)


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
    is_looked_up: bool = False
    """Whether workers looked up what has to be known of stored rows, and met nothing that must not be."""
    is_stale: bool = False
    """Whether they looked it up, and what they found does not count."""

    def finds_nothing_suspicious(self) -> bool:
        """Whether the state that the load would produce is right without further questions, and no id occurs twice."""
        screening = Screening(
            self.incoming, self.catalog, self.mode, is_looked_up=self.is_looked_up, is_stale=self.is_stale
        )
        return self.screen(screening) == 0

    def row_counts(self) -> dict[TableKey, int]:
        """Return how many records each type has."""
        return {key: table.rows for key, table in self.incoming.items()}

    def find(self, findings: OffenceCollector) -> dict[TableKey, int]:
        """Collect every violation in the state that the load would produce; return how many entities each type has."""
        counts = self._distinct_ids()
        self._find_each(counts, findings)
        return counts

    def _distinct_ids(self) -> dict[TableKey, int]:
        """Count the entities that the input holds of each type, repeated ids as one."""
        counts = self.row_counts()
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

    def _find_each(self, counts: Mapping[TableKey, int], findings: OffenceCollector) -> None:
        views = self.views(counts)
        checks = [*self._identity_checks(views, counts, findings.limit), *self._rule_checks(views, findings.limit)]
        run_checks(self.engine, views, checks, findings)

    def _identity_checks(self, views: Views, counts: Mapping[TableKey, int], limit: int) -> Iterator[ViolationQuery]:
        for key, table in sorted(self.incoming.items()):
            is_keyed = isinstance(table.entity, NodeType) and table.entity.key is not None
            if counts[key] < table.rows and (self.mode != "merge" or is_keyed) and not table.has_newest:
                yield self._repeated(views, table.entity, limit)
            if self.mode == "append" and not table.is_all_new(self.mode):
                yield _existing(views, table.entity, limit)

    def _repeated(self, views: Views, entity: EntityType, limit: int) -> ViolationQuery:
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

        def word(row: Mapping[str, Any]) -> Offence:
            return repeated_finding(
                entity,
                row["id"],
                first=self.spell_place(row["first_file"], row["first_line"]),
                place=self.spell_place(row["file"], row["line"]),
                file_index=row["file"],
                line=row["line"],
            )

        columns = frozenset({"id", "file", "line", "first_file", "first_line", "total"})
        return ViolationQuery(code=Code.DUPLICATE_ID, query=query, columns=columns, word=word)

    def _rule_checks(self, views: Views, limit: int) -> Iterator[ViolationQuery]:
        for _, table in sorted(self.incoming.items()):
            yield from unique_checks(views, table.entity, limit)
            if isinstance(table.entity, EdgeType):
                yield from endpoint_checks(views, self.catalog, table.entity, limit)
        for edge in self.catalog.edges:
            if self.mode == "overwrite" and not views.is_replaced(edge):
                yield from stored_orphan_checks(views, self.catalog, edge, limit, loses=views.is_replaced)
            if views.has(edge) and not edge.cardinality.is_unbounded:
                yield cardinality_check(views, self.catalog, edge, limit)


def _existing(views: Views, entity: EntityType, limit: int) -> ViolationQuery:
    query = (
        f"SELECT i.id, i.file, i.line, count(*) OVER () AS total FROM {views.incoming(entity)} i "
        f"SEMI JOIN {views.stored(entity)} s ON i.id = s.id ORDER BY i.position LIMIT {limit}"
    )
    return ViolationQuery(
        code=Code.KEY_CONFLICT,
        query=query,
        columns=frozenset({"id", "file", "line", "total"}),
        word=lambda row: existing_finding(entity, row["id"], file_index=row["file"], line=row["line"]),
    )
