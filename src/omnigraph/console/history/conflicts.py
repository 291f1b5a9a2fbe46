"""Conflicts of a merge side by side, and what a person can do about each; nothing here draws or writes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.base.values import dataclass
from omnigraph.console.history.showing import ShownValue, shown_value

if TYPE_CHECKING:
    from omnigraph.changes.entities import EntityChange, Image
    from omnigraph.errors import MergeConflicts

Record = Mapping[str, Any]
"""An entity as export writes it and load reads it."""

_ADVICE = {
    "orphan_edge": "Add the missing node again on one of the branches, or delete the edge on the branch that has it.",
    "unique_violation": "Give one of the two entities another value, on the branch that has it.",
    "cardinality_violation": "Delete edges on one of the branches until there are as many as the schema allows.",
    "value_constraint_violation": "Change the entity on one of the branches so that it fits the schema again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """One property on all sides; `is_open` where the two branches differ."""

    name: str
    base: ShownValue
    into: ShownValue
    source: ShownValue
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A write that makes both branches say the same about an entity."""

    label: str
    branch: str
    """Where it is written."""
    record: Record | None
    """The entity as the other branch has it; None deletes it."""
    says: str
    """What it does, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One thing that a merge cannot decide."""

    kind: str
    entity_kind: str
    type_name: str
    entity_id: str | None
    message: str
    base: Record | None = None
    into: Record | None = None
    source: Record | None = None

    @property
    def has_values(self) -> bool:
        """Whether at least one side can be shown."""
        return not (self.base is None and self.into is None and self.source is None)

    @property
    def rows(self) -> tuple[ConflictRow, ...]:
        """The properties that are not the same everywhere, those that the branches differ in first."""
        sides = [_facts(record) for record in (self.base, self.into, self.source)]
        there = [side for side in sides if side]
        names = {name: None for side in sides for name in side}
        rows = []
        for name in names:
            base, into, source = (side.get(name) for side in sides)
            if len({json.dumps(side[name]) for side in there if name in side}) < 2 and len(there) > 1:
                continue
            shown = [shown_value(each) for each in (base, into, source)]
            rows.append(ConflictRow(name=name, base=shown[0], into=shown[1], source=shown[2], is_open=into != source))
        return tuple(sorted(rows, key=lambda row: not row.is_open))

    @property
    def about(self) -> tuple[str, str, str | None]:
        """What the conflict is about."""
        return self.entity_kind, self.type_name, self.entity_id


def conflicts_of(error: "MergeConflicts") -> tuple[list[Conflict], int]:
    """Read the conflicts of a refused merge, and how many there are in all."""
    document = error.document()
    found = [_conflict(each) for each in document.get("merge_conflicts", ())]
    return found, int(document.get("merge_conflicts_total", len(found)))


def _conflict(document: Mapping[str, Any]) -> Conflict:
    entity_kind, _, type_name = str(document["table_key"]).partition(":")
    return Conflict(
        kind=document["kind"],
        entity_kind=entity_kind,
        type_name=type_name,
        entity_id=document.get("entity_id", document.get("row_id")),
        message=document["message"],
        base=document.get("base"),
        into=document.get("target"),
        source=document.get("source"),
    )


def with_values(
    conflicts: Sequence[Conflict], *, into: "Iterable[EntityChange]", source: "Iterable[EntityChange]"
) -> list[Conflict]:
    """Fill in what each side says from what it changed since the branches parted, for conflicts that came without."""
    ours: dict[tuple[str, str, str | None], EntityChange] = {
        (each.type.kind, each.type.name, each.id): each for each in into
    }
    theirs: dict[tuple[str, str, str | None], EntityChange] = {
        (each.type.kind, each.type.name, each.id): each for each in source
    }
    filled = []
    for conflict in conflicts:
        mine, other = ours.get(conflict.about), theirs.get(conflict.about)
        if conflict.has_values or mine is None or other is None:
            filled.append(conflict)
            continue
        filled.append(
            replace(
                conflict,
                base=_record(mine, mine.before),
                into=_record(mine, mine.after),
                source=_record(other, other.after),
            )
        )
    return filled


def _record(change: "EntityChange", image: "Image | None") -> Record | None:
    if image is None:
        return None
    data = {"id": change.id, **image.properties}
    if image.endpoints is None:
        return {"type": change.type.name, "data": data}
    return {"edge": change.type.name, "from": image.endpoints.source, "to": image.endpoints.target, "data": data}


def _facts(record: Record | None) -> dict[str, Any]:
    if record is None:
        return {}
    ends = {name: record[name] for name in ("from", "to") if name in record}
    return {**ends, **{name: value for name, value in record["data"].items() if name != "id"}}


def remedies(conflict: Conflict, *, source: str, into: str) -> tuple[Remedy, ...]:
    """Return the writes that settle a conflict, each a choice of one side; none where a person has to think."""
    if conflict.entity_id is None or (conflict.into is None and conflict.source is None):
        return ()
    found = []
    for kept, changed, record in ((into, source, conflict.into), (source, into, conflict.source)):
        if _loses_edges(conflict, record):
            continue
        name = f"{conflict.type_name} {conflict.entity_id}"
        does = f"writes {kept}'s values of {name} to {changed}"
        label = f"Keep {into}'s values" if kept == into else f"Take {source}'s values"
        if record is None:
            label = f"Delete it on {changed}, too"
            edges = " with all its edges" if conflict.entity_kind == "node" else ""
            does = f"deletes {name}{edges} on {changed}, too"
        found.append(Remedy(label=label, branch=changed, record=record, says=f"This {does}."))
    return tuple(found)


def _loses_edges(conflict: Conflict, record: Record | None) -> bool:
    """Say whether a write would bring a node back without the edges that went with it: the merge would delete those."""
    is_half = (conflict.into is None) != (conflict.source is None)
    return is_half and record is not None and conflict.entity_kind == "node"


def advice(conflict: Conflict, *, source: str, into: str) -> str:
    """Say what a person can do where no single write settles the conflict, or not for both sides."""
    if conflict.kind in _ADVICE:
        return _ADVICE[conflict.kind]
    if (conflict.into is None) == (conflict.source is None):
        return "" if conflict.has_values else f"Change it on {source} or on {into} so that both say the same."
    gone, alive = (source, into) if conflict.source is None else (into, source)
    if conflict.entity_kind != "node":
        return ""
    return (
        f"To keep it, add it to {gone} again as {alive} has it, and its edges with it: they went with the node, and "
        "the merge would delete them."
    )


def delete_mutation(conflict: Conflict) -> str:
    """Return the mutation that deletes the entity of a conflict; its parameter is the id."""
    return f"query settle($id: String) {{ delete {conflict.type_name} where id = $id }}"
