"""What `make test` leaves to `make test-all`: most cases of the long matrices, by how long they were measured to take.

Every test keeps its first case of every so many, in the order of collection; 0 keeps none. Both commands together are
every case once. Tests that say nothing here run whole in `make test`, except that of those on S3 and of those with
many cases only some do.

`make test-all TURNS=3` runs a third of what is left to it. Which one depends on the commit, so that about three of
them run all: for machines on which everything takes longer than anybody waits for.
"""

import os
import subprocess
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

KEEP_EVERY = {
    # Spark in processes of its own: a start of Java each.
    "tests/spark/test_places.py": 0,
    "tests/load/test_bulk_failures.py": 0,
    "tests/spark/test_cli.py": 0,
    "tests/spark/test_frames.py::test_a_cleanup_elsewhere": 0,
    "tests/spark/test_frames.py::test_a_typed_filter": 8,
    "tests/spark/test_frames.py::test_page_rank": 0,
    "tests/spark/test_frames.py": 2,
    "tests/spark/test_cluster.py": 0,
    "tests/spark/test_settings.py": 0,
    "tests/spark/test_write.py::test_workers_check": 0,
    "tests/spark/test_errors.py::test_our": 4,
    "tests/spark/test_changes.py::test_a_hundred_commits": 0,
    "tests/spark/test_changes.py::test_the_first_batch_is_the_same": 0,
    "tests/spark/test_changes.py::test_a_change_of_the_schema": 0,
    "tests/spark/test_changes.py::test_what_cleanup_took": 0,
    "tests/spark/test_changes.py::test_without_a_start": 0,
    "tests/spark/test_sink.py::test_updated_aggregates": 0,
    "tests/policy/test_spark.py::test_a_frame": 0,
    "tests/policy/test_spark.py::test_the_handle": 0,
    "tests/spark/test_sink.py::test_spark_lets_no_sink": 0,
    "tests/spark/test_stream.py::test_a_batch_is_there_once_after_the_driver_was_killed": 0,
    "tests/load/test_bulk.py::test_spark_agrees_with_a_small_load": 0,
    "tests/optimize/test_spark.py": 5,
    "tests/maintain/test_spark.py": 0,
    "tests/embed/test_graph.py": 3,
    "tests/optimize/test_beside_writers.py": 0,
    "tests/optimize/test_foreseen.py::test_a_write_meanwhile": 7,
    "tests/merge/test_bulk.py::test_random_branches": 0,
    "tests/merge/test_bulk.py": 4,
    "tests/spark/test_guest.py::test_a_session_that_we_start": 0,
    "tests/spark/test_guest.py::test_everything_is_as_before": 0,
    "tests/spark/test_source.py::test_no_answer_depends": 0,
    "tests/cleanup/test_spark.py::test_both_engines_remove": 0,
    "tests/merge/test_rules.py": 3,
    "tests/query/test_spark.py::test_answers": 0,
    "tests/query/test_spark.py::test_generated": 0,
    "tests/guards/test_spark_pushdown.py": 0,
    # A killed process or more per case, and stores that fail at every request in turn.
    "tests/writes/test_crash_store_faults.py": 0,
    "tests/recovery/test_crash_interference.py": 0,
    "tests/writes/test_crash.py": 160,
    "tests/manifest/test_crash.py": 0,
    "tests/maintain/test_crash_s3.py": 0,
    "tests/*/test_crash*": 40,
    "tests/soak/": 0,
    "tests/client/test_mcp.py::test_the_same_tools": 0,
    # Long histories, many processes, waits for leases to expire: ten seconds and more each.
    "tests/query/test_benchmark.py::test_every_figure": 0,
    "tests/graphs/test_time_travel.py::test_every_earlier_commit_reads_back_as_it_was": 0,
    "tests/load/test_concurrency.py": 0,
    "tests/load/test_frame_lookups.py::test_random": 20,
    "tests/load/test_frame_lookups.py::test_every_way_refuses_what": 7,
    "tests/storage/test_locks.py::test_a_wrong_wall_clock": 0,
    "tests/cli/test_boundary.py::test_absurd_clocks": 4,
    "tests/writes/test_footprint.py::test_a_commit_costs_as_many": 0,
    "tests/cleanup/test_history.py::test_the_steps_of_an_optimize_use_up_no_place": 2,
    "tests/cleanup/test_clock.py::test_a_machine_that_is_ahead": 2,
    "tests/health/test_remedies.py::test_a_fragmented_graph": 2,
    "tests/merge/test_many_branches.py": 0,
    "tests/maintain/test_processes.py::test_two_runs": 2,
    "tests/recovery/test_model.py": 0,
    "tests/query/test_image_commits.py::test_after_random_commits": 6,
    "tests/query/test_image_follows.py::test_a_reader_follows_a_writer_for_a_minute": 0,
    "tests/changes/test_model_compare.py": 0,
    "tests/query/test_model_mutations.py": 3,
    "tests/merge/test_pairs.py": 6,
    "tests/cli/test_examples.py::test_every_example_runs_as_printed": 0,
    "tests/docs/test_examples.py": 25,
    "tests/server/test_fuzz.py": 0,
    "tests/server/test_soak.py": 0,
    "tests/server/test_streams.py::test_an_export_of_many_rows": 0,
    # Two starts of a server each, or loads long enough to be interrupted.
    "tests/server/test_process.py::test_two_servers": 0,
    "tests/server/test_process.py::test_a_second_signal": 0,
    "tests/server/test_process.py::test_a_write_that_began": 0,
    "tests/server/test_s3.py": 0,
    "tests/server/test_behind_nginx.py": 0,
    # Clusters with graphs that are made for one diagnostic code each.
    "tests/cluster/test_diagnostics.py": 8,
    # Quick in all their cases.
    "tests/server/": 1,
    "tests/base/": 1,
    "tests/catalog/": 1,
    "tests/language/": 1,
    "tests/records/": 1,
    "tests/cluster/": 1,
    "tests/cli/test_addressing.py": 1,
    "tests/cli/test_alias.py": 1,
    "tests/cli/test_tokens.py": 1,
    "tests/branches/test_names.py": 1,
    "tests/changes/test_pairs.py": 1,
    "tests/cleanup/test_policy.py": 1,
    "tests/embed/test_providers.py": 1,
    "tests/embed/test_vectors.py": 1,
    "tests/engine/test_choice.py": 1,
    "tests/engine/test_job_causes.py": 1,
    "tests/load/test_buckets.py": 1,
    "tests/load/test_csv_text.py": 1,
    "tests/load/test_sources.py": 1,
    "tests/maintenance/test_option_defaults.py": 1,
    "tests/manifest/test_ancestry.py": 1,
    "tests/manifest/test_old_rows.py": 1,
    "tests/merge/test_decisions.py": 1,
    "tests/optimize/test_plan.py": 1,
    "tests/query/test_codes.py": 1,
    "tests/query/test_meaning.py": 1,
    "tests/query/test_parameters.py": 1,
    "tests/recovery/test_decide.py": 1,
    "tests/schema/test_identities.py": 1,
    "tests/schema/test_plan.py": 1,
    "tests/schema/test_plan_report.py": 1,
    "tests/schema/test_refused_plans.py": 1,
    "tests/spark/test_shell.py": 1,
    "tests/writes/test_incoming.py": 1,
    "tests/architecture/": 1,
    "tests/golden/": 1,
    "tests/docs/": 1,
}
TURNS_VARIABLE = "OMNIGRAPH_TEST_TURNS"
KEEP_EVERY_ON_S3 = 6
MANY_CASES = 6
KEEP_EVERY_OF_MANY = 4


