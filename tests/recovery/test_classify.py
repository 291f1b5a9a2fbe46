"""How far one table got: every history of up to four versions against the classes of the recovery contract."""

import re
from dataclasses import replace
from itertools import product

import pytest

from omnigraph.writes.recovery.decide import EffectClass, classify
from support import evidence

HISTORIES = ["".join(word) for length in range(5) for word in product("abrx", repeat=length)]

# The contract, spelled as patterns over histories: the whole history must match, the first pattern that does decides.
CONTRACT_BY_PLAN = {
    "a": [
        ("", EffectClass.UNTOUCHED),
        ("a", EffectClass.COMPLETE),
        ("a?r", EffectClass.COMPENSATED),
        # Nobody planned `b` here, so to this operation it is somebody else's.
        ("[xb]+", EffectClass.FOREIGN),
        (".*", EffectClass.BURIED),
    ],
    "ab": [
        ("", EffectClass.UNTOUCHED),
        ("ab", EffectClass.COMPLETE),
        ("a", EffectClass.PARTIAL),
        ("(ab?)?r", EffectClass.COMPENSATED),
        ("x+", EffectClass.FOREIGN),
        (".*", EffectClass.BURIED),
    ],
}


@pytest.mark.parametrize("planned", CONTRACT_BY_PLAN)
def test_every_history_has_the_class_that_the_contract_gives_it(planned: str) -> None:
    contract = CONTRACT_BY_PLAN[planned]

    for history in HISTORIES:
        expected = next(found for pattern, found in contract if re.fullmatch(pattern, history))
        assert classify(evidence.effect_facts(history, planned=planned)) is expected, history


def test_a_fork_is_told_like_a_table_but_absent_is_untouched_and_bare_is_empty() -> None:
    assert classify(evidence.gone(is_fork=True)) is EffectClass.UNTOUCHED
    assert classify(evidence.effect_facts("", is_fork=True)) is EffectClass.EMPTY_FORK
    for history in HISTORIES[1:]:
        on_table, on_fork = (classify(evidence.effect_facts(history, is_fork=is_fork)) for is_fork in (False, True))
        assert on_table is on_fork, history


@pytest.mark.parametrize("facts", [evidence.gone(), evidence.behind()], ids=["gone", "shorter"])
def test_a_table_that_lost_what_the_writer_started_from_is_behind(facts: evidence.EffectFacts) -> None:
    assert classify(facts) is EffectClass.BEHIND


def test_a_history_that_cannot_be_read_is_unreadable_whatever_its_length() -> None:
    for versions in range(1, 4):
        facts = replace(evidence.unreadable(), head_version=evidence.EXPECTED + versions)

        assert classify(facts) is EffectClass.UNREADABLE


def test_a_restore_to_another_version_is_no_compensation() -> None:
    restore = evidence.operation("r", restored_version=evidence.EXPECTED - 1)
    facts = replace(evidence.effect_facts("abr"), operations=(*evidence.effect_facts("ab").operations, restore))

    assert classify(facts) is EffectClass.BURIED


def test_the_compensation_uuid_on_anything_but_a_restore_is_no_compensation() -> None:
    impostor = replace(evidence.operation("r"), number=evidence.UPDATE, restored_version=None)
    facts = replace(evidence.effect_facts("abr"), operations=(*evidence.effect_facts("ab").operations, impostor))

    assert classify(facts) is EffectClass.BURIED


def test_the_right_number_of_versions_proves_nothing() -> None:
    """Lance rebases: a foreign commit may stand exactly where ours was to be."""
    assert classify(evidence.effect_facts("xx", planned="ab")) is EffectClass.FOREIGN
    assert classify(evidence.effect_facts("x", planned="a")) is EffectClass.FOREIGN


def test_a_table_that_was_to_be_created_is_ours_only_with_exactly_our_first_version() -> None:
    expected = {
        "": EffectClass.UNTOUCHED,
        "a": EffectClass.COMPLETE,
        "x": EffectClass.FOREIGN,
        "xx": EffectClass.FOREIGN,
        "ax": EffectClass.BURIED,
        "xa": EffectClass.BURIED,
    }

    assert {history: classify(evidence.created(history=history)) for history in expected} == expected
