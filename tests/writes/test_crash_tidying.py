"""A writer that dies while it folds the graph's own tables has written, and nothing is left to settle."""

import signal

import pytest

import omnigraph
from support import harbor
from support.crash_cases import Case
from support.writer_child import mutate
from support.writers import run_child

CASES = [
    Case(row=42, point="write.internal_folded", action="kill", outcome="new"),
    Case(row=42, point="write.internal_folded", action="kill", outcome="new", skip=1),
    Case(row=42, point="write.internal_folded", action="error", outcome="new", succeeds=True, warns=True),
]


@pytest.mark.parametrize(
    ("store", "case"),
    [("local", case) for case in CASES] + [("s3", CASES[0])],
    ids=lambda part: part if isinstance(part, str) else part.id,
)
def test_a_writer_that_dies_while_it_tidies_up_has_written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, store: str, case: Case
) -> None:
    uri = str(request.getfixturevalue(f"{store}_root"))
    graph = harbor.new_graph(uri)
    wanted = harbor.new_graph(str(tmp_path_factory.mktemp("wanted") / "graph.omni"))
    mutate(wanted)

    status, said = run_child(uri, "tidying_mutation", case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    assert case.action == "kill" or (said["ok"] and bool(said["warnings"]) is case.warns), said
    reader = omnigraph.open(uri, read_only=True)
    assert harbor.content(reader) == harbor.content(wanted)
    written = reader.commits()
    assert [commit.graph_version for commit in written] == [commit.graph_version for commit in wanted.commits()]
    graph = harbor.open_with_short_leases(uri)
    assert harbor.pending(graph) == []
    assert harbor.pins_equal_heads(graph)
    with graph.write() as batch:
        batch.upsert("Ship", [{"hull": "S9", "title": "Afterwards"}])
    assert graph.commits()[1:] == written
