"""Failures of permission: an actor who may not, and bundles that cannot say."""

from omnigraph.errors.base import OmniError, Retry


class PolicyDenied(OmniError):
    """The policy of the graph does not allow this to this actor, or no actor was named; nothing was done."""

    kind = "policy_denied"
    http_status = 403
    code = "forbidden"
    exit_code = 6


class PolicyUnavailable(OmniError):
    """The bundle that a cluster has bound to a graph is lost, altered or cannot be read; nothing was done."""

    kind = "policy_unavailable"
    http_status = None
    code = None
    retry = Retry.AFTER_CHANGE


class PolicyEvaluation(OmniError):
    """A policy could not be evaluated, which is a defect and no denial; nothing was allowed."""

    kind = "policy_evaluation"


class PolicyInvalid(OmniError):
    """A policy bundle, or a file of policy tests, does not say what such a file says; names file and place."""

    kind = "policy_invalid"
    http_status = None
    code = None
