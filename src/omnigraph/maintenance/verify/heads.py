"""The part of a verification that is cheap enough for every look at a graph: what the heads of its branches need.

One listing and one small file per table. Only where something is lost are older versions looked at too, to say what
can still be read.
"""

from collections.abc import Iterator, Sequence

from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.verify.files import FilesToVerify, look_at_table, told_with_what_is_left
from omnigraph.maintenance.verify.lineage import log_problems
from omnigraph.maintenance.verify.pins import gather_pins
from omnigraph.maintenance.verify.report import Problem
from omnigraph.manifest.state import ManifestState


def verify_heads(context: GraphContext, states: Sequence[ManifestState]) -> Iterator[Problem]:
    """Yield what the newest states of some branches, and the log, have lost."""
    objects, uri = context.store.objects, context.store.uri
    pins = gather_pins(states)
    for location, pinned in pins.by_location().items():
        sums = pins.checksums.get(location, {})
        current = [one for one in pinned if one.is_current]
        if not current:
            continue
        seen: FilesToVerify = look_at_table(objects, current, sums, uri, None)
        if seen.harmed:
            now = {problem.file for problem in seen.problems}
            everything = told_with_what_is_left(look_at_table(objects, pinned, sums, uri, None))
            yield from (problem for problem in everything if problem.file in now)
        else:
            yield from seen.problems
    yield from log_problems(context.log, list(states))
