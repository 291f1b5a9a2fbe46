"""Which plans touch little whatever their parameters are, so that whoever runs them need not fear for others."""

from omnigraph.query.plan.reading import searches
from omnigraph.query.plan.steps import Close, Expand, Filter, LookUp, Plan
from omnigraph.query.typed import Travel, Traversal

_HOPS_MAX = 2


def is_point_read(plan: Plan) -> bool:
    """Whether a plan finds one entity by its key and goes at most a few single hops from there, each one way.

    Anything else may be quick with one value and slow with the next. A hop from somebody whom everybody knows may be,
    too, which shows when it is made: `Run.rows_max` is for that.
    """
    steps = plan.steps
    if not steps or not isinstance(steps[0], LookUp):
        return False
    hops = [step for step in steps if isinstance(step, Expand | Close)]
    return (
        all(isinstance(step, LookUp | Expand | Close | Filter) for step in steps)
        and len(hops) <= _HOPS_MAX
        and all(_is_plain(hop.traversal) for hop in hops)
        and not searches(plan.read)
    )


def _is_plain(traversal: Traversal) -> bool:
    return traversal.hops_max == 1 and traversal.own_variable is None and traversal.travel is not Travel.BOTH
