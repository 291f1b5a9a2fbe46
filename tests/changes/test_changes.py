"""Diffs and the change feed over real graphs: what they read, where they stop, and what they refuse."""

import json
import shutil
from pathlib import Path
from typing import Any

import lance
import pytest

from omnigraph import errors
from omnigraph.base import clock, ids
from omnigraph.changes.feed import FeedPage
from omnigraph.changes.paging import PageLimits
from omnigraph.graph import Graph
from omnigraph.manifest.commits import Commit, CommitId, CommitKind
from omnigraph.manifest.publish import ManifestChanges, PinMove, Preconditions
from omnigraph.storage.locks import list_reader_leases
from support import harbor
from support.failpoints import Died, armed
from support.replay import follow, state_from, state_of


def ops(changes: Any) -> list[tuple[str, str, str]]:
    return [(change.op.value, change.type.name, change.id) for change in changes]


def blocks(page: FeedPage) -> list[list[tuple[str, str, str]]]:
    return [ops(block.changes) for block in page.blocks]


def put(graph: Graph, *names: str, branch: str = "main", **values: Any) -> str:
    with graph.write(branch=branch) as batch:
        batch.upsert("Sailor", [{"name": name, "rank": "mate", **values} for name in names])
    assert batch.result.commit is not None
    return str(batch.result.commit.graph_commit_id)


def location(graph: Graph, table_key: str) -> str:
    return next(pin.location for pin in graph.snapshot().tables if pin.table_key == table_key)


def test_a_consumer_keeps_up_with_a_branch_on_every_store(store_root: str, tmp_path: Path):
    graph = harbor.new_graph(store_root)
    graph.branches.create("review")
    baseline = graph.baseline(tmp_path / "state.jsonl", branch="review")
    *records, _ = (tmp_path / "state.jsonl").read_bytes().splitlines()
    state = state_from(records)
    with graph.write(branch="review") as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
        batch.delete("Sailor", ids=["Cy"])
    put(graph, "Di")

    cursor = follow(graph, state, branch="review", cursor=baseline.resume_cursor)

    assert state == state_of(graph, branch="review")
    assert (baseline.snapshot_commit_id, baseline.total_rows) == (graph.snapshot_at("review~1").commit_id, 8)
    assert list_reader_leases(graph._context.store.objects, store_clock=None) == ()
    assert ops(graph.branches.diff("review").diff) == [
        ("update", "Sailor", "Ana"),
        ("delete", "Sailor", "Cy"),
        ("delete", "Mentors", "m2"),
    ]
    assert blocks(graph.changes.poll(branch="review", cursor=cursor)) == []


def test_a_diff_of_two_branches_leaves_out_what_the_target_did(local_root: str):
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    put(graph, "Di")
    put(graph, "Eli", branch="review")

    found = graph.branches.diff("review")

    assert ops(found.diff) == [("insert", "Sailor", "Eli")]
    assert found.base.graph_commit_id == graph.snapshot_at("main~1").commit_id
    assert ops(graph.diff("main", "review")) == [("delete", "Sailor", "Di"), ("insert", "Sailor", "Eli")]
    assert ops(graph.diff("review", "main@2")) == [("delete", "Sailor", "Eli")]


def test_tables_with_equal_pins_are_not_opened(local_root: str):
    graph = harbor.new_graph(local_root)
    put(graph, "Di")
    shutil.rmtree(Path(local_root) / location(graph, "node:Ship"))
    shutil.rmtree(Path(local_root) / location(graph, "edge:ServesOn"))

    assert ops(harbor.open_with_short_leases(local_root).diff("main~1", "main")) == [("insert", "Sailor", "Di")]


def test_a_merge_of_equal_values_and_a_change_that_cancels_out_change_nothing(local_root: str):
    graph = harbor.new_graph(local_root)
    put(graph, "Bo", age=35)
    put(graph, "Bo", age=34)

    assert ops(graph.diff("main~2", "main")) == []
    assert ops(graph.changes.of_commit(graph.snapshot().commit_id)) == [("update", "Sailor", "Bo")]


