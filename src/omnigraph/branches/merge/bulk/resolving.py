"""What becomes of every entity of one table, as SQL: the truth table over the changes of both sides.

The same rules as for small merges (`resolution.py`, `edges.py`), with digests in the place of images. What comes out
stays with the engine: `(id, outcome, part, row_id, row_address, key columns…, target_row, target_address)`, for edges
also `target_src`; the source's row is null where it has none, and the target's likewise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from omnigraph.branches.merge.bulk.rows import LOCATION_FIELDS, unshared
from omnigraph.branches.merge.edges import pairs_statement
from omnigraph.branches.merge.resolution import agreement_expression, outcome_expression
from omnigraph.branches.merge.routes import Route
from omnigraph.branches.merge.sides import MergeSides
from omnigraph.catalog.model import EdgeType, EntityType
from omnigraph.changes.compare import TableState, changes_statement
from omnigraph.engine.interface import Engine, Produced, Relation
from omnigraph.writes.constraints.keys import key_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves the tables of one merge on one engine."""

    engine: Engine
    sides: MergeSides
    operation_id: str

    def resolve(self, entity: EntityType, chosen: Route, stored: Produced) -> Relation:
        """Resolve one table against every base; `stored` are the key columns of the target's rows."""
        building = _Building(carried=_carried(entity))
        building.relations["stored"] = stored
        resolutions = [
            self._against(building, number, base, entity, chosen)
            for number, base in enumerate(self.sides.base_states(entity))
        ]
        return self.engine.keep(building.relations, building.statement(_located(entity, resolutions)))

    def _against(self, building: "_Building", number: int, base: TableState, entity: EntityType, chosen: Route) -> str:
        """Resolve against one base; edges are matched by what they say before entities are compared."""
        source, target = f"source{number}", f"target{number}"
        self._add_changes(building, source, base, self.sides.source_state(entity), building.carried)
        if chosen is Route.THREE_WAY:
            self._add_changes(building, target, base, self.sides.target_state(entity), [])
        else:
            building.step(target, f"SELECT id, op, was, digest FROM {source} WHERE false")
        if isinstance(entity, EdgeType):
            return building.step(f"resolved{number}", _edges(building, source, target))
        return building.step(f"resolved{number}", _resolved(source, target, building.carried))

    def _add_changes(
        self, building: "_Building", name: str, base: TableState, side: TableState, carried: list[str]
    ) -> None:
        """Find what a side did since a base: `(id, op, was, digest)` and what is carried along of its rows."""
        rows_of = partial(
            unshared,
            uri=self.sides.target.context.store.uri,
            operation_id=self.operation_id,
            slots=self.engine.slots,
        )
        before, after = f"{name}_before", f"{name}_after"
        rows = {before: rows_of(base, side), after: rows_of(side, base, has_keys=bool(carried))}
        listed = [f"{before}.digest AS was", f"{after}.digest AS digest", *(f"{after}.{column}" for column in carried)]
        query = changes_statement(before=before, after=after, columns=", ".join(listed))
        if isinstance(side.entity, EdgeType):
            # The rules for relationships look at the changes again and again.
            building.relations[name] = self.engine.keep(rows, query)
        else:
            building.relations.update(rows)
            building.step(name, query)


@dataclass(slots=True, kw_only=True)
class _Building:
    """One statement in the making: its relations, its named steps, and the columns that all of them carry along."""

    carried: list[str]
    relations: dict[str, Relation] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)

    def step(self, name: str, text: str) -> str:
        self.steps[name] = text
        return name

    def statement(self, select: str) -> str:
        return f"WITH {', '.join(f'{name} AS ({text})' for name, text in self.steps.items())} {select}"


def _carried(entity: EntityType) -> list[str]:
    return [name for name, _ in LOCATION_FIELDS] + [name for name, _ in key_fields(entity) if name != "id"]


def _resolved(source: str, target: str, carried: list[str]) -> str:
    columns = ", ".join(f"s.{name}" for name in carried)
    outcome = outcome_expression(are_equal="s.digest = t.digest")
    return f"""
        SELECT * FROM (
            SELECT s.id, {outcome} AS outcome, {columns} FROM {source} s LEFT JOIN {target} t ON s.id = t.id
        ) WHERE outcome IS NOT NULL
    """


def _edges(building: _Building, source: str, target: str) -> str:
    """Leave out what changes no relationship, resolve the rest, and carry it out on the edges that the target has."""
    replaced = building.step(f"{source}_replaced", _replaced(source))
    stand_ins = building.step(f"{target}_replaced", _replaced(target))
    ours = building.step(f"{source}_changed", _without_pairs(source, replaced))
    theirs = building.step(f"{target}_changed", _without_pairs(target, stand_ins))
    twins = building.step(
        f"{source}_twins", pairs_statement(left=_added_only_in(ours, theirs), right=_added_only_in(theirs, ours))
    )
    changed = building.step(f"{source}_new", f"SELECT c.* FROM {ours} c ANTI JOIN {twins} w ON c.id = w.left_id")
    decided = building.step(f"{source}_decided", _resolved(changed, theirs, building.carried))
    nothing = ", ".join(f"NULL AS {name}" for name in building.carried)
    return f"""
        SELECT r.* FROM {decided} r
        ANTI JOIN {stand_ins} i ON r.id = i.left_id AND r.outcome = 'delete'
        UNION ALL
        SELECT i.right_id AS id, 'delete' AS outcome, {nothing} FROM {stand_ins} i
        SEMI JOIN {decided} r ON r.id = i.left_id AND r.outcome IN ('take', 'delete')
    """


def _replaced(changes: str) -> str:
    """Pair the edges that a side removed with equal ones that it added."""
    return pairs_statement(
        left=f"(SELECT id, was AS digest FROM {changes} WHERE op = 'delete')",
        right=f"(SELECT id, digest FROM {changes} WHERE op = 'insert')",
    )


def _without_pairs(changes: str, pairs: str) -> str:
    both = f"(SELECT left_id AS id FROM {pairs} UNION ALL SELECT right_id FROM {pairs})"
    return f"SELECT c.* FROM {changes} c ANTI JOIN {both} p ON c.id = p.id"


def _added_only_in(changes: str, others: str) -> str:
    return (
        f"(SELECT a.id, a.digest FROM {changes} a "
        f"ANTI JOIN (SELECT id FROM {others} WHERE op = 'insert') b ON a.id = b.id WHERE a.op = 'insert')"
    )


def _located(entity: EntityType, resolutions: Sequence[str]) -> str:
    """Put the resolutions against all bases together, with the target's rows of the same ids."""
    carried = _carried(entity)
    found = resolutions[0]
    if len(resolutions) > 1:
        listed = ", ".join(["id", "outcome", *carried])
        union = " UNION ALL ".join(f"SELECT {listed} FROM {name}" for name in resolutions)
        # An entity has one image in the source, whichever base it was compared with.
        merged = ", ".join(f"max({name}) AS {name}" for name in carried)
        agreed = f"{agreement_expression(len(resolutions))} AS outcome"
        found = f"(SELECT id, {agreed}, {merged} FROM ({union}) GROUP BY id)"
    sources = ", t.src AS target_src" if isinstance(entity, EdgeType) else ""
    return f"""
        SELECT r.id, r.outcome, {", ".join(f"r.{name}" for name in carried)},
            t.row_id AS target_row, t.row_address AS target_address{sources}
        FROM {found} r LEFT JOIN stored t ON r.id = t.id
    """
