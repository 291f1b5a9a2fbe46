"""What can be granted, declared once: the level of every action, and which scope a rule may give it."""

from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction


class BundleKind(StrEnum):
    """What a bundle is about: one graph, or a whole server."""

    GRAPH = "graph"
    SERVER = "server"


class ScopeName(StrEnum):
    """Which of the two branches of a question a rule looks at; the value is the key in a rule."""

    BRANCH = "branch_scope"
    TARGET_BRANCH = "target_branch_scope"


class BranchScope(StrEnum):
    """For which branches a rule holds."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFacts:
    """What is true of an action."""

    kind: BundleKind = BundleKind.GRAPH
    scope: ScopeName | None = None
    """The scope that a rule may give it, None if there is no branch to look at."""


_ON_BRANCH = ActionFacts(scope=ScopeName.BRANCH)
_INTO_BRANCH = ActionFacts(scope=ScopeName.TARGET_BRANCH)

ACTIONS = {
    PolicyAction.READ: _ON_BRANCH,
    PolicyAction.EXPORT: _ON_BRANCH,
    PolicyAction.CHANGE: _ON_BRANCH,
    PolicyAction.SCHEMA_APPLY: _INTO_BRANCH,
    PolicyAction.BRANCH_CREATE: _INTO_BRANCH,
    PolicyAction.BRANCH_DELETE: _INTO_BRANCH,
    PolicyAction.BRANCH_MERGE: _INTO_BRANCH,
    PolicyAction.INVOKE_QUERY: ActionFacts(),
    PolicyAction.ADMIN: ActionFacts(),
    PolicyAction.GRAPH_LIST: ActionFacts(kind=BundleKind.SERVER),
}