def publish_head_of(graph: Graph, table_key: str, kind: CommitKind) -> Commit:
    """Publish a table's newest version, as maintenance does."""
    context = graph._context
    snapshot = context.manifest.load("main").snapshot
    pin = snapshot.pins[table_key]
    table = context.store.tables.head(pin.address)
    move = PinMove.to(table, table_key=pin.table_key, identity=pin.identity, transaction_uuid=None)
    draft = Commit(
        graph_commit_id=CommitId(ids.new_ulid()),
        parent_commit_id=None,
        graph_branch="main",
        graph_version=0,
        kind=kind,
        actor_id=None,
        created_at_us=clock.now_us(),
    )
    expected = Preconditions(incarnation="main", exact_head=snapshot.commit_id, ir_hash=None)
    return context.publisher.publish("main", ManifestChanges(pins=(move,)), draft, expected)


def test_a_commit_that_only_moved_things_physically_is_an_empty_block(local_root: str):
    graph = harbor.new_graph(local_root)
    put(graph, "Di")
    sailors = f"{local_root}/{location(graph, 'node:Sailor')}"
    lance.dataset(sailors).optimize.compact_files()
    commit = publish_head_of(graph, "node:Sailor", CommitKind.MAINTENANCE)

    page = graph.changes.poll(start=f"after:{graph.snapshot('main', version=3).commit_id}")

    assert [block.cause.graph_commit_id for block in page.blocks] == [commit.graph_commit_id]
    assert blocks(page) == [[]]
    assert ops(graph.changes.of_commit(commit.graph_commit_id)) == []


def test_an_undone_write_is_an_empty_block(local_root: str):
    graph = harbor.new_graph(local_root)
    cursor = graph.changes.poll().cursor
    batch = graph.write()
    batch.insert("Sailor", [{"name": "Di", "rank": "mate"}])
    batch.insert("Ship", [{"hull": "S3", "title": "Lost"}])
    with pytest.raises(Died), armed("write.between_tables:die"):
        batch.commit()
    recovered = harbor.open_with_short_leases(local_root, settle=True)
    put(recovered, "Eli")

    page = recovered.changes.poll(cursor=cursor)

    assert [block.cause.kind for block in page.blocks] == ["rollback", "mutation"]
    assert blocks(page) == [[], [("insert", "Sailor", "Eli")]]


def test_the_first_commit_has_no_diff_and_an_unknown_one_is_not_found(local_root: str):
    graph = harbor.new_graph(local_root)

    with pytest.raises(errors.ParentlessCommit) as refused:
        graph.changes.of_commit(graph.snapshot(version=1).commit_id)
    with pytest.raises(errors.CommitNotFound):
        graph.changes.of_commit("01K8F3Q5V0000000000000000A")

    assert refused.value.details["reason"] == "parentless_commit"


def test_a_change_of_columns_ends_the_feed_of_its_type_and_of_no_other(local_root: str):
    graph = harbor.new_graph(local_root)
    cursors = {types: graph.changes.poll(types=types).cursor for types in ((), ("Ship",))}
    put(graph, "Di")
    graph.apply_schema(harbor.SCHEMA.replace("age: I32?", ""))
    put(graph, "Eli")

    page = graph.changes.poll(cursor=cursors[()])
    with pytest.raises(errors.SchemaBoundary) as refused:
        graph.changes.poll(cursor=page.cursor)
    with pytest.raises(errors.SchemaBoundary):
        list(graph.diff("main~3", "main"))

    assert blocks(page) == [[("insert", "Sailor", "Di")]]
    assert page.caught_up is False
    assert refused.value.details["type_name"] == "Sailor"
    assert blocks(graph.changes.poll(cursor=cursors["Ship",], types=["Ship"])) == [[], [], []]
    assert blocks(graph.changes.poll(start=f"after:{graph.snapshot_at('main~1').commit_id}")) == [
        [("insert", "Sailor", "Eli")]
    ]


