"""`omnigraph policy validate`, `omnigraph policy test` and `omnigraph policy explain`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli import policy_view
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, read_text_file
from omnigraph.graphs.authorizing import PolicyAction

if TYPE_CHECKING:  # imported when a bundle is read
    from omnigraph.policy.bundle import Bundle
    from omnigraph.policy.engine import PolicyEngine

CallbackT = TypeVar("CallbackT", bound=Callable[..., None])
_DEFAULT_GRAPH = "default"


def policy_option(function: CallbackT) -> CallbackT:
    """Take `--policy`, the bundle that is asked."""
    return click.option("--policy", "path", metavar="FILE", help="The policy bundle, a YAML file (required).")(function)


@command("policy validate", examples=("omnigraph policy validate --policy art.policy.yaml",))
@policy_option
@json_option
def policy_validate(invocation: Invocation, *, path: str | None) -> None:
    """Check a policy bundle: its shape, its names, and that Cedar takes it.

    Ends with 1 when the bundle is not valid. No graph is opened.
    """
    text, name = _read(invocation, path)
    try:
        bundle = _parsed(text, name)
        _engine(invocation, bundle)
        seen = documents.LookedAtBundle(name=name, bundle=bundle)
    except errors.PolicyInvalid as invalid:
        seen = documents.LookedAtBundle(name=name, error=invalid.message)
    invocation.output.show([seen], document=documents.bundles_document, text=policy_view.bundles_text)
    if seen.error is not None:
        raise errors.PolicyInvalid(seen.error)


@command(
    "policy test",
    examples=("omnigraph policy test --policy art.policy.yaml --tests art.policy-tests.yaml",),
)
@policy_option
@click.option("--tests", metavar="FILE", help="What the bundle should decide, case by case; a YAML file (required).")
@json_option
def policy_test(invocation: Invocation, *, path: str | None, tests: str | None) -> None:
    """Compare what a policy bundle decides with what a file of tests expects.

    All cases run. Ends with 1 when one of them got another decision. No graph is opened.
    """
    if tests is None:
        raise errors.Usage("`policy test` needs --tests FILE, what the bundle should decide.", flag="--tests")
    text, name = _read(invocation, path)
    from omnigraph.policy.cases import CaseOutcome, parse_cases

    cases = parse_cases(read_text_file(tests, what="file of policy tests"), source=tests)
    bundle = _parsed(text, name)
    engines = {case.action: _engine(invocation, bundle, case.action) for case in cases}
    outcomes = []
    for case in cases:
        decision = engines[case.action].decide(
            case.action, actor=case.actor, branch=case.branch, target_branch=case.target_branch
        )
        outcomes.append(CaseOutcome(case=case, actual=decision.word, matched_rule=decision.matched_rule))
    invocation.output.show(outcomes, document=documents.policy_tests_document, text=policy_view.policy_tests_text)
    failed = [outcome.case.id for outcome in outcomes if not outcome.is_as_expected]
    if failed:
        raise errors.PolicyTestsFailed(f"{counted(len(failed), 'policy test')} failed: {', '.join(failed)}.")


@command(
    "policy explain",
    examples=(
        "omnigraph policy explain --policy art.policy.yaml --actor act-lee --action change --branch main",
        "omnigraph policy explain --policy art.policy.yaml --actor act-ines --action read --json",
    ),
)
@policy_option
@click.option("--actor", "asked_actor", metavar="ACTOR", help="Who would do it (required).")
@click.option(
    "--action", type=click.Choice([action.value for action in PolicyAction]), help="What they would do (required)."
)
@click.option("--branch", metavar="BRANCH", help="The branch it is done on; of a merge or a new branch, the source.")
@click.option("--target-branch", metavar="BRANCH", help="The branch that is created, deleted or merged into.")
@json_option
def policy_explain(
    invocation: Invocation,
    *,
    path: str | None,
    asked_actor: str | None,
    action: str | None,
    branch: str | None,
    target_branch: str | None,
) -> None:
    """Say what a policy bundle decides about one action of one actor, and by which rule.

    Ends with 0 whatever is decided. No graph is opened.
    """
    if asked_actor is None or not asked_actor.strip():
        raise errors.Usage("`policy explain` needs --actor ACTOR, who would do it.", flag="--actor")
    if action is None:
        raise errors.Usage(
            f"`policy explain` needs --action ACTION, one of {', '.join(PolicyAction)}.", flag="--action"
        )
    text, name = _read(invocation, path)
    decision = _engine(invocation, _parsed(text, name), PolicyAction(action)).decide(
        action, actor=asked_actor, branch=branch, target_branch=target_branch
    )
    invocation.output.show(
        documents.ExplainedDecision(bundle_name=name, decision=decision),
        document=documents.decision_document,
        text=policy_view.decision_text,
    )


def _read(invocation: Invocation, path: str | None) -> tuple[str, str]:
    """Return the text of the bundle and what it is called."""
    if path is None:
        raise errors.Usage(f"`{invocation.command.typed}` needs --policy FILE, a policy bundle.", flag="--policy")
    from omnigraph.policy.engine import bundle_name

    return read_text_file(path, what="policy file"), bundle_name(path)


def _parsed(text: str, name: str) -> "Bundle":
    from omnigraph.policy.reading import parse_bundle

    return parse_bundle(text, name=name)


def _engine(invocation: Invocation, bundle: "Bundle", action: PolicyAction | None = None) -> "PolicyEngine":
    """Make a bundle answer; an empty one answers questions of either kind, with no."""
    from omnigraph.policy.actions import ACTIONS
    from omnigraph.policy.engine import PolicyEngine

    kind = bundle.kind if action is None else ACTIONS[action].kind
    if kind is not bundle.kind and not bundle.fits_both_kinds:
        raise errors.Usage(
            f"No bundle for action {action}: '{bundle.name}' is a {bundle.kind} bundle, and {action} is asked of "
            f"{kind} bundles.",
            flag="--action",
        )
    return PolicyEngine(replace(bundle, kind=kind), invocation.flags.graph or _DEFAULT_GRAPH)
