"""What goes wrong after a publish is a warning with a way forward, for every publisher alike."""

import lance
import pytest

import omnigraph
from omnigraph.base.events import Event, Published, Warned
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import BranchBusy, Effect
from omnigraph.maintenance.repair import run as repair_run
from omnigraph.manifest.log import CommitLog
from omnigraph.pipeline.load import inputs
from omnigraph.storage.locks.flock_locks import FlockGrip
from support import harbor
from support.failpoints import Died, armed
from support.writer_child import EVOLVED


class Heard(list[Event]):
    """Everything that was said."""

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self if isinstance(event, Warned)]

    @property
    def published(self) -> list[str]:
        return [event.commit_id for event in self if isinstance(event, Published)]


def load(graph: omnigraph.Graph, heard: Heard):
    return graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append", events=heard.append).commit


def write(graph: omnigraph.Graph, heard: Heard):
    with graph.write(events=heard.append) as batch:
        batch.insert("Sailor", [{"name": "Kim", "rank": "mate"}])
    return batch.result.commit


def apply_schema(graph: omnigraph.Graph, heard: Heard):
    return graph.apply_schema(EVOLVED, events=heard.append).commit


def merge(graph: omnigraph.Graph, heard: Heard):
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append", branch="review")
    heard.clear()
    with armed("write.log_fails:error"):
        return graph.branches.merge("review", events=heard.append).commit


def optimize(graph: omnigraph.Graph, heard: Heard):
    return graph.optimize(events=heard.append).commit


def drift(graph: omnigraph.Graph) -> None:
    pin = next(pin for pin in graph.snapshot().tables if pin.type_name == "Sailor")
    lance.dataset(graph._context.store.tables.uri(pin.address)).delete("name = 'Bo'")


def repair(graph: omnigraph.Graph, heard: Heard):
    return graph.repair(confirm=True, force=True, events=heard.append).commits[0]


def discard(graph: omnigraph.Graph, heard: Heard):
    return graph.repair(confirm=True, discard=True, events=heard.append).commits[0]


PUBLISHERS = {
    "load": load,
    "write": write,
    "apply_schema": apply_schema,
    "optimize": optimize,
    "repair": repair,
    "discard": discard,
}


def prepared(root: str, name: str) -> omnigraph.Graph:
    graph = harbor.new_graph(root)
    if name == "optimize":
        for sailor in ("X", "Y", "Z"):
            graph.load(harbor.lines([harbor.sailor(sailor)]), mode="append")
    if name in {"repair", "discard"}:
        drift(graph)
    return graph


