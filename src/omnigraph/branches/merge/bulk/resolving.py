"""What becomes of every entity of one table, as SQL: the truth table over the changes of both sides.

The same rules as for small merges (`resolution.py`, `edges.py`), with digests in the place of images. What comes out
stays with the engine: `(id, outcome, part, row_id, row_address, key columns…, target_row, target_address)`, for edges
also `target_src`; the source's row is null where it has none, and the target's likewise.
"""

from collections.abc import Mapping
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
        resolutions = {
            f"r{number}": self._against(base, entity, chosen)
            for number, base in enumerate(self.sides.base_states(entity))
        }
        return self.engine.keep({**resolutions, "stored": stored}, _located(entity, resolutions))

    def _against(self, base: TableState, entity: EntityType, chosen: Route) -> Relation:
        """Resolve against one base; edges are matched by what they say before entities are compared."""
        carried = [name for name, _ in LOCATION_FIELDS] + [name for name, _ in key_fields(entity) if name != "id"]
        source = self._changes(base, self.sides.source_state(entity), carried)
        if chosen is Route.THREE_WAY:
            target = self._changes(base, self.sides.target_state(entity), [])
        else:
            target = self.engine.keep({"source": source}, "SELECT id, op, was, digest FROM source WHERE false")
        steps = _Steps()
        query = _edges(steps, carried) if isinstance(entity, EdgeType) else _resolved("source", "target", carried)
        return self.engine.keep({"source": source, "target": target}, steps.statement(query))

    def _changes(self, base: TableState, side: TableState, carried: list[str]) -> Relation:
        """Find what a side did since a base: `(id, op, was, digest)` and what is carried along of its rows."""
        rows_of = partial(
            unshared,
            uri=self.sides.target.context.store.uri,
            operation_id=self.operation_id,
            slots=self.engine.slots,
        )
        before, after = rows_of(base, side), rows_of(side, base, has_keys=bool(carried))
        columns = ", ".join(["before.digest AS was", "after.digest AS digest", *(f"after.{name}" for name in carried)])
        return self.engine.keep({"before": before, "after": after}, changes_statement(columns=columns))


@dataclass(slots=True)
class _Steps:
    """Named steps of one statement."""

    text_by_name: dict[str, str] = field(default_factory=dict)

    def step(self, name: str, text: str) -> str:
        self.text_by_name[name] = text
        return name

    def statement(self, select: str) -> str:
        steps = ", ".join(f"{name} AS ({text})" for name, text in self.text_by_name.items())
        return f"WITH {steps} {select}" if steps else select


def _resolved(source: str, target: str, carried: list[str]) -> str:
    columns = ", ".join(f"s.{name}" for name in carried)
    outcome = outcome_expression(are_equal="s.digest = t.digest")
    return f"""
        SELECT * FROM (
            SELECT s.id, {outcome} AS outcome, {columns} FROM {source} s LEFT JOIN {target} t ON s.id = t.id
        ) WHERE outcome IS NOT NULL
    """


def _edges(steps: _Steps, carried: list[str]) -> str:
    """Leave out what changes no relationship, resolve the rest, and carry it out on the edges that the target has."""
    replaced = steps.step("replaced", _replaced("source"))
    stand_ins = steps.step("stand_ins", _replaced("target"))
    ours = steps.step("ours", _without_pairs("source", replaced))
    theirs = steps.step("theirs", _without_pairs("target", stand_ins))
    twins = steps.step("twins", pairs_statement(left=_added_only_in(ours, theirs), right=_added_only_in(theirs, ours)))
    changed = steps.step("changed", f"SELECT c.* FROM {ours} c ANTI JOIN {twins} w ON c.id = w.left_id")
    resolved = steps.step("resolved", _resolved(changed, theirs, carried))
    nothing = ", ".join(f"NULL AS {name}" for name in carried)
    return f"""
        SELECT r.* FROM {resolved} r
        ANTI JOIN {stand_ins} i ON r.id = i.left_id AND r.outcome = 'delete'
        UNION ALL
        SELECT i.right_id AS id, 'delete' AS outcome, {nothing} FROM {stand_ins} i
        SEMI JOIN {resolved} r ON r.id = i.left_id AND r.outcome IN ('take', 'delete')
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


def _located(entity: EntityType, resolutions: Mapping[str, Relation]) -> str:
    """Put the resolutions against all bases together, with the target's rows of the same ids."""
    carried = [name for name, _ in LOCATION_FIELDS] + [name for name, _ in key_fields(entity) if name != "id"]
    found = next(iter(resolutions))
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
