"""`PolicyEngine`: a bundle that has been loaded and answers."""

from pathlib import Path
from typing import Self

from omnigraph.errors import InvalidTarget, Io, PolicyDenied
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import check_name
from omnigraph.policy.actions import ACTIONS, BundleKind
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar import CedarPolicies, resource_id
from omnigraph.policy.decisions import PolicyDecision, spell_denial
from omnigraph.policy.reading import parse_bundle

_Question = tuple[PolicyAction, str, bool | None, bool | None]
"""An action, an actor, and for each of the two branches whether it is protected; None where there is none."""
_ENDINGS = (".policy.yaml", ".policy.yml", ".yaml", ".yml")


class PolicyEngine:
    """Says who may do what, by one bundle; give it to `omnigraph.open(uri, policy=…)`."""

    def __init__(self, bundle: Bundle, graph_id: str) -> None:
        self._bundle = bundle
        self._cedar = CedarPolicies(bundle, resource_id(bundle, graph_id))
        self._rule_by_question: dict[_Question, str | None] = {}

    def __repr__(self) -> str:
        return f"<PolicyEngine {self._bundle.name} ({self._bundle.kind})>"

    @classmethod
    def load_graph(cls, path: str | Path, graph_id: str) -> Self:
        """Load the bundle of a graph from a YAML file; raise `PolicyInvalid` for what is none."""
        return cls.from_source(_read(path), graph_id, name=bundle_name(path))

    @classmethod
    def load_server(cls, path: str | Path) -> Self:
        """Load the bundle of a server from a YAML file; raise `PolicyInvalid` for what is none."""
        return cls(parse_bundle(_read(path), name=bundle_name(path), bound_to=BundleKind.SERVER), "")

    @classmethod
    def from_source(cls, text: str, graph_id: str, *, name: str = "policy") -> Self:
        """Make the policy of a graph of the text of a bundle; `name` is what messages call it."""
        return cls(parse_bundle(text, name=name, bound_to=BundleKind.GRAPH), graph_id)

    def decide(
        self, action: str, *, actor: str, branch: str | None = None, target_branch: str | None = None
    ) -> PolicyDecision:
        """Say whether an actor may do something, and which rule grants it; names of branches are trimmed."""
        asked = self._action(action)
        branch, target = _trimmed(branch), _trimmed(target_branch)
        is_known = check_name(actor, what="The actor") in self._bundle.actors
        rule = self._rule(asked, actor, branch, target) if is_known else None
        if rule is not None:
            message = f"policy allowed action '{asked}' for actor '{actor}'"
        else:
            message = spell_denial(asked, branch, target, f" for {'' if is_known else 'unknown '}actor '{actor}'")
        return PolicyDecision(
            is_allowed=rule is not None,
            actor=actor,
            action=asked,
            branch=branch,
            target_branch=target,
            matched_rule=rule,
            message=message,
        )

    def authorize(
        self, action: PolicyAction, *, actor: str | None, branch: str | None = None, target_branch: str | None = None
    ) -> None:
        """Return if the actor may do it; raise `PolicyDenied` otherwise, also when nobody says who it is."""
        if actor is None or not str(actor).strip():
            reason = ": no actor was named. Say who writes: actor=… in Python, --as <actor> on the command line."
            raise PolicyDenied(spell_denial(action, _trimmed(branch), _trimmed(target_branch), reason))
        decision = self.decide(action, actor=actor, branch=branch, target_branch=target_branch)
        if not decision.is_allowed:
            raise PolicyDenied(decision.message)

    def _rule(self, action: PolicyAction, actor: str, branch: str | None, target: str | None) -> str | None:
        """Return the smallest id of the rules that grant this.

        Cedar is asked once for what differs in nothing that a rule looks at: a bundle never changes, and it has as
        many such questions as known actors, actions and kinds of branches.
        """
        protected = self._bundle.protected_branches
        is_protected, is_target_protected = (None if name is None else name in protected for name in (branch, target))
        question = (action, actor, is_protected, is_target_protected)
        if question not in self._rule_by_question:
            rules = self._cedar.matching_rules(action, actor=actor, branch=branch, target=target, protected=protected)
            self._rule_by_question[question] = min(rules, default=None)
        return self._rule_by_question[question]

    def _action(self, word: str) -> PolicyAction:
        try:
            action = PolicyAction(word)
        except ValueError:
            raise InvalidTarget(f"There is no action '{word}'; the actions are {', '.join(PolicyAction)}.") from None
        if ACTIONS[action].kind is not self._bundle.kind:
            raise InvalidTarget(
                f"The bundle '{self._bundle.name}' is about a {self._bundle.kind}; {action} is asked of the bundle of "
                f"a {ACTIONS[action].kind}."
            )
        return action


def bundle_name(path: str | Path) -> str:
    """Return what a bundle in a file is called: the name of the file without its ending."""
    name = Path(path).name
    ending = next((ending for ending in _ENDINGS if name.endswith(ending) and name != ending), "")
    return name.removesuffix(ending)


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Io(f"The policy file {path} is not UTF-8 text (byte {error.start}).", path=str(path)) from error
    except OSError as error:
        raise Io(f"The policy file {path} cannot be read: {error.strerror}.", path=str(path)) from error


def _trimmed(branch: str | None) -> str | None:
    """Return the name of a branch as rules compare it; a blank one is none, so that it cannot pass as unprotected."""
    return None if branch is None else check_name(branch, what="The branch name").strip() or None
