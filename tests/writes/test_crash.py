"""Every crash point of the write protocol × every writer × every store: kill it there, look, recover, look again."""

import signal

import pytest

import omnigraph
from support import harbor
from support.crash_cases import RECOVERY_CASES, WRITER_CASES, Case
from support.writer_child import KINDS
from support.writers import run_child, sweep_until_free


@pytest.fixture(scope="module")
def expected_after() -> dict[str, str]:
    """What each kind of writer makes of the fixture graph when nothing goes wrong."""
    import tempfile

    contents = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as directory:
            graph = harbor.new_graph(f"{directory}/graph.omni")
            KINDS[kind](graph)
            contents[kind] = harbor.content(graph)
    return contents


@pytest.fixture(
    params=[("local", kind) for kind in sorted(KINDS)] + [("s3", "load_merge"), ("s3", "mutation")], ids="-".join
)
def store_and_kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Every writer on every store; the other two modes of load differ only in what they stage."""
    store, kind = request.param
    return str(request.getfixturevalue(f"{store}_root")), kind


@pytest.mark.parametrize("case", WRITER_CASES, ids=lambda case: case.id)
def test_a_writer_that_dies_leaves_all_or_nothing(
    store_and_kind: tuple[str, str], case: Case, expected_after: dict[str, str]
) -> None:
    store_root, kind = store_and_kind
    graph = harbor.new_graph(store_root)
    before = harbor.content(graph)
    wanted = before if case.outcome == "old" else expected_after[kind]

    status, said = run_child(store_root, kind, case.failpoint)

    assert status == (-signal.SIGKILL if case.action == "kill" else 0), said
    if case.action == "error":
        assert said["ok"] is case.succeeds, said
        assert bool(said.get("warnings")) is case.warns, said
    _reader_sees_a_whole_state_and_writes_nothing(store_root, {before, expected_after[kind]})
    _recovery_settles(store_root, case, wanted)
    _the_write_can_be_repeated(store_root, kind, expected_after[kind])


def _reader_sees_a_whole_state_and_writes_nothing(uri: str, possible: set[str]) -> None:
    reader = omnigraph.open(uri, read_only=True)
    files = harbor.files_of(reader)
    assert harbor.content(reader) in possible
    assert harbor.files_of(reader) == files


def _recovery_settles(uri: str, case: Case, wanted: str) -> None:
    graph = harbor.open_with_short_leases(uri)
    swept = sweep_until_free(graph)
    assert [settled.outcome for settled in swept] == ([case.settled] if case.settled else [])
    assert harbor.content(graph) == wanted
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    version = graph.snapshot().graph_version
    again = graph.recover()
    assert (again.recovered, again.blocked, again.in_use) == ([], [], [])
    assert graph.snapshot().graph_version == version
    audited = {"rolled_back", "rolled_forward", "finished"}
    assert len(graph.recoveries()) >= len([settled for settled in swept if settled.outcome in audited])


def _the_write_can_be_repeated(uri: str, kind: str, expected: str) -> None:
    graph = harbor.open_with_short_leases(uri)
    if kind == "load_append" and harbor.content(graph) == expected:
        with pytest.raises(omnigraph.errors.KeyConflict):
            KINDS[kind](graph)
    else:
        KINDS[kind](graph)
    assert harbor.content(graph) == expected
    assert harbor.pending(graph) == []


@pytest.mark.parametrize("case", RECOVERY_CASES, ids=lambda case: case.id)
def test_a_recovery_that_dies_is_finished_by_the_next(
    store_root: str, case: Case, expected_after: dict[str, str]
) -> None:
    graph = harbor.new_graph(store_root)
    before = harbor.content(graph)
    kind = "load_merge"
    crash = "write.between_tables:kill:1" if case.outcome == "old" else "write.after_effects:kill"
    run_child(store_root, kind, crash)

    status, said = run_child(store_root, "recover", case.failpoint)

    if case.action == "kill":
        assert status == -signal.SIGKILL, said
    else:
        assert (status, said["ok"]) == (0, case.succeeds), said
    graph = harbor.open_with_short_leases(store_root)
    sweep_until_free(graph)
    assert harbor.content(graph) == (before if case.outcome == "old" else expected_after[kind])
    assert harbor.pins_equal_heads(graph)
    assert harbor.pending(graph) == []
    assert len(graph.recoveries()) == 1
    assert [commit.kind for commit in graph.commits()].count("rollback") == (1 if case.outcome == "old" else 0)