GROWN = harbor.SCHEMA.replace("age: I32?", 'age: I32?\n    height: F64?\n    home: String @default("port")')


@pytest.fixture
def grown(local_root: str) -> Graph:
    """A graph whose sailors got two properties between two commits about them: 3 is the schema, 4 sets a height."""
    graph = harbor.new_graph(local_root)
    graph.apply_schema(GROWN)
    with graph.write() as batch:
        batch.update("Sailor", {"height": 1.8}, ids=["Ana"])
    return graph


def test_a_property_that_came_later_reads_as_null_or_its_default_before(grown: Graph):
    (change,) = grown.diff("main@2", "main")
    of_schema, of_update = (grown.changes.of_commit(grown.snapshot(version=at).commit_id) for at in (3, 4))
    start = grown.snapshot(version=2).commit_id
    (backward,) = grown.diff("main", "main@2")

    assert (change.op, change.id) == ("update", "Ana")
    assert change.before is not None
    assert change.after is not None
    assert (change.before.properties["height"], change.before.properties["home"]) == (None, "port")
    assert (change.after.properties["height"], change.after.properties["home"]) == (1.8, "port")
    assert list(of_schema) == []
    assert [found.id for found in of_update] == ["Ana"]
    assert blocks(grown.changes.poll(start=f"after:{start}")) == [[], [("update", "Sailor", "Ana")]]
    assert backward.before == change.after
    assert backward.after == change.before


def test_a_default_that_changed_since_it_was_given_to_rows_invents_no_changes(grown: Graph):
    grown.apply_schema(GROWN.replace('@default("port")', '@default("sea")'))

    (change,) = grown.diff("main@2", "main")

    assert change.id == "Ana"
    assert change.before is not None
    assert change.before.properties["home"] == "port"


def test_what_merging_a_branch_brings_is_told_across_a_property_that_came_later(grown: Graph):
    grown.branches.create("review", source="main@2")
    grown.branches.create("later")
    with grown.write(branch="later") as batch:
        batch.insert("Sailor", [{"name": "Di", "rank": "mate", "height": 1.7}])

    found = list(grown.branches.diff("later", into="review").diff)

    assert [(change.op, change.id) for change in found] == [("update", "Ana"), ("insert", "Di")]


def test_a_type_whose_columns_changed_can_be_left_out(local_root: str):
    graph = harbor.new_graph(local_root)
    cursor = graph.changes.poll(exclude_types=["Sailor"]).cursor
    graph.apply_schema(harbor.SCHEMA.replace("age: I32?", ""))
    put(graph, "Eli")
    graph.load(harbor.lines([harbor.ship("S9")]), mode="append")

    page = graph.changes.poll(cursor=cursor, exclude_types=["node:Sailor"])

    assert blocks(page) == [[], [], [("insert", "Ship", "S9")]]
    assert [change.id for change in graph.diff("main~3", "main", exclude_types=["Sailor"])] == ["S9"]
    assert list(graph.changes.of_commit(graph.snapshot_at("main~2").commit_id, exclude_types=["Sailor"])) == []
    with pytest.raises(errors.SchemaBoundary, match="--exclude-type Sailor"):
        list(graph.diff("main~3", "main"))


def test_a_type_that_is_gone_can_be_left_out_by_the_name_it_had(local_root: str):
    graph = harbor.new_graph(local_root)
    with graph.write() as batch:
        batch.insert("Note", [{"text": "a"}])
    start = f"after:{graph.snapshot().commit_id}"
    graph.apply_schema(harbor.SCHEMA.replace("node Note { text: String }", ""))

    with pytest.raises(errors.SchemaBoundary):
        graph.changes.poll(start=start)
    assert blocks(graph.changes.poll(start=start, exclude_types=["Note"])) == [[]]


