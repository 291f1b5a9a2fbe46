"""What becomes of every entity of one table, as SQL: the truth table over the changes of both sides.

The same rules as for small merges (`resolution.py`, `edges.py`), with digests in the place of images. Workers cut the
rows of all sides by id and resolve bucket by bucket. What comes out stays in the scratch (`outcomes.py`).

Edges take more stages, because equal ones may have different ids: what was added and what was removed is cut by digest,
matched there, and the pairs are cut by id again. Stages that have nothing to look at are left out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.branches.merge.bulk.comparing import SIDES, Compared, Side
from omnigraph.branches.merge.bulk.outcomes import CARRIED_ROWS, carried_columns, settled
from omnigraph.branches.merge.edges import pairs_statement
from omnigraph.branches.merge.resolution import outcome_expression
from omnigraph.catalog.model import Catalog, EdgeType, TableKey
from omnigraph.changes.compare import changes_statement
from omnigraph.writes.exchange.stages import Exchange, Kept, Query, Step

_CHANGES, _DIGESTS, _PAIRED, _TWINS, _TWINNED, _DECIDED = "changes", "digests", "paired", "twins", "twinned", "decided"
_IDS = pa.schema([("id", pa.string())])
_PAIRS = pa.schema([("left_id", pa.string()), ("right_id", pa.string())])
_NO_CHANGES = (
    "SELECT CAST('' AS VARCHAR) AS id, CAST('' AS VARCHAR) AS op, CAST('' AS BLOB) AS was, CAST('' AS BLOB) AS digest "
    "WHERE false"
)


def resolve(exchange: Exchange, catalog: Catalog, tables: list[Compared]) -> pa.Table:
    """Resolve all tables, whose rows are read; return how many entities of each have which outcome."""
    places = {compared.entity.table_key: place for place, compared in enumerate(tables)}
    nodes = [compared for compared in tables if not isinstance(compared.entity, EdgeType)]
    edges = [compared for compared in tables if isinstance(compared.entity, EdgeType)]
    finishing = _Finishing(catalog=catalog, places=places)
    steps = [_resolved_nodes(compared, finishing) for compared in nodes]
    answers = exchange.run([CARRIED_ROWS], [*steps, *map(_changes_step, edges)])
    counts = [answers["counts"]] if nodes else []
    if edges:
        counts.append(_resolve_edges(exchange, edges, finishing, answers["ops"]))
    return pa.concat_tables(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finishing:
    catalog: Catalog
    places: Mapping[TableKey, int]

    def queries(self, compared: Compared, resolutions: list[str]) -> tuple[Query, ...]:
        return settled(compared.entity, self.catalog, resolutions, place=self.places[compared.entity.table_key])


def _named(compared: Compared, *whats: str) -> dict[str, str]:
    """Return the relations of both sides against all bases, by what a statement calls them."""
    return {
        compared.relation(side, base, what).removeprefix(f"{compared.number}_"): compared.relation(side, base, what)
        for base in range(compared.bases)
        for side in compared.compared_sides()
        for what in whats
    }


def _changes(compared: Compared, side: Side, base: int) -> Query:
    """Find what a side did since a base: `(id, op, was, digest)` and what is carried along of its rows."""
    name = f"{side}{base}"
    if side not in compared.compared_sides():
        return Query(name=name, text=_NO_CHANGES)
    before, after = f"{name}_before", f"{name}_after"
    carried = carried_columns(compared.entity) if side == "source" else []
    listed = [f"{before}.digest AS was", f"{after}.digest AS digest", *(f"{after}.{column}" for column in carried)]
    return Query(name=name, text=changes_statement(before=before, after=after, columns=", ".join(listed)))


def _resolved_nodes(compared: Compared, finishing: _Finishing) -> Step:
    queries, resolutions = [], []
    for base in range(compared.bases):
        queries += [_changes(compared, side, base) for side in SIDES]
        text = _resolved(f"source{base}", f"target{base}", carried_columns(compared.entity))
        queries.append(Query(name=f"decided{base}", text=text))
        resolutions.append(f"decided{base}")
    return Step(
        relations={**_named(compared, "before", "after"), "stored": f"{compared.number}_stored"},
        queries=(*queries, *finishing.queries(compared, resolutions)),
    )


def _resolved(source: str, target: str, carried: list[str]) -> str:
    columns = ", ".join(f"s.{name}" for name in carried)
    outcome = outcome_expression(are_equal="s.digest = t.digest")
    return f"""
        SELECT * FROM (
            SELECT s.id, {outcome} AS outcome, {columns} FROM {source} s LEFT JOIN {target} t ON s.id = t.id
        ) WHERE outcome IS NOT NULL
    """


def _changes_step(compared: Compared) -> Step:
    """Find the changes of an edge table and, cut by digest, what was added and removed."""
    queries = []
    for base in range(compared.bases):
        for side in SIDES:
            name, changes = f"{side}{base}", _changes(compared, side, base)
            kept = Kept(relation=compared.relation(side, base), shelf=_CHANGES)
            queries.append(Query(name=name, text=changes.text, keeps=(kept,)))
            for what, digest, op in (("removed", "was", "delete"), ("added", "digest", "insert")):
                kept = Kept(relation=compared.relation(side, base, what), shelf=_DIGESTS, by=("digest",))
                text = f"SELECT id, {digest} AS digest FROM {name} WHERE op = '{op}'"
                queries.append(Query(name=f"{name}_{what}", text=text, keeps=(kept,)))
            counted = f"SELECT '{compared.number}' AS edge, {base} AS base, '{side}' AS side, op, count(*) AS changes"
            queries.append(Query(name="ops", text=f"{counted} FROM {name} GROUP BY op", is_answer=True))
        queries += _only_added(compared, base, f"source{base}", f"target{base}")
    return Step(relations=_named(compared, "before", "after"), queries=tuple(queries))


def _only_added(compared: Compared, base: int, ours: str, theirs: str) -> Iterator[Query]:
    """Cut what only one side added by digest, to find what is the same under different ids."""
    for side, mine, others in (("source", ours, theirs), ("target", theirs, ours)):
        relation = f"{compared.number}_{side}{base}_only"
        yield Query(
            name=f"{side}{base}_only",
            text=(
                f"SELECT a.id, a.digest FROM {mine} a "
                f"ANTI JOIN (SELECT id FROM {others} WHERE op = 'insert') b ON a.id = b.id WHERE a.op = 'insert'"
            ),
            keeps=(Kept(relation=relation, shelf=_TWINS, by=("digest",)),),
        )


def _resolve_edges(exchange: Exchange, edges: list[Compared], finishing: _Finishing, ops: pa.Table) -> pa.Table:
    counted: defaultdict[tuple[str, int, str, str], int] = defaultdict(int)
    for row in ops.to_pylist():
        counted[row["edge"], row["base"], row["side"], row["op"]] += row["changes"]
    replaced = {
        compared.relation(side, base)
        for compared in edges
        for base in range(compared.bases)
        for side in SIDES
        if counted[compared.number, base, side, "delete"] and counted[compared.number, base, side, "insert"]
    }
    has_twins = any(
        all(counted[compared.number, base, side, "insert"] for side in SIDES)
        for compared in edges
        for base in range(compared.bases)
    )
    for compared in edges:
        exchange.declare(
            {f"{compared.relation(side, n)}_paired": _IDS for n in range(compared.bases) for side in SIDES}
        )
        exchange.declare({f"{compared.number}_target{base}_stand_ins": _PAIRS for base in range(compared.bases)})
        exchange.declare({f"{compared.number}_source{base}_twins": _PAIRS for base in range(compared.bases)})
    if replaced:
        exchange.run([_DIGESTS], [step for compared in edges for step in _pairs_steps(compared, replaced)])
        exchange.forget(_TWINS)
        exchange.run([_CHANGES, _PAIRED], [_unpaired_step(compared) for compared in edges])
    if has_twins:
        exchange.run([_TWINS], [step for compared in edges for step in _twins_steps(compared)])
    has_stand_ins = any("_target" in relation for relation in replaced)
    shelves = [_CHANGES, _PAIRED, _TWINNED, CARRIED_ROWS]
    if not has_stand_ins:
        return exchange.run(shelves, [_decided_step(compared, finishing) for compared in edges])["counts"]
    exchange.run(shelves, [_decided_step(compared, None) for compared in edges])
    return exchange.run([_DECIDED, CARRIED_ROWS], [_settled_step(compared, finishing) for compared in edges])["counts"]


def _pairs_steps(compared: Compared, replaced: set[str]) -> Iterator[Step]:
    """Pair the edges that a side removed with equal ones that it added."""
    for base in range(compared.bases):
        for side in SIDES:
            relation = compared.relation(side, base)
            if relation not in replaced:
                continue
            stand_ins = Kept(relation=f"{relation}_stand_ins", shelf=_PAIRED, by=("left_id",))
            paired = Kept(relation=f"{relation}_paired", shelf=_PAIRED, by=("id",))
            yield Step(
                relations={"removed": f"{relation}_removed", "added": f"{relation}_added"},
                queries=(
                    Query(
                        name="pairs",
                        text=pairs_statement(left="removed", right="added"),
                        keeps=(stand_ins,) if side == "target" else (),
                    ),
                    Query(
                        name="paired",
                        text="SELECT left_id AS id FROM pairs UNION ALL SELECT right_id FROM pairs",
                        keeps=(paired,),
                    ),
                ),
            )


def _without_pairs(compared: Compared) -> Iterator[Query]:
    """Leave out of the changes what changes no relationship."""
    for base in range(compared.bases):
        for side in SIDES:
            name = f"{side}{base}"
            text = f"SELECT c.* FROM {name} c ANTI JOIN {name}_paired p ON c.id = p.id"
            yield Query(name=f"{name}_changed", text=text)


def _changed_relations(compared: Compared) -> dict[str, str]:
    return {
        f"{side}{base}{what}": f"{compared.relation(side, base)}{what}"
        for base in range(compared.bases)
        for side in SIDES
        for what in ("", "_paired")
    }


def _unpaired_step(compared: Compared) -> Step:
    queries = list(_without_pairs(compared))
    for base in range(compared.bases):
        queries += _only_added(compared, base, f"source{base}_changed", f"target{base}_changed")
    return Step(relations=_changed_relations(compared), queries=tuple(queries))


def _twins_steps(compared: Compared) -> Iterator[Step]:
    """Find what the source added and the target has added too."""
    for base in range(compared.bases):
        twins = Kept(relation=f"{compared.number}_source{base}_twins", shelf=_TWINNED, by=("left_id",))
        yield Step(
            relations={
                "ours": f"{compared.number}_source{base}_only",
                "theirs": f"{compared.number}_target{base}_only",
            },
            queries=(Query(name="twins", text=pairs_statement(left="ours", right="theirs"), keeps=(twins,)),),
        )


def _decided_step(compared: Compared, finishing: _Finishing | None) -> Step:
    """Resolve what is left; without `finishing`, what was resolved for base edges must still reach their stand-ins."""
    carried, queries = carried_columns(compared.entity), list(_without_pairs(compared))
    relations = {**_changed_relations(compared), "stored": f"{compared.number}_stored"}
    for base in range(compared.bases):
        relations[f"twins{base}"] = f"{compared.number}_source{base}_twins"
        relations[f"stand_ins{base}"] = f"{compared.number}_target{base}_stand_ins"
        new = f"SELECT c.* FROM source{base}_changed c ANTI JOIN twins{base} w ON c.id = w.left_id"
        queries.append(Query(name=f"new{base}", text=new))
        decided = _resolved(f"new{base}", f"target{base}_changed", carried)
        queries.append(Query(name=f"decided{base}", text=decided))
        if finishing is None:
            queries += _on_stand_ins(compared, base)
    if finishing is not None:
        queries += finishing.queries(compared, [f"decided{base}" for base in range(compared.bases)])
    return Step(relations=relations, queries=tuple(queries))


def _on_stand_ins(compared: Compared, base: int) -> Iterator[Query]:
    """Carry out on the edges that the target has what was resolved for the equal ones that they stand for."""
    decided, stand_ins = f"decided{base}", f"stand_ins{base}"
    yield Query(
        name=f"kept{base}",
        text=f"SELECT r.* FROM {decided} r ANTI JOIN {stand_ins} i ON r.id = i.left_id AND r.outcome = 'delete'",
        keeps=(Kept(relation=f"{compared.number}_kept{base}", shelf=_DECIDED),),
    )
    yield Query(
        name=f"gone{base}",
        text=(
            f"SELECT i.right_id AS id FROM {stand_ins} i "
            f"SEMI JOIN {decided} r ON r.id = i.left_id AND r.outcome IN ('take', 'delete')"
        ),
        keeps=(Kept(relation=f"{compared.number}_gone{base}", shelf=_DECIDED, by=("id",)),),
    )


def _settled_step(compared: Compared, finishing: _Finishing) -> Step:
    carried = carried_columns(compared.entity)
    nothing = ", ".join(f"NULL AS {name}" for name in carried)
    relations, queries = {"stored": f"{compared.number}_stored"}, []
    for base in range(compared.bases):
        relations |= {f"{what}{base}": f"{compared.number}_{what}{base}" for what in ("kept", "gone")}
        text = (
            f"SELECT id, outcome, {', '.join(carried)} FROM kept{base} UNION ALL "
            f"SELECT id, 'delete' AS outcome, {nothing} FROM gone{base}"
        )
        queries.append(Query(name=f"decided{base}", text=text))
    resolutions = [f"decided{base}" for base in range(compared.bases)]
    return Step(relations=relations, queries=(*queries, *finishing.queries(compared, resolutions)))
