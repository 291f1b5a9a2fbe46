"""From a checked read to a plan: where to start, which way to go, and what need only be counted.

The next step is always the one that is expected to leave the fewest rows: a key first, then checks of what is bound
already, then the smallest expansion. Rows of a read that groups, and of a negation, are counted rather than listed
wherever nothing but their number is asked for (`ears.py`).
"""

from collections.abc import Iterable

from omnigraph.catalog.model import NodeType
from omnigraph.query.plan.clauses import Clause, Clauses, clauses_of, conditions_on, key_of
from omnigraph.query.plan.ears import components, without_ears
from omnigraph.query.plan.estimates import Counts, entities_passing, fan_out, pair_share, share_passing
from omnigraph.query.plan.reading import NOTHING, free_variables, needed_by
from omnigraph.query.plan.steps import Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.typed import CheckedRead, Condition, Pattern, TextMatch, Traversal

_NEGATION_SHARE = 0.5
_ANONYMOUS = "#"
"""What the name of a `$_` has and no other name can."""


def named_variables(pattern: Pattern) -> tuple[str, ...]:
    """Return the variables that have a name and an id, in the order of the names: by their ids ties are broken."""
    return tuple(sorted(name for name in (*pattern.nodes, *pattern.edges) if _ANONYMOUS not in name))


def plan_read(read: CheckedRead, counts: Counts) -> Plan:
    """Choose the steps that answer a read; `counts` makes them fast, not right."""
    pattern = read.pattern
    nodes = dict(pattern.nodes)
    clauses = clauses_of(pattern)
    named = named_variables(pattern)
    planning = _Planning(nodes, counts)
    if read.is_aggregate:
        steps = planning.counted(tuple(nodes), clauses, bound=frozenset(), kept=needed_by(read), rows=1.0)
    else:
        steps = planning.listed(tuple(nodes), clauses, bound=frozenset(), rows=1.0)
    return Plan(read=read, steps=steps, named=named)