def test_a_renamed_type_is_followed_under_its_new_name(local_root: str):
    graph = harbor.new_graph(local_root)
    cursor = graph.changes.poll(types=["Note"]).cursor
    first = next(iter(graph.changes.of_commit(graph.snapshot().commit_id, types=["Ship"]))).type
    graph.apply_schema(
        harbor.SCHEMA.replace("node Note {", 'node Memo @rename_from("Note") {')
        .replace("node Ship {", 'node Vessel @rename_from("Ship") {')
        .replace("-> Ship", "-> Vessel")
    )
    with graph.write() as batch:
        batch.insert("Memo", [{"id": "n1", "text": "hello"}])
        batch.update("Vessel", {"tons": 5.0}, ids=["S1"])

    page = graph.changes.poll(cursor=cursor, types=["Memo"])
    (change,) = graph.changes.of_commit(graph.snapshot().commit_id, types=["Vessel"])

    assert blocks(page) == [[], [("insert", "Memo", "n1")]]
    assert (change.type.type_id, change.type.name) == (first.type_id, "Vessel")


# ---- the feed


def test_without_a_start_a_poll_gives_only_a_cursor(local_root: str):
    graph = harbor.new_graph(local_root)

    page = graph.changes.poll()
    put(graph, "Di")

    assert (page.blocks, page.caught_up) == ((), True)
    assert blocks(graph.changes.poll(cursor=page.cursor)) == [[("insert", "Sailor", "Di")]]


def test_a_poll_ends_at_the_head_that_it_saw(local_root: str):
    graph = harbor.new_graph(local_root)
    feed = graph.changes.feed()
    put(graph, "Di")

    page = feed.poll(start="beginning")

    assert len(page.blocks) == 1
    assert page.caught_up
    assert blocks(graph.changes.poll(cursor=page.cursor)) == [[("insert", "Sailor", "Di")]]


def test_all_pages_of_one_poll_end_at_the_same_head(local_root: str):
    graph = harbor.new_graph(local_root)
    limits = PageLimits(changes=5)
    first = graph.changes.poll(start="beginning", limits=limits)
    put(graph, "Di")

    second = graph.changes.poll(page_token=first.next_page_token, limits=limits)

    assert (first.cursor, first.caught_up) == (None, None)
    assert [len(page.blocks[0].changes) for page in (first, second)] == [5, 3]
    assert len(second.blocks) == 1
    assert second.caught_up
    assert blocks(graph.changes.poll(cursor=second.cursor)) == [[("insert", "Sailor", "Di")]]


def test_a_poll_stops_between_commits_when_it_is_full(local_root: str):
    graph = harbor.new_graph(local_root, [])
    for name in ("A", "B", "C"):
        put(graph, f"{name}1", f"{name}2")

    page = graph.changes.poll(start="beginning", limits=PageLimits(changes=3))

    assert [len(block.changes) for block in page.blocks] == [2]
    assert page.caught_up is False
    assert len(graph.changes.poll(cursor=page.cursor).blocks) == 2
    assert len(graph.changes.poll(start="beginning", commits_max=2).blocks) == 2


def test_a_change_above_the_byte_limit_comes_alone(local_root: str):
    graph = harbor.new_graph(local_root, [])
    with graph.write() as batch:
        batch.insert("Note", [{"id": name, "text": name * 3_000} for name in "abc"])

    page = graph.changes.of_commit(graph.snapshot().commit_id).page(limits=PageLimits(size_bytes=1_000))

    assert ops(page.changes) == [("insert", "Note", "a")]
    assert page.next_page_token is not None


def test_ids_longer_than_a_token_travel_by_digest(local_root: str):
    graph = harbor.new_graph(local_root, [])
    names = sorted("x" * 3_000 + name for name in "abcd")
    with graph.write() as batch:
        batch.insert("Note", [{"id": name, "text": "t"} for name in names])
    changes = graph.changes.of_commit(graph.snapshot().commit_id)

    found: list[str] = []
    token: str | None = None
    for _ in names:
        page = changes.page(page_token=token, limits=PageLimits(changes=1))
        found += [change.id for change in page.changes]
        token = page.next_page_token
        assert token is None or len(token) <= 4_096

    assert found == names
    assert token is None


