"""An embed run that dies: every vector of the run is there afterwards, or none."""

import signal

import pytest

import omnigraph
from support import harbor
from support.crash_cases import Case
from support.writer_child import EMBED_KINDS, EMBED_RECORDS, EMBED_SCHEMA
from support.writers import run_child, sweep_until_free

EMBED_CASES = [
    Case(row=1, point="write.after_stage", action="kill", outcome="old"),
    Case(row=5, point="write.after_arm", action="kill", outcome="old", settled="dropped"),
    Case(row=6, point="write.between_tables", action="kill", outcome="old", settled="rolled_back"),
    Case(row=6, point="write.between_tables", action="error", outcome="old"),
    Case(row=7, point="write.commit_ack_lost", action="kill", skip=1, outcome="new", settled="rolled_forward"),
    Case(row=8, point="write.after_effects", action="kill", outcome="new", settled="rolled_forward"),
    Case(row=11, point="write.after_publish", action="kill", outcome="new", settled="finished"),
]


def new_graph(uri: str) -> omnigraph.Graph:
    graph = omnigraph.init(uri, EMBED_SCHEMA)
    graph.load(harbor.lines(EMBED_RECORDS), mode="append")
    return graph


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = new_graph(str(tmp_path_factory.mktemp("embed") / "graph.omni"))
    EMBED_KINDS["embed"](graph)
    return harbor.content(graph)


@pytest.mark.parametrize("case", EMBED_CASES, ids=lambda case: case.id)
def test_an_embed_run_leaves_all_vectors_or_none(local_root: str, case: Case, embedded: str) -> None:
    graph = new_graph(local_root)
    before = harbor.content(graph)

    status, said = run_child(local_root, "embed", case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    settled = sweep_until_free(harbor.open_with_short_leases(local_root))
    assert [operation.outcome for operation in settled] == ([case.settled] if case.settled else [])
    assert harbor.content(graph) == (before if case.outcome == "old" else embedded)
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    commit = EMBED_KINDS["embed"](harbor.open_with_short_leases(local_root))
    assert (commit is None) is (case.outcome == "new")
    assert harbor.content(graph) == embedded
