"""In which of its states a server runs, and what everybody may do in it."""

from enum import StrEnum

from omnigraph.errors import BootRefused, PolicyDenied
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.policy.decisions import spell_denial
from omnigraph.server.settings import Bind


class RuntimeState(StrEnum):
    """Who decides about requests."""

    OPEN = "open"
    """Nobody: everything on graphs is allowed, and nobody is asked for a token."""
    DEFAULT_DENY = "default deny"
    """Tokens say who asks, and nobody said what they may: reading is all."""
    POLICY = "policy"
    """Tokens say who asks, bundles what they may."""


def decide_state(*, has_tokens: bool, has_bundles: bool, unauthenticated: bool, bind: Bind) -> RuntimeState:
    """Choose the state, or raise `BootRefused` where the settings contradict each other."""
    if has_tokens:
        return RuntimeState.POLICY if has_bundles else RuntimeState.DEFAULT_DENY
    if not has_bundles and not unauthenticated:
        raise BootRefused(
            "There are no bearer tokens and no policy, so anybody could read and write everything. Set "
            "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE, or pass --unauthenticated to serve openly for local development."
        )
    if has_bundles and not unauthenticated:
        raise BootRefused(
            "The cluster has a policy, and policy needs tokens to know who asks: set "
            "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE."
        )
    if has_bundles and not bind.is_loopback:
        raise BootRefused(
            f"The cluster has a policy, which --unauthenticated would not enforce; that is allowed on a loopback "
            f"address such as 127.0.0.1, not on {bind.host}."
        )
    return RuntimeState.OPEN


class DefaultDeny:
    """Lets everybody read and nothing else: what a graph without a bundle has where tokens say who asks."""

    def authorize(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Return for a read; raise `PolicyDenied` otherwise."""
        if action is not PolicyAction.READ:
            reason = f" for actor '{actor}': no policy bundle applies, so default deny allows read only"
            raise PolicyDenied(spell_denial(action, branch, target_branch, reason))