@pytest.mark.parametrize("limits", [{"changes": 0}, {"changes": 8_193}, {"size_bytes": (32 << 20) + 1}])
def test_pages_beyond_the_limits_are_refused(limits: dict[str, int]):
    with pytest.raises(errors.ResourceLimit):
        PageLimits(**limits)


def test_a_poll_with_nothing_new_does_not_read_the_log(local_root: str):
    graph = harbor.new_graph(local_root)
    cursor = graph.changes.poll().cursor
    shutil.rmtree(Path(local_root) / "_graph_commits")

    assert graph.changes.poll(cursor=cursor).caught_up


def test_filters_select_and_still_move_the_cursor(local_root: str):
    graph = harbor.new_graph(local_root)
    filters: dict[str, Any] = {"types": ["Ship"], "ops": ["insert"]}

    page = graph.changes.poll(start="beginning", **filters)
    put(graph, "Di")

    assert blocks(page) == [[("insert", "Ship", "S1"), ("insert", "Ship", "S2")]]
    assert blocks(graph.changes.poll(cursor=page.cursor, **filters)) == [[]]
    assert ops(graph.changes.of_commit(graph.snapshot(version=2).commit_id, kinds=["edge"], types=["ServesOn"])) == [
        ("insert", "ServesOn", "s1")
    ]
    with pytest.raises(errors.EntityNotFound):
        graph.changes.poll(types=["Whale"])


def test_a_cursor_is_refused_everywhere_but_in_its_own_feed(local_root: str, tmp_path: Path):
    graph = harbor.new_graph(local_root)
    other = harbor.new_graph(str(tmp_path / "other.omni"))
    graph.branches.create("review")
    cursor = graph.changes.poll(branch="review").cursor
    token = graph.changes.poll(start="beginning", limits=PageLimits(changes=1)).next_page_token
    assert cursor is not None
    assert token is not None

    def reason(asked: Graph = graph, **options: Any) -> str:
        with pytest.raises(errors.ChangeCursorRejected) as refused:
            asked.changes.poll(**options)
        assert str(refused.value).startswith("change cursor rejected: ")
        return str(refused.value.details["reason"])

    assert "another graph" in reason(other, cursor=cursor)
    assert "another branch" in reason(cursor=cursor)
    assert "another filter" in reason(cursor=cursor, branch="review", kinds=["node"])
    assert "feed page token" in reason(cursor=token)
    assert "cursor token" in reason(page_token=cursor, branch="review")
    assert "damaged" in reason(cursor=cursor[:-2] + "AA", branch="review")
    assert "not a token" in reason(cursor="é")
    assert "4096" in reason(cursor="A" * 5_000)
    graph.branches.delete("review")
    graph.branches.create("review")
    assert "incarnation" in reason(cursor=cursor, branch="review")


def test_a_start_behind_a_commit_of_another_line_is_refused(local_root: str):
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    stranger = put(graph, "Di", branch="review")
    put(graph, "Eli")

    with pytest.raises(errors.ChangeCursorRejected):
        graph.changes.poll(start=f"after:{stranger}")
    with pytest.raises(errors.CommitNotFound):
        graph.changes.poll(start="after:nothing")
    with pytest.raises(errors.InvalidTarget):
        graph.changes.poll(start="yesterday")
    with pytest.raises(errors.InvalidTarget):
        graph.changes.poll(start="now", cursor="x")


