"""Repair publishes once and touches no table: killed before that, it has done nothing."""

import os
import signal
import subprocess
import sys

import lance
import pytest

from omnigraph.maintenance.repair.drift import Classification
from support import harbor
from support.failpoints import armed
from support.processes import child_environment
from support.writers import sweep_until_free

REPAIR = "import sys, omnigraph; omnigraph.open(sys.argv[1], recover=False).repair(confirm=True)"


def drifted(uri: str) -> None:
    graph = harbor.new_graph(uri)
    graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append")
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    tables = graph._context.store.tables
    lance.dataset(tables.uri(pin.address), storage_options=tables.storage_options).optimize.compact_files()


def test_row_65_a_repair_killed_before_it_publishes_leaves_the_drift_as_it_was(store_root: str) -> None:
    drifted(store_root)
    graph = harbor.open_with_short_leases(store_root)
    before = harbor.content(graph)

    killed = subprocess.run(
        [sys.executable, "-c", REPAIR, store_root],
        env={**os.environ, "OMNIGRAPH_FAILPOINT": "repair.before_publish:kill"},
        check=False,
    )

    assert killed.returncode == -signal.SIGKILL
    assert harbor.content(graph) == before
    assert harbor.pending(graph) == []
    (row,) = [row for row in graph.repair().rows if row.classification is not Classification.NO_DRIFT]
    assert row.classification is Classification.VERIFIED_MAINTENANCE


def test_row_65_a_repair_that_fails_before_its_publish_can_be_repeated(local_root: str) -> None:
    drifted(local_root)
    graph = harbor.open_with_short_leases(local_root)

    with armed("repair.before_publish:error"), pytest.raises(OSError, match=r"repair\.before_publish"):
        graph.repair(confirm=True)

    assert [commit.kind.value for commit in graph.repair(confirm=True).commits] == ["repair"]


DISCARD = """
import sys
from support import harbor
harbor.open_with_short_leases(sys.argv[1]).repair(confirm=True, discard=True)
"""


def drifted_twice(uri: str) -> None:
    graph = harbor.new_graph(uri)
    tables = graph._context.store.tables
    for pin in graph.snapshot().tables:
        if pin.type_name in {"Sailor", "Ship"}:
            lance.dataset(tables.uri(pin.address), storage_options=tables.storage_options).delete("true")


@pytest.mark.parametrize(
    ("failpoint", "goes_on"),
    [
        ("discard.after_restore:kill", True),
        ("discard.after_restore:kill:1", True),
        ("write.after_arm:kill", False),
        ("write.after_effects:kill", True),
        ("write.after_publish:kill", True),
    ],
)
def test_row_66_a_discard_that_dies_is_carried_on_or_has_done_nothing(
    store_root: str, failpoint: str, goes_on: bool
) -> None:
    drifted_twice(store_root)
    graph = harbor.open_with_short_leases(store_root)
    before = harbor.content(graph)

    killed = subprocess.run(
        [sys.executable, "-c", DISCARD, store_root],
        env=child_environment(OMNIGRAPH_FAILPOINT=failpoint),
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert harbor.content(graph) == before
    settled = sweep_until_free(graph)

    assert harbor.content(graph) == before
    assert harbor.pending(graph) == []
    assert harbor.pins_equal_heads(graph) == goes_on
    assert [operation.outcome for operation in settled] == (
        ["dropped"] if not goes_on else ["finished"] if "after_publish" in failpoint else ["rolled_forward"]
    )