@pytest.mark.parametrize("name", PUBLISHERS)
@pytest.mark.parametrize("point", ["write.log_fails:error", None])
def test_a_log_that_cannot_be_written_leaves_a_commit_and_a_warning(
    name: str, point: str | None, local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, heard = prepared(local_root, name), Heard()
    head = graph.commits()[0].graph_commit_id
    if point is None:
        # Not every failure is an error of ours: whatever the log raises, the commit stands.
        add = CommitLog.add
        monkeypatch.setattr(
            CommitLog, "add", lambda log, commit: add(log, commit) if commit.graph_commit_id == head else 1 / 0
        )

    with armed(point):
        commit = PUBLISHERS[name](graph, heard)

    monkeypatch.undo()
    assert commit is not None
    assert graph.commits()[0] == commit
    assert heard.published == [commit.graph_commit_id]
    (warning,) = [message for message in heard.warnings if commit.graph_commit_id in message]
    assert "not logged yet; the next write logs it" in warning
    load_again(graph)
    assert commit.graph_commit_id in {found.graph_commit_id for found in graph._context.log.logged()}


def load_again(graph: omnigraph.Graph) -> None:
    with graph.write() as batch:
        batch.upsert("Ship", [{"hull": "S9", "title": "Late"}])


def test_a_merge_has_the_same_tail(local_root: str) -> None:
    graph, heard = harbor.new_graph(local_root), Heard()

    commit = merge(graph, heard)

    assert graph.commits()[0] == commit
    assert any("not logged yet" in message for message in heard.warnings)


def test_a_listener_that_fails_after_the_publish_changes_nothing(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    def fail_late(event: Event) -> None:
        if isinstance(event, Published):
            raise OSError("the listener is gone")

    with graph.write(events=fail_late) as batch:
        batch.insert("Sailor", [{"name": "Kim", "rank": "mate"}])

    assert graph.commits()[0] == batch.result.commit


def test_a_lock_that_cannot_be_given_back_changes_nothing(local_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, heard = harbor.new_graph(local_root), Heard()
    release = FlockGrip.release

    def fail(grip: FlockGrip) -> None:
        release(grip)
        raise OSError("input/output error")

    monkeypatch.setattr(FlockGrip, "release", fail)

    commit = write(graph, heard)

    monkeypatch.undo()
    assert graph.commits()[0] == commit
    assert any("was not given back" in message for message in heard.warnings)


def test_a_branch_that_a_load_created_and_wrote_to_survives_what_fails_later(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, heard = harbor.new_graph(local_root), Heard()
    monkeypatch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)

    def fail(engine: LocalEngine) -> None:
        raise OSError("the cluster is gone")

    monkeypatch.setattr(LocalEngine, "close", fail)

    result = graph.load(
        harbor.lines([harbor.sailor("Kim")]), mode="append", branch="new", from_branch="main", events=heard.append
    )

    assert result.commit == graph.commits("new")[0]
    assert any("did not let go" in message for message in heard.warnings)


def test_a_repair_that_fails_on_a_later_branch_says_what_is_published(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    graph.load(harbor.lines([harbor.sailor("Kim")]), mode="append", branch="review")
    drift(graph)
    hold = repair_run.hold_branches

    def busy(context, names, **options):
        if "review" in names:
            raise BranchBusy("The lock on branch review is held by somebody.")
        return hold(context, names, **options)

    monkeypatch.setattr(repair_run, "hold_branches", busy)

    with pytest.raises(BranchBusy) as raised:
        graph.repair(confirm=True, force=True)

    commit = graph.commits()[0]
    assert commit.kind.value == "repair"
    assert raised.value.effect is Effect.PUBLISHED
    assert raised.value.details["published"] == [commit.graph_commit_id]
    assert commit.graph_commit_id in str(raised.value)


def test_an_optimize_that_cannot_compact_its_own_tables_still_has_its_commit(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = prepared(local_root, "optimize")

    with armed("optimize.internal_rewritten:error"):
        result = graph.optimize()

    assert result.commit == graph.commits()[0]
    assert {table.table_key for table in result.tables if table.error} >= {"__manifest"}
    assert result.failure.effect is Effect.PUBLISHED


def test_a_commit_whose_acknowledgement_and_settling_failed_is_still_no_failure(
    local_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, heard = harbor.new_graph(local_root), Heard()
    publish = graph._context.publisher.publish

    def publish_and_lose(*arguments, **options):
        publish(*arguments, **options)
        raise OSError("connection reset")

    monkeypatch.setattr(graph._context.publisher, "publish", publish_and_lose)

    with armed("recover.audit_fails:error"):
        commit = write(graph, heard)

    assert commit is not None
    assert graph.commits()[0] == commit
    assert any("is published" in message for message in heard.warnings)
    assert graph.pending_operations() == []


def test_a_recovery_whose_traces_cannot_be_written_says_that_its_outcome_stands(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    with armed("write.after_effects:die"), pytest.raises(Died):
        write(graph, Heard())

    with armed("recover.audit_fails:error"):
        swept = graph.recover()

    (operation,) = swept.blocked
    assert "is completed, and that is visible" in operation.reason
    assert "Nothing was changed" not in operation.reason
    assert "Kim" in harbor.content(graph)
    assert [settled.outcome for settled in graph.recover().recovered] == ["finished"]


def test_results_say_under_one_name_whether_anything_was_published(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    def kim() -> Effect:
        return graph.load(harbor.lines([harbor.sailor("Kim")]), mode="merge").effect

    assert (kim(), kim()) == (Effect.PUBLISHED, Effect.NONE)
    assert graph.repair(confirm=True).effect is Effect.NONE
    assert graph.optimize().effect is Effect.PUBLISHED
