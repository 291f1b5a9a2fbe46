"""Findings of one kind with one remedy are one finding; what is different stays apart."""

from omnigraph.maintenance.health.finding import Figures, Finding, Severity, Status, status_of
from omnigraph.maintenance.health.grouping import NO_ROWS, group_findings

OPTIMIZE = "omnigraph optimize g.omni"


def about(
    table_key: str | None,
    code: str,
    figures: Figures | None = None,
    *,
    message: str = "something",
    severity: Severity = Severity.ATTENTION,
    branch: str | None = None,
    fix: str = OPTIMIZE,
) -> Finding:
    return Finding(
        severity=severity, code=code, message=message, fix=fix, table_key=table_key, branch=branch, figures=figures
    )


def test_fragments_are_added_up_and_all_tables_are_named():
    (finding,) = group_findings(
        [
            about("node:A", "fragmented", Figures(fragments_before=3, fragments_after=1)),
            about("node:B", "fragmented", Figures(fragments_before=9, fragments_after=2, deleted_rows=5)),
        ]
    )

    assert finding.message == "12 fragments could be 3, with 5 deleted rows in them"
    assert (finding.tables, finding.table_key) == (("node:A", "node:B"), None)
    assert finding.fix == OPTIMIZE


def test_one_table_keeps_its_key_and_its_message():
    (finding,) = group_findings([about("node:A", "drift", message="at version 4")])

    assert (finding.table_key, finding.tables, finding.message) == ("node:A", ("node:A",), "at version 4")
    assert finding.members == ()


def test_another_remedy_or_branch_or_kind_is_another_finding():
    found = [
        about("node:A", "fragmented", Figures()),
        about("node:A", "index_stale", Figures()),
        about("node:A", "fragmented", Figures(), branch="review"),
        about("node:A", "fragmented", Figures(), fix="omnigraph repair g.omni"),
    ]

    assert len(group_findings(found)) == 4


def test_what_a_first_run_settles_is_one_finding_that_says_built_in_and_declared_apart():
    found = [
        about("edge:E", "index_missing", Figures(built_in=("id", "src", "dst"))),
        about("node:A", "index_missing", Figures(built_in=("id",), declared=("A.name", "A.name", "A.age"))),
        about("node:A", "fragmented", Figures(fragments_before=4, fragments_after=1)),
        about("node:B", "index_stale", Figures(known_percent=40), branch="review"),
    ]

    fresh, stale = group_findings(found, never_optimized=[None])

    assert fresh.code == "never_optimized"
    assert fresh.message == (
        "never optimized: the indexes that every table has are not built (on id, src, dst); "
        "3 declared indexes are not built (on A.name, A.age); 4 fragments could be 1"
    )
    assert fresh.tables == ("edge:E", "node:A")
    assert (stale.code, stale.branch) == ("index_stale", "review")


def test_the_worst_of_a_group_decides_and_comes_first():
    (finding,) = group_findings(
        [
            about("node:A", "fragmented", Figures()),
            about("node:B", "fragmented", Figures(), severity=Severity.ACTION),
        ]
    )

    assert finding.severity is Severity.ACTION
    assert finding.tables == ("node:B", "node:A")
    assert status_of([finding]) is Status.ACTION


def test_what_waits_for_rows_and_what_waits_for_vectors_are_two_things():
    found = [
        about("node:A", "index_pending", Figures(waits_for=NO_ROWS), severity=Severity.INFO, message="no index on id"),
        about("node:B", "index_pending", Figures(waits_for=NO_ROWS), severity=Severity.INFO, message="no index on x"),
        about("node:C", "index_pending", Figures(waits_for="vectors"), severity=Severity.INFO, message="12 vectors"),
    ]

    empty, few = group_findings(found)

    assert empty.message == "no rows yet, so there is nothing to index"
    assert few.message == "12 vectors"
    assert not empty.needs_something


def test_a_kind_that_nobody_described_gets_its_messages_side_by_side_with_an_end():
    found = [about(f"node:T{number}", "files_missing", message=f"{number} files are gone") for number in range(5)]

    (finding,) = group_findings(found)

    assert finding.message == (
        "node:T0: 0 files are gone; node:T1: 1 files are gone; node:T2: 2 files are gone; and 2 more"
    )
    assert len(finding.tables) == 5


def test_findings_about_no_table_are_grouped_too():
    found = [
        about(None, "recovery_pending", message=f"{name} was interrupted", fix="omnigraph recover g") for name in "ab"
    ]

    (finding,) = group_findings(found)

    assert finding.message == "a was interrupted; b was interrupted"
    assert finding.tables == ()


def test_branches_go_together_only_under_a_command_for_all_of_them():
    everywhere = "omnigraph optimize g.omni --all-branches"
    found = [about("node:A", "drift", branch=name, fix=everywhere) for name in ("x", "y")]

    (together,) = group_findings(found, fix_for_all_branches=everywhere)

    assert (together.table_key, together.branch) == (None, None)
    assert together.places == ("node:A on x", "node:A on y")
    assert together.tables == ("node:A",)
    assert len(group_findings(found)) == 2
