"""A bundle as a value: groups of actors, protected branches, and rules that grant."""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.policy.actions import BranchScope, BundleKind, ScopeName


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Grants actions to the actors of one group."""

    id: str
    group: str
    actions: tuple[PolicyAction, ...]
    scope_name: ScopeName | None = None
    scope: BranchScope = BranchScope.ANY


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """All that one file grants; whatever it does not grant is refused."""

    name: str
    kind: BundleKind
    fits_both_kinds: bool
    """Whether nothing in the file says what it is about, so that `kind` is a guess."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protected_branches: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()

    @cached_property
    def actors(self) -> frozenset[str]:
        """Everybody who is in some group."""
        return frozenset(actor for members in self.groups.values() for actor in members)
