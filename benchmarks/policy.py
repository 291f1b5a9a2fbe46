"""What asking costs: decisions of a bundle with many rules, one after the other, in one thread."""

import time
from pathlib import Path

from benchmarks.figures import Figure
from omnigraph import PolicyEngine

_DECISIONS = 10_000
_GROUPS, _ACTORS = 20, 250
_GOAL = 1.0


def measure(directory: Path) -> list[Figure]:
    """Time decisions about actors of all groups, half of them denied: all different, then all asked before."""
    del directory
    engine = PolicyEngine.from_source(_bundle(), "artworks")
    what = f"{_DECISIONS:,} policy decisions, {_GROUPS * 2} rules for {_GROUPS * _ACTORS:,} actors"
    return [_figure(f"{what}, all different", engine), _figure(f"{what}, asked before", engine)]


def _figure(what: str, engine: PolicyEngine) -> Figure:
    questions = [(f"act-{number // 2}", "draft" if number % 2 else "main") for number in range(_DECISIONS)]
    began, busy = time.perf_counter(), time.process_time()
    allowed = sum(engine.decide("change", actor=actor, branch=branch).is_allowed for actor, branch in questions)
    took, busy = time.perf_counter() - began, time.process_time() - busy
    if allowed != _DECISIONS // 2:
        raise AssertionError(f"{allowed} of {_DECISIONS} decisions were allowed")
    return Figure(what=what, ours=took, goal=_GOAL, note=f"{busy * 1000:.0f} ms of processor")


def _bundle() -> str:
    groups, rules = [], []
    for group in range(_GROUPS):
        actors = ", ".join(f"act-{group * _ACTORS + number}" for number in range(_ACTORS))
        groups.append(f"  group-{group}: [{actors}]")
        for rule, grant in (
            ("write", "actions: [read, change], branch_scope: unprotected"),
            ("merge", "actions: [branch_create, branch_merge], target_branch_scope: any"),
        ):
            allow = f"{{ actors: {{ group: group-{group} }}, {grant} }}"
            rules.append(f"  - {{ id: {rule}-{group}, allow: {allow} }}")
    return "\n".join(["version: 1", "protected_branches: [main]", "groups:", *groups, "rules:", *rules])
