"""Policy bundles that were looked at, the tests of one, and a decision that was explained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.base.values import Json, dataclass

if TYPE_CHECKING:
    from omnigraph.policy.bundle import Bundle
    from omnigraph.policy.cases import CaseOutcome
    from omnigraph.policy.decisions import PolicyDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAtBundle:
    """A bundle as far as it could be read: it is there, or else there is an error."""

    name: str
    bundle: "Bundle | None" = None
    applies_to: tuple[str, ...] = ()
    """The graphs that it is bound to; nothing for a file that nobody has bound."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDecision:
    """A decision, and the bundle that made it."""

    bundle_name: str
    decision: "PolicyDecision"


def bundles_document(bundles: Sequence[LookedAtBundle]) -> Json:
    """Describe bundles, good and bad."""
    return {"ok": all(seen.error is None for seen in bundles), "bundles": [_bundle(seen) for seen in bundles]}


def _bundle(seen: LookedAtBundle) -> Json:
    bundle = seen.bundle
    return {
        "name": seen.name,
        "kind": None if bundle is None else bundle.kind.value,
        "applies_to": list(seen.applies_to),
        "actors": None if bundle is None else len(bundle.actors),
        "rules": None if bundle is None else len(bundle.rules),
        "error": seen.error,
    }


def policy_tests_document(outcomes: "Sequence[CaseOutcome]") -> Json:
    """Describe what every case of a test file came to."""
    passed = sum(outcome.is_as_expected for outcome in outcomes)
    return {
        "ok": passed == len(outcomes),
        "passed": passed,
        "failed": len(outcomes) - passed,
        "cases": [
            {
                "id": outcome.case.id,
                "expected": outcome.case.expect.value,
                "actual": outcome.actual,
                "matched_rule": outcome.matched_rule,
            }
            for outcome in outcomes
        ],
    }


def decision_document(explained: ExplainedDecision) -> Json:
    """Describe a decision."""
    decision = explained.decision
    return {
        "decision": decision.word,
        "actor": decision.actor,
        "action": decision.action.value,
        "branch": decision.branch,
        "target_branch": decision.target_branch,
        "matched_rule": decision.matched_rule,
        "bundle": explained.bundle_name,
        "message": decision.message,
    }
