"""The decision table of recovery, against every combination of evidence: pure, no disk.

`CONTRACT` is the table, row by row in its order; the code must take the action of the first row that matches.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import pytest

from omnigraph.manifest.commits import CommitId
from omnigraph.writes.recovery.decide import UNDOING, Action, EffectClass, decide
from omnigraph.writes.recovery.facts import EffectFacts, SidecarFacts
from support import evidence

EXAMPLES: Mapping[EffectClass, Callable[[int], EffectFacts]] = {
    EffectClass.UNTOUCHED: lambda number: evidence.effect_facts("", number),
    EffectClass.EMPTY_FORK: lambda number: evidence.effect_facts("", number, is_fork=True),
    EffectClass.COMPLETE: lambda number: evidence.effect_facts("ab", number),
    EffectClass.PARTIAL: lambda number: evidence.effect_facts("a", number),
    EffectClass.COMPENSATED: lambda number: evidence.effect_facts("abr", number),
    EffectClass.FOREIGN: lambda number: evidence.effect_facts("x", number),
    EffectClass.BURIED: lambda number: evidence.effect_facts("abx", number),
    EffectClass.BEHIND: evidence.behind,
    EffectClass.UNREADABLE: evidence.unreadable,
}
OURS = {EffectClass.COMPLETE, EffectClass.PARTIAL, EffectClass.COMPENSATED}
DAMAGED = {EffectClass.BEHIND, EffectClass.UNREADABLE, EffectClass.BURIED}
NOT_OURS = {EffectClass.UNTOUCHED, EffectClass.EMPTY_FORK, EffectClass.FOREIGN}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the rows of the contract speak of."""

    classes: tuple[EffectClass, ...]
    moved_pins: frozenset[int] = frozenset()
    head_moved: bool = False
    schema_moved: bool = False
    branch_is_gone: bool = False
    forward_is_visible: bool = False
    rollback_is_visible: bool = False
    rollback_is_recorded: bool = False

    @property
    def has(self) -> set[EffectClass]:
        return set(self.classes)

    @property
    def authority_holds(self) -> bool:
        return not (self.head_moved or self.schema_moved or self.moved_pins)

    @property
    def ours_is_pinned_elsewhere(self) -> bool:
        return any(self.classes[position] in OURS for position in self.moved_pins)

    def facts(self) -> SidecarFacts:
        return evidence.sidecar_facts(
            *(EXAMPLES[found](number) for number, found in enumerate(self.classes, start=1)),
            branch_is_gone=self.branch_is_gone,
            moved_pins=self.moved_pins,
            head=CommitId("somebody else's") if self.head_moved else evidence.HEAD,
            ir_hash="another" if self.schema_moved else evidence.SCHEMA.ir_hash,
            forward_is_visible=self.forward_is_visible,
            rollback_is_visible=self.rollback_is_visible,
            rollback_is_recorded=self.rollback_is_recorded,
        )


CONTRACT: list[tuple[str, Callable[[Situation], bool], Action]] = [
    ("1", lambda at: at.forward_is_visible, Action.FINISH_FORWARD),
    ("2", lambda at: at.rollback_is_visible, Action.FINISH_BACK),
    ("3", lambda at: at.branch_is_gone, Action.DISCARD),
    ("4", lambda at: at.rollback_is_recorded, Action.ROLL_BACK),
    ("5", lambda at: bool(at.has & DAMAGED) or at.ours_is_pinned_elsewhere, Action.BLOCK),
    ("7", lambda at: at.has <= {EffectClass.COMPLETE} and at.authority_holds, Action.ROLL_FORWARD),
    ("8", lambda at: at.has <= NOT_OURS, Action.DROP),
    ("9", lambda _: True, Action.ROLL_BACK),
]
"""Row 6 is maintenance (`test_decide_maintenance.py`); row 6a concerns a kind of writer that does not exist yet."""


def situations() -> Iterator[Situation]:
    """Every combination on zero to two tables, and every combination of classes and pins on three."""
    for tables in range(4):
        for classes in product(EXAMPLES, repeat=tables):
            for moved in product([False, True], repeat=tables):
                moved_pins = frozenset(position for position, has_moved in enumerate(moved) if has_moved)
                for flags in product([False, True], repeat=6) if tables < 3 else [(False,) * 6]:
                    yield Situation(
                        classes=classes,
                        moved_pins=moved_pins,
                        head_moved=flags[0],
                        schema_moved=flags[1],
                        branch_is_gone=flags[2],
                        forward_is_visible=flags[3],
                        rollback_is_visible=flags[4],
                        rollback_is_recorded=flags[5],
                    )


