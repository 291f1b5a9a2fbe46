"""A kind of conflict is declared in one place, and nothing is called by another kind for want of its own."""

import pytest

from omnigraph.branches.merge.conflicts import CONFLICTS, KIND_BY_OUTCOME, ConflictKind, ConflictList
from omnigraph.branches.merge.resolution import Outcome, agreement_expression, outcome_expression
from omnigraph.catalog.model import TableKey
from omnigraph.errors import Internal
from omnigraph.records.offences import Code, Offence, Offences

OF_TEXTS = {
    Code.INVALID_UTF8,
    Code.INVALID_JSON,
    Code.DUPLICATE_MEMBER,
    Code.NOT_AN_OBJECT,
    Code.BAD_ENVELOPE,
    Code.UNKNOWN_FIELD,
    Code.RESERVED_FIELD,
    Code.UNKNOWN_TYPE,
    Code.UNKNOWN_PROPERTY,
    Code.BAD_BLOB,
    Code.EXTERNAL_BLOB_DENIED,
}
"""What only the text of a record can be: a merge reads rows."""


def findings_of(code: Code) -> Offences:
    finding = Offence(code=code, message="a rule is broken", table_key=TableKey("node:A"), row_id="a")
    return Offences(by_code={code: 1}, first=(finding,))


@pytest.mark.parametrize("kind", ConflictKind)
def test_every_kind_says_where_it_comes_from(kind: ConflictKind) -> None:
    traits = CONFLICTS[kind]
    assert (traits.outcome is None) is (traits.words == "")
    assert (traits.outcome is None) is bool(traits.codes)


def test_every_outcome_decides_or_is_a_conflict() -> None:
    assert set(Outcome) == {Outcome.TAKE, Outcome.DELETE, *KIND_BY_OUTCOME}
    spelled = outcome_expression(are_equal="true") + agreement_expression(2)
    assert all(f"'{outcome}'" in spelled for outcome in Outcome)


@pytest.mark.parametrize("code", sorted(set(Code) - OF_TEXTS))
def test_every_finding_in_merged_rows_is_one_kind_of_conflict(code: Code) -> None:
    conflicts = ConflictList()
    conflicts.add_findings(findings_of(code))
    (found,) = conflicts.kept
    assert [kind for kind, traits in CONFLICTS.items() if code in traits.codes] == [found.kind]


@pytest.mark.parametrize("code", sorted(OF_TEXTS))
def test_what_no_merge_can_find_is_an_error_and_no_conflict(code: Code) -> None:
    with pytest.raises(Internal, match=code.value):
        ConflictList().add_findings(findings_of(code))
