"""How recovery judges maintenance: by the kinds of commits, never undone, each table for itself."""

from dataclasses import replace
from itertools import product

import pytest

from omnigraph.storage.operations import TableOperation
from omnigraph.writes.recovery.decide import Action, EffectClass, classify, decide
from omnigraph.writes.recovery.facts import EffectFacts, SidecarFacts
from omnigraph.writes.sidecar import EffectKind, SidecarKind
from support import evidence

NUMBERS = {"v": 107, "w": 104, "i": 103, "s": 110, "c": 110, "x": 100, "r": 106, "?": 999}
"""reserVe, reWrite, Index, Strip, Config change, append, Restore, and an operation that nobody knows."""
HARMLESS = "vwis"


def table(history: str, number: int = 1, *, pinned: int | None = evidence.EXPECTED) -> EffectFacts:
    """Say what lies above the version that the run started from, and which version the branch shows."""
    effect = replace(evidence.effect(number, ""), effect=EffectKind.MAINTENANCE)
    made = tuple(
        TableOperation(
            uuid=f"{letter}{position}",
            read_version=0,
            number=NUMBERS[letter],
            properties={},
            restored_version=None,
            is_upkeep=letter == "s",
        )
        for position, letter in enumerate(history)
    )
    head = evidence.EXPECTED + len(history)
    return EffectFacts(effect=effect, head_version=head, operations=made, pinned_version=pinned)


def run(*tables: EffectFacts) -> SidecarFacts:
    facts = evidence.sidecar_facts(*tables)
    return replace(facts, sidecar=replace(facts.sidecar, kind=SidecarKind.OPTIMIZE))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_table_is_complete_exactly_when_every_commit_keeps_its_rows(length):
    for history in map("".join, product(NUMBERS, repeat=length)):
        expected = EffectClass.COMPLETE if set(history) <= set(HARMLESS) else EffectClass.FOREIGN
        assert classify(table(history)) is expected, history


def test_an_untouched_table_is_untouched():
    assert classify(table("")) is EffectClass.UNTOUCHED


def test_what_the_branch_shows_already_counts_as_published_whoever_made_it():
    assert classify(table("wx", pinned=evidence.EXPECTED + 2)) is EffectClass.PUBLISHED
    assert classify(table("wxvw", pinned=evidence.EXPECTED + 2)) is EffectClass.COMPLETE
    assert classify(table("wvx", pinned=evidence.EXPECTED + 2)) is EffectClass.FOREIGN


def test_a_table_that_the_branch_does_not_show_on_this_ref_is_left_alone():
    assert classify(table("vw", pinned=None)) is EffectClass.FOREIGN


def test_maintenance_is_rolled_forward_as_far_as_it_got_and_never_back():
    histories = ["", "s", "vw", "wx", "x"]
    for first, second in product(histories, repeat=2):
        facts = run(table(first, 1), table(second, 2))
        advanced = EffectClass.COMPLETE in {classify(found) for found in facts.effects}
        assert decide(facts).action is (Action.ROLL_FORWARD if advanced else Action.DROP), (first, second)


def test_a_moved_head_and_a_moved_schema_do_not_matter():
    facts = evidence.sidecar_facts(table("vw"), head="other", ir_hash="other")

    decision = decide(replace(facts, sidecar=replace(facts.sidecar, kind=SidecarKind.OPTIMIZE)))

    assert decision.action is Action.ROLL_FORWARD


def test_a_table_that_lost_versions_or_cannot_be_read_blocks():
    lost = replace(table(""), head_version=evidence.EXPECTED - 1)
    unreadable = replace(table("v"), operations=None)

    assert decide(run(lost)).action is Action.BLOCK
    assert decide(run(table("vw", 1), replace(unreadable, effect=table("", 2).effect))).action is Action.BLOCK
