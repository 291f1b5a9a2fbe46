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
