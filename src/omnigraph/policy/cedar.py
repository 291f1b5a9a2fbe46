"""A bundle in Cedar: compiled and checked once, asked any number of times. The only module that imports cedarpy."""

import json
from typing import Any

from omnigraph.errors import PolicyEvaluation, PolicyInvalid
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.policy.actions import ACTIONS, BranchScope, BundleKind, ScopeName
from omnigraph.policy.bundle import Bundle, Rule

_NAMESPACE = "Omnigraph"
_SERVER_ID = "root"
_CONTEXT = "Question"
_RESOURCES = {BundleKind.GRAPH: "Graph", BundleKind.SERVER: "Server"}
_CONDITIONS = {
    ScopeName.BRANCH: ("has_branch", "branch_is_protected"),
    ScopeName.TARGET_BRANCH: ("has_target_branch", "target_branch_is_protected"),
}
"""What a scoped rule asks of the context: whether there is such a branch, and whether it is protected."""
_Node = dict[str, Any]


class CedarPolicies:
    """The handles that Cedar made of one bundle; immutable, so that any thread may ask."""

    def __init__(self, bundle: Bundle, resource_id: str) -> None:
        import cedarpy

        self._evaluate = cedarpy.is_authorized
        self._allow, self._deny = cedarpy.Decision.Allow, cedarpy.Decision.Deny
        self._resource = _uid(_RESOURCES[bundle.kind], resource_id)
        try:
            self._schema = cedarpy.Schema.from_json_str(json.dumps(_schema()))
            self._policies = {
                action: cedarpy.PolicySet.from_json_str(json.dumps(_policy_set(bundle, action, self._resource)))
                for action in ACTIONS
            }
            self._entities = cedarpy.Entities.from_json_str(
                json.dumps(_entities(bundle, self._resource)), schema=self._schema
            )
        except ValueError as error:
            raise PolicyInvalid(f"policy bundle '{bundle.name}': Cedar refuses it: {error}") from error
        problems = cedarpy.validate_policies("\n".join(map(str, self._policies.values())), self._schema).errors
        if problems:
            raise PolicyInvalid(f"policy bundle '{bundle.name}': Cedar refuses it: {problems[0]}")

    def matching_rules(
        self, action: PolicyAction, *, actor: str, branch: str | None, target: str | None, protected: frozenset[str]
    ) -> list[str]:
        """Return the ids of all rules that grant this; none is a denial. Raise `PolicyEvaluation` if Cedar fails.

        The names of the branches are there for whoever reads Cedar's log; permits look at the four flags only.
        """
        answer = self._evaluate(
            {
                "principal": _uid("Actor", actor),
                "action": _uid("Action", action.value),
                "resource": self._resource,
                "context": {
                    "has_branch": branch is not None,
                    "has_target_branch": target is not None,
                    "branch_is_protected": branch in protected,
                    "target_branch_is_protected": target in protected,
                    "branch": branch or "",
                    "target_branch": target or "",
                },
            },
            self._policies[action],
            self._entities,
            self._schema,
        )
        problems = answer.diagnostics.errors
        reasons = answer.diagnostics.reasons
        if problems or answer.decision not in {self._allow, self._deny}:
            raise PolicyEvaluation(
                f"The policy could not be evaluated for action '{action}': {'; '.join(problems) or answer.decision}. "
                "Nothing was allowed; this is a defect, please report it."
            )
        if (answer.decision is self._allow) is not bool(reasons):
            raise PolicyEvaluation(f"Cedar answered {answer.decision} for action '{action}' and gave {reasons} as why.")
        return [policy_id.rpartition(":")[0] for policy_id in reasons]


def resource_id(bundle: Bundle, graph_id: str) -> str:
    """Return the id of what a bundle is about."""
    return graph_id if bundle.kind is BundleKind.GRAPH else _SERVER_ID


def _uid(type_name: str, entity_id: str) -> dict[str, str]:
    return {"type": f"{_NAMESPACE}::{type_name}", "id": entity_id}


def _schema() -> _Node:
    flags = (name for names in _CONDITIONS.values() for name in names)
    attributes: _Node = {name: {"type": "Boolean"} for name in flags}
    attributes |= {name: {"type": "String"} for name in ("branch", "target_branch")}
    return {
        _NAMESPACE: {
            "commonTypes": {_CONTEXT: {"type": "Record", "attributes": attributes}},
            "entityTypes": {"Actor": {"memberOfTypes": ["Group"]}, "Group": {}, "Graph": {}, "Server": {}},
            "actions": {
                action.value: {
                    "appliesTo": {
                        "principalTypes": ["Actor"],
                        "resourceTypes": [_RESOURCES[facts.kind]],
                        "context": {"type": _CONTEXT},
                    }
                }
                for action, facts in ACTIONS.items()
            },
        }
    }


def _entities(bundle: Bundle, resource: _Node) -> list[_Node]:
    groups_by_actor: dict[str, list[str]] = {}
    for group, members in bundle.groups.items():
        for actor in members:
            groups_by_actor.setdefault(actor, []).append(group)
    return [
        *(_entity(_uid("Group", group)) for group in bundle.groups),
        *(_entity(_uid("Actor", actor), *groups) for actor, groups in groups_by_actor.items()),
        _entity(resource),
    ]


def _entity(uid: _Node, *groups: str) -> _Node:
    return {"uid": uid, "attrs": {}, "parents": [_uid("Group", group) for group in groups]}


def _policy_set(bundle: Bundle, action: PolicyAction, resource: _Node) -> _Node:
    """Make a permit of every rule that grants an action; actions have no colon, so its id leads back to the rule.

    Each action has a set of its own because Cedar looks at every permit of a set, and others never fit.
    """
    granting = [rule for rule in bundle.rules if action in rule.actions]
    permits = {f"{rule.id}:{action}": _permit(rule, action, resource) for rule in granting}
    return {"staticPolicies": permits, "templates": {}, "templateLinks": []}


def _permit(rule: Rule, action: PolicyAction, resource: _Node) -> _Node:
    return {
        "effect": "permit",
        "principal": {"op": "in", "entity": _uid("Group", rule.group)},
        "action": {"op": "==", "entity": _uid("Action", action.value)},
        "resource": {"op": "==", "entity": resource},
        "conditions": [{"kind": "when", "body": body} for body in _conditions(rule)],
    }


def _conditions(rule: Rule) -> list[_Node]:
    if rule.scope_name is None or rule.scope is BranchScope.ANY:
        return []
    is_there, is_protected = map(_of_context, _CONDITIONS[rule.scope_name])
    wanted = is_protected if rule.scope is BranchScope.PROTECTED else {"!": {"arg": is_protected}}
    return [{"&&": {"left": is_there, "right": wanted}}]


def _of_context(name: str) -> _Node:
    return {".": {"left": {"Var": "context"}, "attr": name}}