def test_every_situation_gets_the_action_of_the_first_row_that_matches() -> None:
    rows_used = set()

    for situation in situations():
        row, action = next((row, action) for row, matches, action in CONTRACT if matches(situation))
        rows_used.add(row)
        assert decide(situation.facts()).action is action, (row, situation)

    assert rows_used == {row for row, _, _ in CONTRACT}


def test_nothing_is_undone_or_published_beside_a_foreign_commit_on_the_same_table() -> None:
    """Lance lets a restore win over anything that landed since; so a mixed history is never restored."""
    mixed = [
        "".join(word)
        for length in (2, 3, 4)
        for word in product("abrx", repeat=length)
        if "x" in word and set("abr") & set(word)
    ]

    for history in mixed:
        for other in ("", "a", "ab", "abr", "x"):
            facts = evidence.sidecar_facts(evidence.effect_facts(history, 1), evidence.effect_facts(other, 2))
            assert decide(facts).action is Action.BLOCK, (history, other)


def test_a_block_names_the_table_what_was_expected_and_what_was_found() -> None:
    decision = decide(evidence.sidecar_facts(evidence.effect_facts("ab", 1), evidence.effect_facts("abx", 2)))

    assert decision.action is Action.BLOCK
    assert "node:T2" in decision.reason
    assert f"version {evidence.EXPECTED}" in decision.reason
    assert f"HEAD {evidence.EXPECTED + 3}" in decision.reason


def test_only_a_block_has_a_reason() -> None:
    for situation in situations():
        decision = decide(situation.facts())

        assert bool(decision.reason) is (decision.action is Action.BLOCK), situation


def test_the_decision_reports_the_class_of_every_table() -> None:
    for classes in product(EXAMPLES, repeat=2):
        decision = decide(Situation(classes=classes).facts())

        assert tuple(decision.classes.values()) == classes


@pytest.mark.parametrize("classes", list(product(EXAMPLES, repeat=2)), ids="-".join)
def test_once_a_direction_is_durable_the_other_is_unreachable(classes: tuple[EffectClass, ...]) -> None:
    for head_moved in (False, True):
        forward = decide(Situation(classes=classes, head_moved=head_moved, forward_is_visible=True).facts())
        back = decide(Situation(classes=classes, head_moved=head_moved, rollback_is_recorded=True).facts())
        undone = decide(Situation(classes=classes, head_moved=head_moved, rollback_is_visible=True).facts())

        assert forward.action is Action.FINISH_FORWARD
        assert back.action is Action.ROLL_BACK
        assert undone.action is Action.FINISH_BACK


def test_what_must_wait_for_a_paused_writer_is_exactly_what_takes_its_work_away() -> None:
    assert {Action.ROLL_BACK, Action.DROP} == UNDOING


CREATIONS = {
    ("", ""): Action.DROP,
    ("a", ""): Action.ROLL_BACK,
    ("a", "a"): Action.ROLL_FORWARD,
    ("x", ""): Action.BLOCK,
    ("a", "x"): Action.BLOCK,
    ("ax", "a"): Action.BLOCK,
}


@pytest.mark.parametrize(("first", "second"), CREATIONS)
def test_new_tables_are_kept_together_removed_together_and_never_taken_from_somebody_else(
    first: str, second: str
) -> None:
    facts = evidence.sidecar_facts(evidence.created(1, first), evidence.created(2, second))

    assert decide(facts).action is CREATIONS[first, second]


def test_a_new_table_that_the_graph_shows_although_no_commit_of_ours_is_visible_blocks() -> None:
    facts = evidence.sidecar_facts(evidence.created(1, "a"), moved_pins=frozenset({0}))

    assert decide(facts).action is Action.BLOCK


def test_a_schema_whose_objects_are_gone_is_never_rolled_forward() -> None:
    complete = evidence.sidecar_facts(evidence.effect_facts("ab"), schema_is_stored=False)
    without_effects = evidence.sidecar_facts(schema_is_stored=False)

    assert decide(complete).action is Action.ROLL_BACK
    assert decide(without_effects).action is Action.DROP
