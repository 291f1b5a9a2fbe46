"""Which variables are still read after each step of a plan: what nobody reads again need not be carried along."""

from omnigraph.query.plan.reading import needed_by, read_by_condition
from omnigraph.query.plan.steps import Close, Expand, Filter, LookUp, Negate, Plan, Scan, Step, Weigh


def read_later(plan: Plan) -> tuple[frozenset[str], ...]:
    """Return for every step the variables that later steps, the result or its order read."""
    later = needed_by(plan.read)
    if plan.read.order:
        later |= frozenset(plan.named)  # by whose ids ties are broken
    found: list[frozenset[str]] = []
    for step in reversed(plan.steps):
        found.append(later)
        later |= _read_by_step(step)
    return tuple(reversed(found))


def _read_by_step(step: Step) -> frozenset[str]:
    match step:
        case LookUp():
            return frozenset()
        case Expand():
            return frozenset({step.source})
        case Close():
            return frozenset({step.traversal.left, step.traversal.right})
        case Scan() | Filter():
            return frozenset().union(*map(read_by_condition, step.conditions))
        case Negate() | Weigh():
            return frozenset(step.seeds)
