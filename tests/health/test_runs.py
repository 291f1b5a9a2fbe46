"""What journal entries say about runs, whichever release wrote them, and what counts as failing again and again."""

from collections.abc import Mapping
from typing import Any

from omnigraph.maintenance.health.runs import maintenance_runs, repeated_failures
from omnigraph.maintenance.journal import JournalEntry


def entry(number: int, verb: str, document: Mapping[str, Any]) -> JournalEntry:
    return JournalEntry(
        run_id=str(number), verb=verb, host="h", started_at_us=number, ended_at_us=number + 5, document=document
    )


def optimized(number: int, **error_by_table: str | None) -> JournalEntry:
    tables = [{"table_key": name, "error": error} for name, error in error_by_table.items()]
    return entry(number, "optimize", {"branch": "main", "tables": tables})


def test_a_cleanup_is_read_as_a_summary_and_row_by_row() -> None:
    rows = [{"table_key": "a", "old_versions_removed": 2, "bytes_removed": 30, "error": None}]

    runs = maintenance_runs(
        [entry(1, "cleanup", {"versions": 2, "bytes": 30}), entry(2, "cleanup", {"tables": rows})], []
    )

    assert [(run.versions_removed, run.bytes_removed, run.branch) for run in runs] == [(2, 30, None)] * 2


def test_an_entry_that_says_nothing_known_is_a_run_all_the_same() -> None:
    (run,) = maintenance_runs([entry(1, "optimize", {"tables": "many", "versions": None})], [])

    assert (run.duration_us, run.fragments_removed, run.errors) == (5, 0, {})


def test_failures_count_from_the_newest_run_back_to_the_last_success() -> None:
    runs = maintenance_runs([optimized(1, a="x"), optimized(2, a=None), optimized(3, a="x"), optimized(4, a="y")], [])

    (failure,) = repeated_failures(runs)

    assert (failure.table_key, failure.times, failure.error) == ("a", 2, "y")


def test_a_run_that_did_not_try_the_table_neither_counts_nor_heals() -> None:
    runs = maintenance_runs([optimized(1, a="x"), optimized(2, b=None), optimized(3, a="x")], [])

    assert [(failure.table_key, failure.times) for failure in repeated_failures(runs)] == [("a", 2)]


def test_what_worked_when_it_was_last_tried_is_no_failure() -> None:
    assert repeated_failures(maintenance_runs([optimized(1, a="x"), optimized(2, a=None)], [])) == ()
