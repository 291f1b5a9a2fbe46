"""What was asked, what the answer is, and how it is put into words."""

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """Whether an actor may do something, by which rule, and that in a sentence."""

    is_allowed: bool
    actor: str
    action: PolicyAction
    branch: str | None
    target_branch: str | None
    matched_rule: str | None
    """The smallest id among the rules that grant it; None for a denial."""
    message: str

    @property
    def word(self) -> str:
        """`allow` or `deny`."""
        return "allow" if self.is_allowed else "deny"


def spell_denial(action: PolicyAction, branch: str | None, target: str | None, ending: str) -> str:
    """Say what is not allowed; `ending` says to whom, or why."""
    on = f" on branch '{branch}'" if branch is not None else ""
    into = f" targeting branch '{target}'" if target is not None else ""
    return f"policy denied action '{action}'{on}{into}{ending}"
