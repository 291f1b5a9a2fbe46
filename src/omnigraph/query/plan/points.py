"""Which plans touch little whatever their parameters are, so that whoever runs them need not fear for others."""

from omnigraph.query.plan.reading import searches
from omnigraph.query.plan.steps import Close, Expand, Filter, LookUp, Plan

_HOPS_MAX = 2


def is_point_read(plan: Plan) -> bool:
    """Whether a plan finds one entity by its key and goes at most a few single hops from there.

    Anything else may be quick with one value and slow with the next.
    """
    steps = plan.steps
    if not steps or not isinstance(steps[0], LookUp):
        return False
    hops = [step for step in steps if isinstance(step, Expand | Close)]
    return (
        all(isinstance(step, LookUp | Expand | Close | Filter) for step in steps)
        and len(hops) <= _HOPS_MAX
        and all(hop.traversal.hops_max == 1 for hop in hops)
        and not searches(plan.read)
    )