def test_what_cleanup_took_is_a_gap_and_what_lies_before_it_is_still_delivered(local_root: str):
    graph = harbor.new_graph(local_root)
    commits = [put(graph, "Di"), put(graph, "Eli"), put(graph, "Flo")]
    sailors = lance.dataset(f"{local_root}/{location(graph, 'node:Sailor')}")
    lost = graph.snapshot(version=4).table("Sailor").pin.version
    sailors.cleanup_old_versions(versions=[lost])

    fresh = harbor.open_with_short_leases(local_root)
    page = fresh.changes.poll(start="beginning")
    with pytest.raises(errors.ChangeFeedGap) as gap:
        fresh.changes.poll(cursor=page.cursor)
    with pytest.raises(errors.ChangeFeedGap):
        list(fresh.changes.of_commit(commits[2]))

    assert [block.cause.graph_commit_id for block in page.blocks][1:] == commits[:1]
    assert page.caught_up is False
    assert gap.value.details == {"first_unreadable_commit_id": commits[1]}
    assert ops(fresh.diff("main@3", "main"))[0] == ("insert", "Sailor", "Eli")


@pytest.mark.parametrize(("comes_back", "failure"), [(True, errors.StaleView), (False, errors.BranchNotFound)])
def test_a_branch_that_goes_during_a_poll_is_not_mistaken_for_another_or_for_a_gap(
    local_root: str, monkeypatch: pytest.MonkeyPatch, comes_back: bool, failure: type[errors.OmniError]
):
    graph = harbor.new_graph(local_root)
    graph.branches.create("review")
    put(graph, "Di", branch="review")
    reader = harbor.open_with_short_leases(local_root)
    open_table = reader._context.store.tables.open

    def lose_branch_then_open(*address: Any) -> Any:
        monkeypatch.setattr(reader._context.store.tables, "open", open_table)
        graph.branches.delete("review")
        if comes_back:
            graph.branches.create("review")
        return open_table(*address)

    feed = reader.changes.feed("review")
    monkeypatch.setattr(reader._context.store.tables, "open", lose_branch_then_open)
    with pytest.raises(failure):
        feed.poll(start=f"after:{graph.snapshot().commit_id}")


# ---- baselines


def test_a_failed_baseline_leaves_the_older_file_alone(local_root: str, tmp_path: Path):
    graph = harbor.new_graph(local_root)
    out = tmp_path / "state.jsonl"
    graph.baseline(out)
    older = out.read_bytes()
    put(graph, "Di")
    shutil.rmtree(Path(local_root) / location(graph, "node:Ship") / "data")

    with pytest.raises(errors.OmniError):
        harbor.open_with_short_leases(local_root).baseline(out)

    assert out.read_bytes() == older
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".tmp") == []
    assert list_reader_leases(graph._context.store.objects, store_clock=None) == ()


def test_a_baseline_that_somebody_replaces_yields_no_cursor(
    local_root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    graph = harbor.new_graph(local_root)
    out = tmp_path / "state.jsonl"
    rename = Path.replace

    def rename_and_lose(self: Path, target: Path) -> Path:
        renamed = rename(self, target)
        (tmp_path / "theirs").write_text("{}")
        rename(tmp_path / "theirs", target)
        return renamed

    monkeypatch.setattr(Path, "replace", rename_and_lose)
    with pytest.raises(errors.OutputReplaced):
        graph.baseline(out)

    assert out.read_text() == "{}"


def test_a_baseline_of_some_types_resumes_with_the_same_filters(local_root: str, tmp_path: Path):
    graph = harbor.new_graph(local_root)
    out = tmp_path / "state.jsonl"

    baseline = graph.baseline(out, types=["Ship"])
    put(graph, "Di")

    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record.get("type") for record in records] == ["Ship", "Ship", None]
    assert records[-1]["baseline"]["snapshot_commit_id"] == baseline.snapshot_commit_id
    assert blocks(graph.changes.poll(cursor=baseline.resume_cursor, types=["Ship"])) == [[]]


def test_a_baseline_without_a_place_is_refused(local_root: str, tmp_path: Path):
    graph = harbor.new_graph(local_root)

    with pytest.raises(errors.Io):
        graph.baseline(tmp_path / "nowhere" / "state.jsonl")
    with pytest.raises(errors.Io):
        graph.baseline(tmp_path)
