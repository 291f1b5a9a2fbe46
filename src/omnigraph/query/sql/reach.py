"""Which nodes a traversal leads to, as a relation of pairs `l` and `r`, and `n`, their hops, where a path asks."""

from collections.abc import Callable

from omnigraph.errors import QueryExecution
from omnigraph.query.sql.dialects import Dialect
from omnigraph.query.typed import Travel, Traversal

HOPS_MAX = 32
"""Each hop is a join with all hops before it: longer statements take a database longer to read than to answer."""

_WAYS = {
    Travel.OUT: ("SELECT src AS l, dst AS r FROM {edges}",),
    Travel.IN: ("SELECT dst AS l, src AS r FROM {edges}",),
    Travel.BOTH: ("SELECT src AS l, dst AS r FROM {edges}", "SELECT dst AS l, src AS r FROM {edges}"),
}


def pair_relations(traversal: Traversal, name: str, dialect: Dialect, table: Callable[[str], str]) -> dict[str, str]:
    """Return the relations, in their order, of which the last has the pairs; `table` is what a type is called."""
    edges = table(traversal.edge.table_key)
    steps = " UNION ".join(way.format(edges=edges) for way in _WAYS[traversal.travel])
    if traversal.hops_max == 1 or traversal.edge.from_type != traversal.edge.to_type:
        # A path cannot go on over an edge between two types.
        nothing = "" if traversal.hops_min == 1 else " WHERE FALSE"
        hops = f", {_hops(1)}" if traversal.path_variable else ""
        return {name: f"SELECT DISTINCT l, r{hops} FROM ({steps}){nothing}"}
    if traversal.hops_max > HOPS_MAX:
        raise QueryExecution(
            f"query: {traversal.edge.name} is followed for up to {traversal.hops_max} hops; in SQL, {HOPS_MAX} are the "
            "most. Leave out the engine, or ask for fewer."
        )
    nodes = table(f"node:{traversal.edge.from_type}")
    step, loops = f"{name}_step", f"{name}_loop"
    made = {
        step: f"SELECT DISTINCT l, r FROM ({steps}) WHERE l <> r",
        loops: f"SELECT DISTINCT src AS id FROM {edges} WHERE src = dst",
        f"{name}_0": f"SELECT id AS l, id AS r FROM {nodes}",
    }
    for hop in range(1, traversal.hops_max + 1):
        seen = " UNION ALL ".join(f"SELECT l, r FROM {name}_{earlier}" for earlier in range(hop))
        made[f"{name}_{hop}"] = (
            f"SELECT n.l, n.r FROM (SELECT DISTINCT p.l, s.r FROM {name}_{hop - 1} p JOIN {step} s ON p.r = s.l) n "
            f"{dialect.anti_join} ({seen}) k ON n.l = k.l AND n.r = k.r"
        )
    low, high = traversal.hops_min, traversal.hops_max
    reached = [f"SELECT l, r, {_hops(hop)} FROM {name}_{hop}" for hop in range(low, high + 1)]
    # A self-loop leads to its node at the hop after the one that found it.
    reached += [
        f"SELECT p.l, p.r, {_hops(hop)} FROM {name}_{hop - 1} p JOIN {loops} o ON p.r = o.id"
        for hop in range(low, high + 1)
    ]
    hops = ", min(n) AS n" if traversal.path_variable else ""
    made[name] = f"SELECT l, r{hops} FROM ({' UNION ALL '.join(reached)}) GROUP BY l, r"
    return made


def _hops(count: int) -> str:
    return f"CAST({count} AS BIGINT) AS n"
