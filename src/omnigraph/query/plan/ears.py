"""Parts of a pattern of which only the number of solutions matters: they hang on one variable, like ears.

`$s: Sailor  $s mentors $x  $x servesOn $h`, counted by `$s.rank`, needs no list of pupils and ships: each sailor stands
for as many rows as there are ways through `$x` to `$h`, and those are counted from the outside in, hop by hop. This is
what makes aggregates over several hops cost as much as the edges there are, and not as much as the paths.
"""

from collections.abc import Callable, Iterable, Mapping

from omnigraph.base.values import dataclass
from omnigraph.query.plan.clauses import Clause, Clauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Ear:
    """Variables of nodes and clauses that are connected with the rest through one variable only."""

    root: str
    """The one of its nodes that is connected with the rest."""
    nodes: frozenset[str]
    clauses: Clauses


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What remains of a pattern without its ears, and the ears by the variable on which they hang."""

    nodes: tuple[str, ...]
    clauses: Clauses
    ears: Mapping[str, tuple[Ear, ...]]


def without_ears(
    nodes: Iterable[str],
    clauses: Clauses,
    *,
    kept: frozenset[str],
    is_cheaper: Callable[[str, str, Iterable[Clause]], bool],
) -> Head:
    """Take away, from the outside in, all nodes that are not kept and are connected with one other node.

    `is_cheaper(inner, outer, clauses)` says whether counting the solutions of the outer node for each inner one costs
    less than starting at the outer one.
    """
    remaining = list(nodes)
    active = list(clauses)
    # An edge that is kept is as good as a node: what is connected with it stays.
    all_nodes = frozenset(nodes) | kept
    ears: dict[str, list[Ear]] = {}
    has_changed = True
    while has_changed:
        has_changed = False
        for outer in [*remaining]:
            if outer in kept:
                continue
            own = [clause for clause in active if outer in clause.variables]
            own = _with_edges(own, active, all_nodes)
            seen = frozenset[str]().union(*(clause.variables for clause in own))
            others = (seen & all_nodes) - {outer}
            if len(others) != 1 or not _is_private(own, active, seen - all_nodes):
                continue
            (inner,) = others
            if not is_cheaper(inner, outer, own):
                continue
            hanging = ears.pop(outer, [])
            whole = Ear(
                root=outer,
                nodes=frozenset({outer}).union(*(ear.nodes for ear in hanging)),
                clauses=(*own, *(clause for ear in hanging for clause in ear.clauses)),
            )
            ears.setdefault(inner, []).append(whole)
            remaining.remove(outer)
            active = [clause for clause in active if clause not in own]
            has_changed = True
    return Head(
        nodes=tuple(remaining),
        clauses=tuple(active),
        ears={variable: tuple(found) for variable, found in ears.items()},
    )


def _with_edges(own: list[Clause], active: list[Clause], all_nodes: frozenset[str]) -> list[Clause]:
    """Add the clauses about the edges that the clauses bind."""
    edges = frozenset[str]().union(*(clause.variables for clause in own)) - all_nodes
    return own + [clause for clause in active if clause not in own and clause.variables & edges]


def _is_private(own: list[Clause], active: list[Clause], edges: frozenset[str]) -> bool:
    """Whether no other clause asks about the edges."""
    return not any(clause.variables & edges for clause in active if clause not in own)


def components(nodes: Iterable[str], clauses: Clauses) -> list[tuple[frozenset[str], Clauses]]:
    """Split variables into those that clauses connect, each with its clauses; a clause without variables has none."""
    groups: list[tuple[frozenset[str], Clauses]] = [(frozenset({node}), ()) for node in nodes]
    for clause in clauses:
        if not clause.variables:
            continue
        touched = [group for group in groups if group[0] & clause.variables]
        merged = clause.variables.union(*(group[0] for group in touched))
        said = (*(each for group in touched for each in group[1]), clause)
        groups = [group for group in groups if group not in touched] + [(merged, said)]
    return groups
