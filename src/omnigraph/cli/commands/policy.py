"""`omnigraph policy validate`, `omnigraph policy test` and `omnigraph policy explain`."""

from collections.abc import Callable
from typing import TypeVar

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli import policy_view
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, read_text_file
from omnigraph.cli.policy_source import policies_of
from omnigraph.graphs.authorizing import PolicyAction

CallbackT = TypeVar("CallbackT", bound=Callable[..., None])


def policy_option(function: CallbackT) -> CallbackT:
    """Take `--policy`, a bundle that is in no cluster."""
    return click.option(
        "--policy", "path", metavar="FILE", help="A policy bundle, a YAML file, instead of those of a cluster."
    )(function)


@command("policy validate", examples=("omnigraph policy validate --policy art.policy.yaml",))
@policy_option
@json_option
def policy_validate(invocation: Invocation, *, path: str | None) -> None:
    """Check policy bundles: their shape, their names, and that Cedar takes them.

    With --cluster these are the bundles that were applied to the cluster, all of them, or with --graph the one that is
    bound to a graph. Ends with 1 when one is not valid. No graph is opened.
    """
    bundles = [policy.looked_at() for policy in policies_of(invocation, path).all()]
    invocation.output.show(bundles, document=documents.bundles_document, text=policy_view.bundles_text)
    problems = [seen.error for seen in bundles if seen.error is not None]
    if problems:
        raise errors.PolicyInvalid(" ".join(problems))


@command(
    "policy test",
    examples=("omnigraph policy test --policy art.policy.yaml --tests art.policy-tests.yaml",),
)
@policy_option
@click.option("--tests", metavar="FILE", help="What the bundle should decide, case by case; a YAML file (required).")
@json_option
def policy_test(invocation: Invocation, *, path: str | None, tests: str | None) -> None:
    """Compare what policy bundles decide with what a file of tests expects.

    With --cluster, questions about the server go to the bundle of the cluster, others to that of --graph, or to the
    only one that a graph has. All cases run. Ends with 1 when one of them got another decision. No graph is opened.
    """
    if tests is None:
        raise errors.Usage("`policy test` needs --tests FILE, what the bundle should decide.", flag="--tests")
    policies = policies_of(invocation, path)
    from omnigraph.policy.cases import CaseOutcome, parse_cases

    cases = parse_cases(read_text_file(tests, what="file of policy tests"), source=tests)
    engines = {action: policies.asked_about(action).engine(action) for action in {case.action for case in cases}}
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

    With --cluster, a question about the server goes to the bundle of the cluster, any other to that of --graph, or to
    the only one that a graph has. Ends with 0 whatever is decided. No graph is opened.
    """
    if asked_actor is None or not asked_actor.strip():
        raise errors.Usage("`policy explain` needs --actor ACTOR, who would do it.", flag="--actor")
    if action is None:
        raise errors.Usage(
            f"`policy explain` needs --action ACTION, one of {', '.join(PolicyAction)}.", flag="--action"
        )
    asked = PolicyAction(action)
    policy = policies_of(invocation, path).asked_about(asked)
    decision = policy.engine(asked).decide(asked, actor=asked_actor, branch=branch, target_branch=target_branch)
    invocation.output.show(
        documents.ExplainedDecision(bundle_name=policy.name, decision=decision),
        document=documents.decision_document,
        text=policy_view.decision_text,
    )
