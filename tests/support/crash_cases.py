"""The crash matrix as data: where a writer dies or breaks, and what must be true afterwards.

Rows are numbered as in the recovery contract. A case is one fail point, one action and how many passages it lets
through; `outcome` is what any later reader must see, `settled` what the audit of the following recovery says (None
when there is nothing to settle).
"""

from dataclasses import dataclass
from typing import Literal

TABLES_TOUCHED = 4


@dataclass(frozen=True, kw_only=True)
class Case:
    row: int
    point: str
    action: Literal["kill", "error"]
    outcome: Literal["old", "new"]
    settled: str | None = None
    skip: int = 0
    times: int | None = None
    succeeds: bool = False
    """Whether the writer itself returns success."""
    warns: bool = False

    @property
    def failpoint(self) -> str:
        times = f":{self.times}" if self.times is not None else ""
        return f"{self.point}:{self.action}:{self.skip}{times}"

    @property
    def id(self) -> str:
        return f"{self.row:02d}-{self.point}-{self.action}{f'-{self.skip}' if self.skip else ''}"


def _rows() -> list[Case]:
    cases = [
        Case(row=1, point="write.after_stage", action="kill", outcome="old"),
        Case(row=1, point="write.after_stage", action="error", outcome="old"),
        Case(row=2, point="write.after_gates", action="kill", outcome="old"),
        Case(row=2, point="write.after_gates", action="error", outcome="old"),
        Case(row=3, point="write.arm_fails", action="kill", outcome="old"),
        Case(row=3, point="write.arm_fails", action="error", outcome="old"),
        Case(row=4, point="write.arm_ack_lost", action="kill", outcome="old", settled="dropped"),
        Case(row=4, point="write.arm_ack_lost", action="error", outcome="new", succeeds=True),
        Case(row=5, point="write.after_arm", action="kill", outcome="old", settled="dropped"),
        Case(row=5, point="write.after_arm", action="error", outcome="old"),
    ]
    for skip in range(TABLES_TOUCHED - 1):
        cases += [
            Case(row=6, point="write.between_tables", action="kill", skip=skip, outcome="old", settled="rolled_back"),
            Case(row=6, point="write.between_tables", action="error", skip=skip, outcome="old"),
        ]
    for skip in range(TABLES_TOUCHED):
        is_last = skip == TABLES_TOUCHED - 1
        cases += [
            Case(
                row=7,
                point="write.commit_ack_lost",
                action="kill",
                skip=skip,
                outcome="new" if is_last else "old",
                settled="rolled_forward" if is_last else "rolled_back",
            ),
            Case(
                row=7, point="write.commit_ack_lost", action="error", skip=skip, outcome="new", succeeds=True, times=1
            ),
        ]
    cases += [
        Case(row=8, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
        Case(row=8, point="write.after_effects", action="error", outcome="new", succeeds=True),
        Case(row=9, point="write.publish_ack_lost", action="kill", outcome="new", settled="finished"),
        Case(row=9, point="write.publish_ack_lost", action="error", outcome="new", succeeds=True),
        Case(row=10, point="write.publish_contended", action="kill", outcome="new", settled="rolled_forward"),
        Case(row=10, point="write.publish_contended", action="error", outcome="new", succeeds=True, times=5),
        Case(row=11, point="write.after_publish", action="kill", outcome="new", settled="finished"),
        Case(row=12, point="write.log_fails", action="kill", outcome="new", settled="finished"),
        Case(row=12, point="write.log_fails", action="error", outcome="new", succeeds=True, warns=True),
        Case(row=13, point="write.after_log", action="kill", outcome="new", settled="finished"),
        Case(row=14, point="write.delete_fails", action="kill", outcome="new", settled="finished"),
        Case(
            row=14,
            point="write.delete_fails",
            action="error",
            outcome="new",
            settled="finished",
            succeeds=True,
            warns=True,
        ),
    ]
    return cases


WRITER_CASES = _rows()

RECOVERY_CASES = [
    Case(row=67, point="recover.after_list", action="kill", outcome="old"),
    Case(row=68, point="recover.after_rollback_recorded", action="kill", outcome="old"),
    Case(row=68, point="recover.after_rollback_recorded", action="error", outcome="old"),
    Case(row=69, point="recover.after_restore", action="kill", outcome="old"),
    Case(row=69, point="recover.after_restore", action="error", outcome="old"),
    Case(row=69, point="recover.after_restore", action="kill", outcome="old", skip=1),
    Case(row=70, point="recover.restore_ack_lost", action="kill", outcome="old"),
    Case(row=70, point="recover.restore_ack_lost", action="error", outcome="old", succeeds=True, times=1),
    Case(row=71, point="recover.after_rollback_publish", action="kill", outcome="old"),
    Case(row=72, point="recover.after_forward_publish", action="kill", outcome="new"),
    Case(row=73, point="recover.audit_fails", action="kill", outcome="old"),
    Case(row=73, point="recover.audit_fails", action="error", outcome="old"),
    Case(row=74, point="recover.delete_fails", action="kill", outcome="old"),
    Case(row=74, point="recover.delete_fails", action="error", outcome="old"),
]
"""A recovery dies or breaks while it settles a writer that died between its tables (old) or after them (new)."""

_TABLES_OF_THE_FIXTURE = 5


def _init_rows() -> list[Case]:
    unborn = [("init.after_claim", 0), ("init.after_schemas", 0)]
    unborn += [("init.after_each_table", skip) for skip in range(_TABLES_OF_THE_FIXTURE)]
    return [
        *(
            Case(row=61, point=point, action=action, skip=skip, outcome="old")
            for point, skip in unborn
            for action in ("kill", "error")
        ),
        Case(row=62, point="init.manifest_ack_lost", action="kill", outcome="new"),
        Case(row=62, point="init.manifest_ack_lost", action="error", outcome="new", succeeds=True),
        Case(row=63, point="init.after_manifest", action="kill", outcome="new"),
        Case(row=63, point="init.after_manifest", action="error", outcome="new"),
    ]


INIT_CASES = _init_rows()
"""An init dies or breaks before the commit that makes the root a graph (old) or after it (new)."""

SCHEMA_CASES = [
    Case(row=43, point="schema.after_objects", action="kill", outcome="old"),
    Case(row=43, point="schema.after_objects", action="error", outcome="old"),
    Case(row=44, point="schema.after_create_table", action="kill", outcome="old", settled="rolled_back"),
    Case(row=44, point="schema.after_create_table", action="error", outcome="old"),
    Case(row=44, point="schema.after_create_table", action="kill", skip=1, outcome="old", settled="rolled_back"),
    Case(row=47, point="schema.after_publish", action="kill", outcome="new", settled="finished"),
    Case(
        row=47,
        point="schema.after_publish",
        action="error",
        outcome="new",
        settled="finished",
        succeeds=True,
        warns=True,
        times=1,
    ),
]
"""A schema change dies or breaks where no other writer passes."""
