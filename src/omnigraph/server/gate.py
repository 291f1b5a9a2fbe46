"""Who may do what, asked at the door: the same bundle that the graph's handle asks again before it writes."""

from typing import TYPE_CHECKING, TypeAlias

from omnigraph.errors import PolicyDenied, PolicyEvaluation
from omnigraph.graphs.authorizing import Anybody, Authorizer, PolicyAction
from omnigraph.server.lines import LineShape, Varies
from omnigraph.server.logs import ServerLog
from omnigraph.server.states import DefaultDeny, RuntimeState

if TYPE_CHECKING:
    from omnigraph.policy.engine import PolicyEngine

_REMEMBERED_MAX = 4_096
_REMEMBERED_CHARACTERS_MAX = 256
"""Of the names in a question; what is longer is no branch."""
_Question: TypeAlias = tuple[PolicyAction, str | None, str | None, str | None]
"""An action, who asks, and the branches."""


class PolicyGate:
    """Decides for one graph, or for the server itself, and logs what it decided."""

    def __init__(self, state: RuntimeState, policy: "PolicyEngine | None", log: ServerLog) -> None:
        self._is_open = state is RuntimeState.OPEN
        self._policy = policy
        self._log = log
        self._decided: dict[_Question, tuple[LineShape, str | None]] = {}

    @property
    def authorizer(self) -> Authorizer:
        """What a graph's handle asks before it writes."""
        if self._is_open:
            return Anybody()
        return self._policy if self._policy is not None else DefaultDeny()

    def check(
        self,
        action: PolicyAction,
        *,
        actor: str | None,
        branch: str | None = None,
        target: str | None = None,
        request_id: str,
    ) -> None:
        """Return if the actor may; raise `PolicyDenied` otherwise."""
        if self._is_open:
            return
        question = (action, actor, branch, target)
        decided = self._decided.get(question)
        if decided is None:
            decided = self._remember(question, *self._decide(action, actor, branch, target))
        line, message = decided
        self._log.note_shaped(line, request_id)
        if message is not None:
            raise PolicyDenied(message)

    def lets_list_branches(self, actor: str | None) -> bool:
        """Whether the actor may know which branches there are; nothing is asked for, so nothing is logged."""
        if self._is_open:
            return True
        try:
            _, message = self._decide(PolicyAction.READ, actor, None, None)
        except PolicyEvaluation:
            return False
        return message is None

    def _remember(self, question: _Question, rule: str | None, message: str | None) -> tuple[LineShape, str | None]:
        action, actor, branch, target = question
        line = LineShape(
            "policy",
            {
                "request_id": Varies.TEXT,
                "actor_id": actor,
                "action": action.value,
                "branch": branch,
                "target_branch": target,
                "allowed": message is None,
                "matched_rule_id": rule,
            },
        )
        if len(branch or "") + len(target or "") <= _REMEMBERED_CHARACTERS_MAX:
            if len(self._decided) >= _REMEMBERED_MAX:
                self._decided.clear()
            self._decided[question] = line, message
        return line, message

    def _decide(
        self, action: PolicyAction, actor: str | None, branch: str | None, target: str | None
    ) -> tuple[str | None, str | None]:
        """Return the rule that grants it, or the message of the denial; a bundle never changes."""
        if self._policy is not None and actor is not None:
            decision = self._policy.decide(action, actor=actor, branch=branch, target_branch=target)
            return decision.matched_rule, None if decision.is_allowed else decision.message
        try:
            DefaultDeny().authorize(action, actor=actor, branch=branch, target_branch=target)
        except PolicyDenied as denied:
            return None, denied.message
        return None, None
