"""What a merge cannot decide: one conflict per entity or broken rule, all of them counted, the first thousand kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from omnigraph.base.units import counted
from omnigraph.branches.merge.resolution import Outcome
from omnigraph.catalog.model import TableKey
from omnigraph.errors import Internal, MergeConflicts
from omnigraph.records.offences import Code, Offence, Offences

CONFLICTS_KEPT = 1_000
_CONFLICTS_NAMED = 3


class ConflictKind(StrEnum):
    """Why a merge stops: two changes of one entity, then rules that the merged graph would break."""

    DIVERGENT_INSERT = "divergent_insert"
    DIVERGENT_UPDATE = "divergent_update"
    DELETE_VS_UPDATE = "delete_vs_update"
    ORPHAN_EDGE = "orphan_edge"
    UNIQUE_VIOLATION = "unique_violation"
    CARDINALITY_VIOLATION = "cardinality_violation"
    VALUE_CONSTRAINT_VIOLATION = "value_constraint_violation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictTraits:
    """Where a kind of conflict comes from: what the truth table says of an entity, or what a check finds."""

    outcome: Outcome | None = None
    words: str = ""
    """What happened to the entity, as the end of a sentence; a check has words of its own."""
    codes: frozenset[Code] = frozenset()


CONFLICTS: Final[Mapping[ConflictKind, ConflictTraits]] = {
    ConflictKind.DIVERGENT_INSERT: ConflictTraits(
        outcome=Outcome.DIVERGENT_INSERT, words="was added with different values on both sides"
    ),
    ConflictKind.DIVERGENT_UPDATE: ConflictTraits(
        outcome=Outcome.DIVERGENT_UPDATE, words="was changed differently on both sides"
    ),
    ConflictKind.DELETE_VS_UPDATE: ConflictTraits(
        outcome=Outcome.DELETE_VS_UPDATE, words="was deleted on one side and changed on the other"
    ),
    ConflictKind.ORPHAN_EDGE: ConflictTraits(codes=frozenset({Code.ORPHAN_EDGE})),
    ConflictKind.UNIQUE_VIOLATION: ConflictTraits(codes=frozenset({Code.UNIQUE_VIOLATION})),
    ConflictKind.CARDINALITY_VIOLATION: ConflictTraits(codes=frozenset({Code.CARD_VIOLATION})),
    ConflictKind.VALUE_CONSTRAINT_VIOLATION: ConflictTraits(
        codes=frozenset(
            {
                Code.ID_MISMATCH,
                Code.INVALID_ID,
                Code.WRONG_TYPE,
                Code.OUT_OF_RANGE,
                Code.BAD_VECTOR,
                Code.MISSING_REQUIRED,
                Code.INVALID_ENUM,
                Code.RANGE_VIOLATION,
                Code.CHECK_VIOLATION,
                Code.DUPLICATE_ID,
                Code.KEY_CONFLICT,
            }
        )
    ),
}
"""The one place where a kind of conflict is declared, in the order in which errors are documented."""

KIND_BY_OUTCOME: Final = {traits.outcome: kind for kind, traits in CONFLICTS.items() if traits.outcome is not None}
_KIND_BY_CODE: Final = {code: kind for kind, traits in CONFLICTS.items() for code in traits.codes}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictImages:
    """One entity as export would write it, on each side; None where it does not exist."""

    base: Mapping[str, Any] | None
    source: Mapping[str, Any] | None
    target: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """One thing that a person has to decide by changing a side."""

    kind: ConflictKind
    table_key: TableKey
    entity_id: str | None
    message: str
    images: ConflictImages | None = None

    def document(self) -> dict[str, Any]:
        """Describe the conflict for programs, in the names of both generations of clients."""
        entity_kind, _, type_name = self.table_key.partition(":")
        described: dict[str, Any] = {
            "table_key": self.table_key,
            "entity_kind": entity_kind,
            "type_name": type_name,
            "row_id": self.entity_id,
            "entity_id": self.entity_id,
            "kind": self.kind.value,
            "message": self.message,
        }
        if self.images is not None:
            described |= {"base": self.images.base, "source": self.images.source, "target": self.images.target}
        return described


@dataclass(slots=True, kw_only=True)
class ConflictList:
    """Conflicts in the order in which they are reported."""

    total: int = 0
    kept: list[MergeConflict] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.total > 0

    def add(self, conflicts: Iterator[MergeConflict], *, total: int) -> None:
        """Take over as many of these conflicts as there is room for, and count all."""
        self.total += total
        self.kept.extend(conflict for conflict, _ in zip(conflicts, range(self.room), strict=False))

    def add_findings(self, findings: Offences) -> None:
        """Take over what the checks of the merged graph found."""
        self.add(map(_from_finding, findings.first), total=findings.total)

    @property
    def room(self) -> int:
        """How many more conflicts are kept."""
        return CONFLICTS_KEPT - len(self.kept)

    def error(self, *, source: str, target: str) -> MergeConflicts:
        """Make the error that refuses the merge; its message names the first few."""
        named = [conflict.message for conflict in self.kept[:_CONFLICTS_NAMED]]
        if self.total > len(named):
            named.append(f"and {self.total - len(named)} more")
        count = counted(self.total, "conflict")
        return MergeConflicts(
            f"Merging '{source}' into '{target}' meets {count}; nothing was written. Change one side and merge again: "
            + "; ".join(named),
            merge_conflicts=[conflict.document() for conflict in self.kept],
            merge_conflicts_total=self.total,
        )


def _from_finding(finding: Offence) -> MergeConflict:
    assert finding.table_key is not None
    kind = _KIND_BY_CODE.get(finding.code)
    if kind is None:
        raise Internal(f"branches/merge/conflicts.py does not say which kind of conflict {finding.code} is")
    return MergeConflict(
        kind=kind,
        table_key=finding.table_key,
        entity_id=finding.row_id,
        message=finding.message,
    )