def leave_most_to_test_all(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out as `exhaustive`."""
    cases = Counter(_test_of(item) for item in items)
    seen: Counter[str] = Counter()
    for item in items:
        test = _test_of(item)
        every = next((every for path, every in KEEP_EVERY.items() if fnmatchcase(item.nodeid, f"{path}*")), None)
        if every is None and item.get_closest_marker("s3"):
            test, every = f"{item.nodeid.partition('::')[0]} on S3", KEEP_EVERY_ON_S3
        if every is None and cases[test] >= MANY_CASES:
            every = KEEP_EVERY_OF_MANY
        if every is not None and (every == 0 or seen[test] % every):
            item.add_marker("exhaustive")
        seen[test] += 1
    _take_turns([item for item in items if item.get_closest_marker("exhaustive")])


def _take_turns(items: list[pytest.Item]) -> None:
    """Mark those as `resting` whose turn another commit is."""
    turns = int(os.environ.get(TURNS_VARIABLE) or 1)
    if turns == 1:
        return
    turn = _commit_number() % turns
    for place, item in enumerate(items):
        if place % turns != turn:
            item.add_marker("resting")


def _commit_number() -> int:
    """Return a number that every commit has another of; the same code always gives the same."""
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(head.stdout[:8] or "0", 16)


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
