"""Writers of several processes, and those who go round them, meet in one graph: nothing is twice, nothing is lost."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import OmniError, StaleView
from support import harbor
from support.failpoints import once_at
from support.processes import Child, child
from support.raw_tables import dataset_of, foreign_append, pin_of

WRITER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import omnigraph
from omnigraph.errors import OmniError
from support import harbor

graph = omnigraph.open(sys.argv[2])
print("ready")
for line in sys.stdin:
    task = json.loads(line)
    try:
        if "insert" in task:
            with graph.write() as batch:
                batch.insert("Sailor", task["insert"])
            commit = batch.result.commit
        else:
            commit = graph.load(harbor.lines(task["load"]), mode=task["mode"]).commit
        print(json.dumps({"commit": commit and commit.graph_commit_id}))
    except OmniError as error:
        print(json.dumps({"error": error.kind}))
"""


class Elsewhere:
    """A writer in another process."""

    def __init__(self, process: Child) -> None:
        self._process = process
        assert process.hear() == "ready"

    def start(self, **task: object) -> None:
        self._process.tell(json.dumps(task))

    def answer(self) -> dict[str, str | None]:
        said: dict[str, str | None] = json.loads(self._process.hear())
        return said

    def do(self, **task: object) -> dict[str, str | None]:
        self.start(**task)
        return self.answer()


@contextmanager
def elsewhere(*uris: str) -> Iterator[list[Elsewhere]]:
    with ExitStack() as stack:
        started = [stack.enter_context(child(WRITER, json.dumps(sys.path), uri)) for uri in uris]
        yield [Elsewhere(process) for process in started]


def test_of_two_processes_that_insert_one_key_exactly_one_lands(local_root: str) -> None:
    graph = harbor.new_graph(local_root, [])
    keys = [f"k{number}" for number in range(8)]

    outcomes = []
    with elsewhere(local_root, local_root) as writers:
        for key in keys:
            for age, writer in enumerate(writers):
                writer.start(insert=[{"name": key, "rank": "mate", "age": age}])
            outcomes.append([writer.answer() for writer in writers])

    for outcome in outcomes:
        assert sorted("commit" in said for said in outcome) == [False, True]
        assert [said["error"] for said in outcome if "error" in said] == ["key_conflict"]
    assert harbor.sailor_ids(graph) == keys
    assert dataset_of(graph, pin_of(graph, "Sailor")).count_rows() == len(keys)
    assert harbor.pending(graph) == []


def test_a_foreign_append_between_revalidation_and_commit_is_no_success(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)

    with (
        once_at("write.after_arm", lambda: foreign_append(graph, "Sailor", id="Zoe", name="Zoe", rank="mate")),
        pytest.raises(OmniError) as caught,
    ):
        graph.load(harbor.lines([harbor.sailor("Di")]), mode="append")

    assert caught.value.kind in {"read_set_conflict", "recovery_required"}
    assert harbor.content(graph) == before
    # The foreign row is nobody's to delete: it stays in the table for an operator to judge.
    assert dataset_of(graph, pin_of(graph, "Sailor")).count_rows(filter="id = 'Zoe'") == 1


def test_an_overwrite_prepared_before_an_append_does_not_win_silently(local_root: str) -> None:
    graph = harbor.new_graph(local_root)

    with elsewhere(local_root) as (other,):
        appended = {"load": [harbor.ship("S9")], "mode": "append"}
        with once_at("write.after_stage", lambda: other.do(**appended)), pytest.raises(StaleView):
            graph.load(harbor.lines([harbor.ship("S1"), harbor.ship("S2")]), mode="overwrite")

    assert sorted(graph.snapshot().table("Ship").to_arrow(["id"])["id"].to_pylist()) == ["S1", "S2", "S9"]


def test_one_file_merged_by_two_processes_at_once_is_one_commit(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    records = [harbor.sailor("Di"), harbor.ship("S3"), harbor.edge("Mentors", "Di", "Ana")]

    with elsewhere(local_root, local_root) as writers:
        for writer in writers:
            writer.start(load=records, mode="merge")
        said = [writer.answer() for writer in writers]

    assert sorted(answer["commit"] is None for answer in said) == [False, True]
    assert graph.snapshot().graph_version == 3
    assert graph.snapshot().table("Mentors").count_rows() == 3
    assert harbor.pending(graph) == []


@pytest.mark.slow
def test_a_path_and_a_link_to_it_share_their_gates(local_root: str, tmp_path: Path) -> None:
    graph = harbor.new_graph(local_root, [])
    link = tmp_path / "link.omni"
    link.symlink_to(local_root, target_is_directory=True)
    rounds = 8

    with elsewhere(local_root, str(link)) as writers:
        for turn in range(rounds):
            for place, writer in enumerate(writers):
                writer.start(insert=[{"name": f"{place}-{turn}", "rank": "mate"}])
            for writer in writers:
                assert "commit" in writer.answer()

    assert harbor.sailor_ids(graph) == sorted(f"{place}-{turn}" for place in (0, 1) for turn in range(rounds))
    assert len(graph.commits()) == 2 * rounds + 1
    assert omnigraph.open(str(link))._context.store.root.identity == graph._context.store.root.identity
