"""Policy bundles, their tests and decisions, as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.base.units import counted
from omnigraph.cli.output import Text

if TYPE_CHECKING:
    from omnigraph.documents.policies import ExplainedDecision, LookedAtBundle
    from omnigraph.policy.cases import CaseOutcome


def bundles_text(bundles: "Sequence[LookedAtBundle]") -> Text:
    """Say of each bundle what it is, or what is wrong with it."""
    return [_bundle_line(seen) for seen in bundles]


def _bundle_line(seen: "LookedAtBundle") -> str:
    bundle = seen.bundle
    if bundle is None:
        return f"policy invalid: {(seen.error or '').removeprefix('policy ')}"
    numbers = f"{counted(len(bundle.actors), 'actor')}, {counted(len(bundle.rules), 'rule')}"
    return f"policy valid: bundle '{seen.name}' ({bundle.kind}, {numbers})"


def policy_tests_text(outcomes: "Sequence[CaseOutcome]") -> Text:
    """Name the cases that got another answer than they expect, or say that there is none."""
    lines = [_mismatch_line(outcome) for outcome in outcomes if not outcome.is_as_expected]
    return lines or [f"policy tests passed: {counted(len(outcomes), 'case')}"]


def _mismatch_line(outcome: "CaseOutcome") -> str:
    rule = f" (rule {outcome.matched_rule})" if outcome.matched_rule is not None else ""
    return f"{outcome.case.id}: expected {outcome.case.expect}, got {outcome.actual}{rule}"


def decision_text(explained: "ExplainedDecision") -> Text:
    """Say what was decided, and why."""
    decision = explained.decision
    facts = {
        "decision": decision.word,
        "actor": decision.actor,
        "action": decision.action.value,
        "branch": decision.branch,
        "target_branch": decision.target_branch,
        "matched_rule": decision.matched_rule,
        "message": decision.message,
    }
    return [f"{name}: {fact}" for name, fact in facts.items() if fact is not None]