class _Planning:
    """One pattern, or a part of it, while steps are chosen for it."""

    def __init__(self, nodes: dict[str, NodeType], counts: Counts) -> None:
        self._nodes = nodes
        self._counts = counts

    def counted(
        self, nodes: tuple[str, ...], clauses: Clauses, *, bound: frozenset[str], kept: frozenset[str], rows: float
    ) -> tuple[Step, ...]:
        """Plan rows of which the kept variables are read, and of everything else only how often it occurs."""
        if nodes and not (kept | bound):
            kept |= {self._smallest(nodes, clauses)}
        apart = [group for group in components((*nodes, *bound), clauses) if not group[0] & (kept | bound)]
        for variables, said in apart:
            nodes = tuple(name for name in nodes if name not in variables)
            clauses = tuple(clause for clause in clauses if clause not in said)
        head = without_ears(nodes, clauses, kept=kept | bound, is_cheaper=self._is_cheaper)
        steps = self._choose(head.nodes, head.clauses, bound, rows)
        for variables, said in apart:
            inside = tuple(name for name in variables if name in self._nodes)
            steps.append(self._weigh((), self.counted(inside, said, bound=NOTHING, kept=NOTHING, rows=1.0), steps))
        for variable, ears in head.ears.items():
            seed = frozenset({variable})
            for ear in ears:
                inner = self.counted(
                    tuple(sorted(ear.nodes)), ear.clauses, bound=seed, kept=seed | {ear.root}, rows=1.0
                )
                steps.append(self._weigh((variable,), inner, steps))
        return tuple(steps)

    def listed(
        self, nodes: tuple[str, ...], clauses: Clauses, *, bound: frozenset[str], rows: float
    ) -> tuple[Step, ...]:
        """Plan rows in which every variable has its value."""
        return tuple(self._choose(nodes, clauses, bound, rows))

    # --- what is only counted

    @staticmethod
    def _weigh(seeds: tuple[str, ...], inner: tuple[Step, ...], before: list[Step]) -> Weigh:
        return Weigh(seeds=seeds, steps=inner, estimate=before[-1].estimate if before else 1.0)

    def _is_cheaper(self, inner: str, outer: str, clauses: Iterable[Clause]) -> bool:
        reached = self._passing(outer, clauses)
        for clause in clauses:
            if isinstance(clause.says, Traversal):
                reached *= max(fan_out(clause.says, outer, self._nodes, self._counts), 1e-3)
                break
        return reached >= min(self._counts(self._nodes[inner]), 1_000) * 0.5

    # --- the order of the rest

    def _choose(self, nodes: tuple[str, ...], clauses: Clauses, bound: frozenset[str], rows: float) -> list[Step]:
        steps: list[Step] = []
        pending = list(clauses)
        missing = [name for name in nodes if name not in bound]
        while True:
            rows, bound = self._check_bound(steps, pending, bound, rows)
            if not missing:
                return steps
            step = self._look_up(missing, pending) or self._next(missing, pending, bound, rows)
            rows = rows if isinstance(step, LookUp) else step.estimate
            steps.append(step)
            bound |= self._bound_by(step)
            missing = [name for name in missing if name not in bound]

    @staticmethod
    def _bound_by(step: Step) -> frozenset[str]:
        if isinstance(step, Expand):
            own = step.traversal.own_variable
            return frozenset({step.target} | ({own} if own else set()))
        assert isinstance(step, LookUp | Scan)
        return frozenset({step.variable})

    def _look_up(self, missing: list[str], pending: list[Clause]) -> LookUp | None:
        for variable in missing:
            for clause in conditions_on(variable, pending):
                found = key_of(clause, variable)
                if found is not None:
                    pending.remove(clause)
                    return LookUp(variable=variable, entity=self._nodes[variable], property=found[0], key=found[1])
        return None

    def _next(self, missing: list[str], pending: list[Clause], bound: frozenset[str], rows: float) -> Step:
        expansions = [
            (clause, step)
            for clause in pending
            if isinstance(clause.says, Traversal) and (step := self._expansion(clause.says, bound, pending, rows))
        ]
        if expansions:
            clause, chosen = min(expansions, key=lambda found: found[1].estimate)
            pending.remove(clause)
            # What the step itself leaves; the conditions on its target are the next step.
            share = fan_out(chosen.traversal, chosen.source, self._nodes, self._counts)
            return Expand(traversal=chosen.traversal, source=chosen.source, target=chosen.target, estimate=rows * share)
        variable = self._smallest(missing, pending)
        conditions = conditions_on(variable, pending)
        for clause in conditions:
            pending.remove(clause)
        said = tuple(clause.says for clause in conditions if isinstance(clause.says, Condition | TextMatch))
        estimate = rows * entities_passing(self._nodes[variable], said, self._counts)
        return Scan(variable=variable, entity=self._nodes[variable], conditions=said, estimate=estimate)

    def _expansion(
        self, traversal: Traversal, bound: frozenset[str], pending: list[Clause], rows: float
    ) -> Expand | None:
        ends = (traversal.left, traversal.right)
        source = next((end for end in ends if end in bound), None)
        target = next((end for end in ends if end not in bound), None)
        if source is None or target is None:
            return None
        estimate = rows * fan_out(traversal, source, self._nodes, self._counts)
        for clause in conditions_on(target, pending):
            assert isinstance(clause.says, Condition | TextMatch)
            estimate *= share_passing(clause.says, self._counts)
        return Expand(traversal=traversal, source=source, target=target, estimate=estimate)

    def _check_bound(
        self, steps: list[Step], pending: list[Clause], bound: frozenset[str], rows: float
    ) -> tuple[float, frozenset[str]]:
        """Check what can be checked: conditions, then connections, then negations, which cost the most."""
        ready = [clause for clause in pending if _is_ready(clause, bound)]
        while ready:
            conditions = [clause for clause in ready if isinstance(clause.says, Condition | TextMatch)]
            if conditions:
                said = tuple(clause.says for clause in conditions if isinstance(clause.says, Condition | TextMatch))
                for condition in said:
                    rows *= share_passing(condition, self._counts)
                steps.append(Filter(conditions=said, estimate=rows))
                done = conditions
            else:
                clause = min(ready, key=lambda found: isinstance(found.says, Pattern))
                if isinstance(clause.says, Traversal):
                    rows *= pair_share(clause.says, self._nodes, self._counts)
                    steps.append(Close(traversal=clause.says, estimate=rows))
                    bound |= clause.variables
                elif isinstance(clause.says, Pattern):
                    rows *= _NEGATION_SHARE
                    steps.append(self._negation(clause.says, rows))
                done = [clause]
            for clause in done:
                pending.remove(clause)
            ready = [clause for clause in pending if _is_ready(clause, bound)]
        return rows, bound

    def _negation(self, pattern: Pattern, rows: float) -> Negate:
        seeds = free_variables(pattern)
        nodes = {**self._nodes, **pattern.nodes}
        inner = _Planning(nodes, self._counts)
        steps = inner.counted(tuple(pattern.nodes), clauses_of(pattern), bound=seeds, kept=seeds, rows=1.0)
        names = tuple(sorted(seeds))
        if len(steps) == 1 and isinstance(steps[0], Weigh) and steps[0].seeds == names:
            # Whether anything is found, and not how much: there is nothing to weigh.
            steps = steps[0].steps
        return Negate(seeds=names, steps=steps, estimate=rows)

    def _smallest(self, variables: Iterable[str], clauses: Iterable[Clause]) -> str:
        return min(variables, key=lambda variable: self._passing(variable, clauses))

    def _passing(self, variable: str, clauses: Iterable[Clause]) -> float:
        conditions = conditions_on(variable, clauses)
        said = [clause.says for clause in conditions if isinstance(clause.says, Condition | TextMatch)]
        return entities_passing(self._nodes[variable], said, self._counts)


def _is_ready(clause: Clause, bound: frozenset[str]) -> bool:
    if isinstance(clause.says, Traversal):
        return {clause.says.left, clause.says.right} <= bound
    return clause.variables <= bound
