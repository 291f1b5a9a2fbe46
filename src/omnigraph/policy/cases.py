"""Files of policy tests: what a bundle is expected to decide, case by case."""

from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.policy.strict_file import StrictFile


class Expectation(StrEnum):
    """The two answers a case may expect."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    """One question and the answer it should get."""

    id: str
    actor: str
    action: PolicyAction
    branch: str | None
    target_branch: str | None
    expect: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """A case with the answer that it got."""

    case: PolicyCase
    actual: str
    matched_rule: str | None

    @property
    def is_as_expected(self) -> bool:
        """Whether the answer is the expected one."""
        return self.actual == self.case.expect.value


def parse_cases(text: str, *, source: str) -> tuple[PolicyCase, ...]:
    """Read a file of tests; raise `PolicyInvalid` for what is none."""
    file = StrictFile(f"policy tests '{source}'")
    cases: dict[str, PolicyCase] = {}
    for number, entry in enumerate(file.items(file.root(text, {"cases"}).get("cases"), "`cases`"), start=1):
        case = _case(file, entry, number)
        if case.id in cases:
            raise file.wrong(f"the case id '{case.id}' is a duplicate.")
        cases[case.id] = case
    return tuple(cases.values())


def _case(file: StrictFile, entry: object, number: int) -> PolicyCase:
    keys = file.keys(entry, f"case {number}", {"id", "actor", "action", "branch", "target_branch", "expect"})
    case_id = file.name(keys.get("id"), f"the id of case {number}")
    named = f"case '{case_id}'"

    def branch(key: str) -> str | None:
        return file.name(keys[key], f"`{key}` of {named}") if key in keys else None

    return PolicyCase(
        id=case_id,
        actor=file.name(keys.get("actor"), f"`actor` of {named}"),
        action=file.word(
            keys.get("action"),
            f"`action` of {named}",
            PolicyAction,
            refusal=lambda word: f"{named} has the unknown action '{word}'",
        ),
        branch=branch("branch"),
        target_branch=branch("target_branch"),
        expect=file.word(
            keys.get("expect"),
            f"`expect` of {named}",
            Expectation,
            refusal=lambda word: f"{named} expects '{word}'",
        ),
    )
