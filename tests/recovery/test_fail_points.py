"""A fail point that nobody arms, or a test that arms one which does not exist, makes a green crash suite worthless."""

from support.crash_cases import INIT_CASES, RECOVERY_CASES, SCHEMA_CASES, WRITER_CASES
from support.crash_inventory import TESTS, points_in_source, points_in_tests


def test_every_fail_point_is_armed_by_a_test_and_every_armed_name_exists() -> None:
    in_source, in_tests = points_in_source(), points_in_tests()

    assert in_source - in_tests == set(), "no test arms these"
    assert in_tests - in_source == set(), "tests arm these, but the code never reaches them"


def test_every_fail_point_is_spelled_so_that_tests_of_it_are_found() -> None:
    assert [point for point in points_in_source() if "_" not in point.rpartition(".")[2]] == []


def test_every_point_of_the_matrix_is_proven_to_fire() -> None:
    """A child that was to be killed and was not fails its test; an injected error may be swallowed on purpose."""
    cases = [*WRITER_CASES, *RECOVERY_CASES, *INIT_CASES, *SCHEMA_CASES]

    killed = {case.point for case in cases if case.action == "kill"}

    assert {case.point for case in cases} - killed == set()


def test_the_committed_matrix_names_every_fail_point() -> None:
    committed = (TESTS.parent / "docs" / "design" / "crash-matrix.md").read_text(encoding="utf-8")

    missing = {point for point in points_in_source() if f"`{point}`" not in committed}

    assert missing == set(), "run `make crash-report`"
