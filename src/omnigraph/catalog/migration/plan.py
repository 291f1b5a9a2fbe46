"""From two schemas to the steps that lead from one to the other.

Pure: nothing here reads data, so a change that existing data could contradict is refused rather than tried.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from omnigraph.base.values import dataclass
from omnigraph.catalog.ir import ir_bytes
from omnigraph.catalog.migration.annotations import metadata_differs, other_differences
from omnigraph.catalog.migration.codes import ChangeCode, refusal
from omnigraph.catalog.migration.constraints import constraint_steps
from omnigraph.catalog.migration.hints import UnusedHint
from omnigraph.catalog.migration.properties import property_steps
from omnigraph.catalog.migration.resolve import Resolution
from omnigraph.catalog.migration.steps import (
    AddType,
    DropMode,
    DropType,
    MigrationStep,
    RenameType,
    UnsupportedChange,
    UpdateTypeMetadata,
    entity_name,
)
from omnigraph.catalog.model import Cardinality, Catalog, EdgeType, EntityType, InterfaceType, NodeType
from omnigraph.catalog.numbering import TypeName
from omnigraph.catalog.shape import TypeKind

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """What an apply would do, in order, and the schema that the graph has afterwards."""

    steps: tuple[MigrationStep, ...]
    catalog: Catalog
    diagnostics: tuple[UnusedHint, ...]

    @property
    def supported(self) -> bool:
        """Whether every step can be applied."""
        return not any(isinstance(step, UnsupportedChange) for step in self.steps)

    def require_supported(self) -> None:
        """Raise `UnsupportedSchemaChange` with the code and reason of the first step that cannot be applied."""
        for step in self.steps:
            if isinstance(step, UnsupportedChange):
                raise refusal([step.reason], code=step.code, entity=step.entity)


def plan_migration(accepted: Catalog, desired: Resolution, *, allow_data_loss: bool) -> MigrationPlan:
    """Plan the way from the accepted schema to the desired one, which was resolved against it.

    Equal schemas give no steps. Interfaces come first, then nodes, then edges, each by name and drops last, so that
    equal input gives equal steps. With `allow_data_loss` every drop is hard.
    """
    mode = DropMode.HARD if allow_data_loss else DropMode.SOFT
    steps = tuple(_Planner(accepted=accepted, desired=desired.catalog, mode=mode).steps())
    if not steps and ir_bytes(accepted) != ir_bytes(desired.catalog):
        # A kind of difference that this planner has not been taught. Saying "nothing to do" would hide it.
        reason = "the schemas differ in a way that no step describes"
        steps = (UnsupportedChange(entity="schema", reason=reason, code=ChangeCode.UNCLASSIFIED),)
    return MigrationPlan(steps=steps, catalog=desired.catalog, diagnostics=desired.diagnostics)


class _Planner:
    """Walks both schemas side by side; types are matched by identity."""

    def __init__(self, *, accepted: Catalog, desired: Catalog, mode: DropMode) -> None:
        self._accepted = accepted
        self._desired = desired
        self._mode = mode

    def steps(self) -> Iterator[MigrationStep]:
        yield from self._kind("interface", self._accepted.interfaces, self._desired.interfaces, self._interface)
        yield from self._kind("node", self._accepted.nodes, self._desired.nodes, self._node)
        yield from self._kind("edge", self._accepted.edges, self._desired.edges, self._edge)

    def _kind(
        self,
        kind: TypeKind,
        accepted: tuple[_Type, ...],
        desired: tuple[_Type, ...],
        changes: Callable[[TypeName, _Type, _Type], Iterator[MigrationStep]],
    ) -> Iterator[MigrationStep]:
        accepted_by_id = {old.type_id: old for old in accepted}
        for new in desired:
            old = accepted_by_id.pop(new.type_id, None)
            if old is None:
                yield AddType(type_kind=kind, name=new.name)
            else:
                yield from changes(TypeName(kind, new.name), old, new)
        for old in accepted_by_id.values():
            yield self._dropped(TypeName(kind, old.name))

    def _dropped(self, owner: TypeName) -> MigrationStep:
        if owner.kind == "interface":
            return _unsupported(owner, ChangeCode.INTERFACE_REMOVED, "is an interface: it cannot be removed or renamed")
        code = ChangeCode.NODE_DROPPED if owner.kind == "node" else ChangeCode.EDGE_DROPPED
        return DropType(type_kind=owner.kind, name=owner.name, mode=self._mode, code=code)

    def _interface(self, owner: TypeName, old: InterfaceType, new: InterfaceType) -> Iterator[MigrationStep]:
        yield from property_steps(owner, old, new, mode=self._mode)

    def _node(self, owner: TypeName, old: NodeType, new: NodeType) -> Iterator[MigrationStep]:
        yield from _renamed(owner, old)
        if set(old.implements) != set(new.implements):
            listed = ", ".join(sorted(old.implements)) or "none"
            reason = f"cannot change the interfaces it implements ({listed})"
            yield _unsupported(owner, ChangeCode.INTERFACES_CHANGED, reason)
        yield from self._body(owner, old, new)

    def _edge(self, owner: TypeName, old: EdgeType, new: EdgeType) -> Iterator[MigrationStep]:
        yield from _renamed(owner, old)
        if self._endpoint_ids(self._accepted, old) != self._endpoint_ids(self._desired, new):
            reason = f"cannot change its ends from {old.from_type} -> {old.to_type} to {new.from_type} -> {new.to_type}"
            yield _unsupported(owner, ChangeCode.ENDPOINT_CHANGED, reason)
        if old.cardinality != new.cardinality:
            reason = f"cannot change {_spell_card(old.cardinality)} to {_spell_card(new.cardinality)}"
            yield _unsupported(owner, ChangeCode.CARDINALITY_CHANGED, reason)
        yield from self._body(owner, old, new)

    def _body(self, owner: TypeName, old: EntityType, new: EntityType) -> Iterator[MigrationStep]:
        if metadata_differs(old.annotations, new.annotations):
            yield UpdateTypeMetadata(type_kind=owner.kind, name=owner.name, annotations=new.annotations)
        for name in other_differences(old.annotations, new.annotations):
            yield _unsupported(owner, ChangeCode.ANNOTATION_CHANGED, f"cannot change its annotation @{name}")
        yield from property_steps(owner, old, new, mode=self._mode)
        yield from constraint_steps(owner, old, new)

    @staticmethod
    def _endpoint_ids(catalog: Catalog, edge: EdgeType) -> tuple[int, int]:
        nodes = catalog.node_by_name
        return nodes[edge.from_type].type_id, nodes[edge.to_type].type_id


def _renamed(owner: TypeName, old: EntityType) -> Iterator[MigrationStep]:
    if old.name != owner.name:
        yield RenameType(type_kind=owner.kind, from_name=old.name, to_name=owner.name)


def _unsupported(owner: TypeName, code: ChangeCode, reason: str) -> UnsupportedChange:
    return UnsupportedChange(entity=entity_name(owner), reason=f"{owner.name} {reason}", code=code)


def _spell_card(card: Cardinality) -> str:
    return f"@card({card.low}..{'' if card.high is None else card.high})"
