"""From the YAML of a bundle to its value; whatever could be meant in two ways is refused."""

from collections.abc import Mapping

from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import SYSTEM_ACTOR_PREFIX
from omnigraph.policy.actions import ACTIONS, BranchScope, BundleKind, ScopeName
from omnigraph.policy.bundle import Bundle, Rule
from omnigraph.policy.strict_file import StrictFile

_SPELLED_KIND = {BundleKind.SERVER: "server-scoped", BundleKind.GRAPH: "per-graph"}


def parse_bundle(text: str, *, name: str, bound_to: BundleKind | None = None) -> Bundle:
    """Read a bundle; `bound_to` says what it is bound to, and its actions must fit that. Raises `PolicyInvalid`."""
    return _BundleReader(name, bound_to).bundle(text)


class _BundleReader:
    def __init__(self, name: str, bound_to: BundleKind | None) -> None:
        self._name = name
        self._bound_to = bound_to
        self._file = StrictFile(f"policy bundle '{name}'")

    def bundle(self, text: str) -> Bundle:
        root = self._file.root(text, {"kind", "groups", "protected_branches", "rules"})
        groups = self._groups(root.get("groups"))
        branches = self._file.items(root.get("protected_branches"), "`protected_branches`")
        protected = frozenset(self._file.name(branch, "a protected branch") for branch in branches)
        rules = self._rules(root.get("rules"), groups)
        declared = self._declared_kind(root)
        found = self._kind_of(rules)
        self._refuse_contradictions(declared, found)
        kind = declared or found or self._bound_to
        return Bundle(
            name=self._name,
            kind=kind or BundleKind.GRAPH,
            fits_both_kinds=kind is None,
            groups=groups,
            protected_branches=protected,
            rules=rules,
        )

    def _groups(self, value: object) -> dict[str, tuple[str, ...]]:
        groups: dict[str, tuple[str, ...]] = {}
        for written, members in self._file.mapping(value if value is not None else {}, "`groups`").items():
            name = self._file.name(written, "the name of a group")
            if name in groups:
                raise self._file.wrong(f"the group '{name}' is a duplicate: names are trimmed.")
            actors = [
                self._actor(member, name) for member in self._file.items(members, f"the actors of group '{name}'")
            ]
            if not actors:
                raise self._file.wrong(f"the group '{name}' has no actors.")
            groups[name] = tuple(dict.fromkeys(actors))
        return groups

    def _actor(self, member: object, group: str) -> str:
        actor = self._file.name(member, f"an actor of group '{group}'")
        if actor.startswith(SYSTEM_ACTOR_PREFIX):
            raise self._file.wrong(
                f"the group '{group}' has the actor '{actor}', which is reserved: ids that start with "
                f"{SYSTEM_ACTOR_PREFIX} belong to the system."
            )
        return actor

    def _rules(self, value: object, groups: Mapping[str, tuple[str, ...]]) -> tuple[Rule, ...]:
        rules: dict[str, Rule] = {}
        for number, entry in enumerate(self._file.items(value, "`rules`"), start=1):
            keys = self._file.keys(entry, f"rule {number}", {"id", "allow"})
            rule_id = self._file.name(keys.get("id"), f"the rule id of rule {number}")
            if rule_id in rules:
                raise self._file.wrong(f"the rule id '{rule_id}' is a duplicate.")
            rules[rule_id] = self._rule(rule_id, keys.get("allow"), groups)
        return tuple(rules.values())

    def _rule(self, rule_id: str, value: object, groups: Mapping[str, tuple[str, ...]]) -> Rule:
        named = f"rule '{rule_id}'"
        allow = self._file.keys(value, f"`allow` of {named}", {"actors", "actions", *ScopeName})
        actors = self._file.keys(allow.get("actors"), f"`actors` of {named}", {"group"})
        group = self._file.name(actors.get("group"), f"the group of {named}")
        if group not in groups:
            raise self._file.wrong(f"{named} names the unknown group '{group}'; declare it under `groups`.")
        actions = self._actions(rule_id, allow.get("actions"))
        scope_name, scope = self._scope(rule_id, allow, actions)
        return Rule(id=rule_id, group=group, actions=actions, scope_name=scope_name, scope=scope)

    def _actions(self, rule_id: str, value: object) -> tuple[PolicyAction, ...]:
        items = self._file.items(value, f"`actions` of rule '{rule_id}'")
        if not items:
            raise self._file.wrong(f"rule '{rule_id}' needs at least one action.")
        words = [
            self._file.word(
                item,
                f"an action of rule '{rule_id}'",
                PolicyAction,
                refusal=lambda given: f"rule '{rule_id}' has the unknown action '{given}'",
            )
            for item in items
        ]
        return tuple(dict.fromkeys(words))

    def _scope(
        self, rule_id: str, allow: Mapping[str, object], actions: tuple[PolicyAction, ...]
    ) -> tuple[ScopeName | None, BranchScope]:
        given = [name for name in ScopeName if name.value in allow]
        if not given:
            return None, BranchScope.ANY
        if len(given) > 1:
            raise self._file.wrong(f"rule '{rule_id}' has both {' and '.join(given)}; keep one.")
        (name,) = given
        for action in actions:
            if ACTIONS[action].scope is not name:
                takes = ACTIONS[action].scope or "no scope"
                raise self._file.wrong(f"rule '{rule_id}' has {name}, which {action} does not take; it takes {takes}.")
        place = f"{name} of rule '{rule_id}'"
        return name, self._file.word(allow[name.value], place, BranchScope, refusal=lambda word: f"{place} is '{word}'")

    def _declared_kind(self, root: Mapping[str, object]) -> BundleKind | None:
        if "kind" not in root:
            return None
        return self._file.word(root["kind"], "`kind`", BundleKind, refusal=lambda word: f"`kind` is '{word}'")

    def _kind_of(self, rules: tuple[Rule, ...]) -> BundleKind | None:
        """Return the level of the granted actions, which is the same for all; None if nothing is granted."""
        found: BundleKind | None = None
        for rule in rules:
            for action in rule.actions:
                kind = ACTIONS[action].kind
                if found is not None and kind is not found:
                    raise self._file.wrong(
                        f"rule '{rule.id}' grants {action}, which is {_SPELLED_KIND[kind]}, beside "
                        f"{_SPELLED_KIND[found]} actions; write a bundle for each."
                    )
                found = kind
        return found

    def _refuse_contradictions(self, declared: BundleKind | None, found: BundleKind | None) -> None:
        if declared is not None and found is not None and declared is not found:
            raise self._file.wrong(f"`kind` is {declared}, but its rules grant {_SPELLED_KIND[found]} actions.")
        meant = declared or found
        if self._bound_to is not None and meant is not None and meant is not self._bound_to:
            raise self._file.wrong(f"its kind is {meant}, so it cannot be the policy of a {self._bound_to}.")
