"""Asking whether somebody may do something. Whoever opens a graph may say who answers; nobody here knows how."""

from enum import StrEnum
from typing import Protocol

from omnigraph.errors import InvalidTarget


class PolicyAction(StrEnum):
    """What an actor can be allowed to do, under the name that rules have for it."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    INVOKE_QUERY = "invoke_query"
    ADMIN = "admin"
    GRAPH_LIST = "graph_list"


class Authorizer(Protocol):
    """Who is asked before anything is written; `omnigraph.PolicyEngine` is one."""

    def authorize(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Return if the actor may do it; raise `PolicyDenied` otherwise."""


class Admission(Protocol):
    """What a handle calls before it writes: refuses what a read-only one must not do, then asks the authorizer."""

    def __call__(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Return if it may go on; raise otherwise."""


class Anybody:
    """Lets everybody do everything: what a graph has that was opened without a policy."""

    def authorize(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Allow it."""


def authorizer_of(policy: Authorizer | None) -> Authorizer:
    """Return who is asked; refuse at once what cannot answer, such as the path of a bundle."""
    if policy is None:
        return Anybody()
    if not callable(getattr(policy, "authorize", None)):
        raise InvalidTarget(
            f"policy must be what can authorize, such as PolicyEngine.load_graph(path, graph_id), not {policy!r}."
        )
    return policy
