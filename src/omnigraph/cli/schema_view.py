"""Schema changes as text."""

from typing import TYPE_CHECKING

from omnigraph.cli.output import Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.catalog.migration import MigrationStep
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema


def plan_text(plan: "SchemaPlan") -> Text:
    """Say whether the plan can be applied, then one line per step."""
    return [f"supported: {'yes' if plan.supported else 'no'}", *_step_lines(plan.steps)]


def applied_text(result: "AppliedSchema") -> Text:
    """Say what was done, step by step."""
    if not result.applied:
        return ["nothing to apply: the graph has this schema already, so there is no new commit"]
    count = len(result.steps)
    return [
        f"applied {count} {'step' if count == 1 else 'steps'} as graph version {result.graph_version}",
        *_step_lines(result.steps),
    ]


def _step_lines(steps: "tuple[MigrationStep, ...]") -> list[str]:
    from omnigraph.catalog.migration import describe_step

    return [f"- {describe_step(step)}" for step in steps] or ["- nothing to do"]
