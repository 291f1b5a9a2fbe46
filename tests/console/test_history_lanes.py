"""The laws of the drawing: lines lead from every commit to its parents, and nothing stands in their way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.console.history.lanes import LanePiece, LaneRow, LinePart, in_order, lanes
from omnigraph.console.sources.reaching import commits_to_bring, known_ancestors
from omnigraph.manifest.ancestry import parents_of
from omnigraph.manifest.commits import Commit, CommitId, CommitKind


def commit(name: str, *parents: str, branch: str = "main", made: int = 0) -> Commit:
    first, merged = (*parents, None, None)[:2]
    return Commit(
        graph_commit_id=CommitId(name),
        parent_commit_id=CommitId(first) if first else None,
        merged_parent_commit_id=CommitId(merged) if merged else None,
        graph_branch=branch,
        graph_version=1,
        kind=CommitKind.MUTATION,
        actor_id=None,
        created_at_us=made,
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Commit]:
    """Commits whose parents are older ones, some of them unknown; clocks are wild."""
    made: list[Commit] = []
    for number in range(draw(st.integers(1, 14))):
        known = [each.graph_commit_id for each in made]
        parents = draw(st.lists(st.sampled_from([*known, "unknown"]), max_size=2, unique=True)) if known else []
        branch = draw(st.sampled_from(["main", "storm", "night"]))
        made.append(commit(f"c{number:02}", *parents, branch=branch, made=draw(st.integers(0, 20))))
    return draw(st.permutations(made))


@settings(max_examples=60)
@given(histories())
def test_no_commit_stands_above_one_that_was_made_from_it(history: list[Commit]) -> None:
    ordered = in_order(history)

    place = {each.graph_commit_id: number for number, each in enumerate(ordered)}
    assert sorted(place) == sorted(each.graph_commit_id for each in history)
    for each in ordered:
        assert all(place[parent] > place[each.graph_commit_id] for parent in parents_of(each) if parent in place)


@settings(max_examples=60)
@given(histories(), st.integers(0, 13))
def test_every_line_ends_at_its_parent(history: list[Commit], first: int) -> None:
    ordered = in_order(history)
    rows = lanes(ordered, first=ordered[first % len(ordered)].graph_commit_id)

    place = {row.commit.graph_commit_id: number for number, row in enumerate(rows)}
    for number, row in enumerate(rows):
        for parent in parents_of(row.commit):
            end = place.get(parent, len(rows))
            assert any(leads(rows, number, end, lane) for lane in lanes_of(row, LinePart.LEAVES)), (row, parent)


def leads(rows: list[LaneRow], start: int, end: int, lane: int) -> bool:
    """Say whether a line that leaves a row in a lane passes all rows between and arrives."""
    passes = all(lane in lanes_of(row, LinePart.THROUGH) for row in rows[start + 1 : end])
    return passes and (end == len(rows) or lane in lanes_of(rows[end], LinePart.ARRIVES))


@settings(max_examples=60)
@given(histories(), st.integers(0, 13))
def test_no_commit_stands_on_a_line_that_passes_by(history: list[Commit], first: int) -> None:
    ordered = in_order(history)
    rows = lanes(ordered, first=ordered[first % len(ordered)].graph_commit_id)

    assert all(row.lane not in lanes_of(row, LinePart.THROUGH) for row in rows)
    assert len({row.commit.graph_commit_id for row in rows}) == len(history)


@settings(max_examples=60)
@given(histories(), st.integers(0, 13))
def test_lines_neither_begin_nor_end_between_rows(history: list[Commit], first: int) -> None:
    ordered = in_order(history)
    rows = lanes(ordered, first=ordered[first % len(ordered)].graph_commit_id)

    above: set[int] = set()
    for row in rows:
        assert lanes_of(row, LinePart.THROUGH, LinePart.ARRIVES) == above
        above = lanes_of(row, LinePart.THROUGH, LinePart.LEAVES)


def lanes_of(row: LaneRow, *parts: LinePart) -> set[int]:
    return {piece.lane for piece in row.pieces if piece.part in parts}


def test_a_branch_that_was_merged_stands_beside_the_one_that_took_it() -> None:
    merge = commit("m", "b", "s", made=9)
    history = [merge, commit("b", "a", made=5), commit("s", "a", branch="storm", made=6), commit("a", made=1)]

    rows = lanes(in_order(history), first="m")

    assert [(row.commit.graph_commit_id, row.lane) for row in rows] == [("m", 0), ("s", 1), ("b", 0), ("a", 0)]
    assert LanePiece(part=LinePart.LEAVES, lane=1, branch="storm") in rows[0].pieces
    assert LanePiece(part=LinePart.ARRIVES, lane=1, branch="storm") in rows[3].pieces


def test_the_chosen_branch_keeps_the_leftmost_lane_though_others_are_newer() -> None:
    history = [commit("s2", "s1", branch="storm", made=9), commit("s1", "a", branch="storm", made=8)]
    history += [commit("b", "a", made=3), commit("a", made=1)]

    lane_of = {row.commit.graph_commit_id: row.lane for row in lanes(in_order(history), first="b")}

    assert lane_of == {"s2": 1, "s1": 1, "b": 0, "a": 0}


def test_ancestors_are_found_over_both_parents() -> None:
    history = [commit("m", "b", "s"), commit("b", "a"), commit("s", "a"), commit("a"), commit("x", "a")]

    assert known_ancestors({each.graph_commit_id: each for each in history}, "m") == {"m", "b", "s", "a"}


def test_a_branch_that_was_merged_brings_nothing_more_and_what_it_took_over_is_not_its_own() -> None:
    genesis, taken = commit("a"), commit("b", "a")
    own = [
        commit("s3", "s2", branch="storm"),
        commit("s2", "s1", "b", branch="storm"),
        commit("s1", "a", branch="storm"),
    ]

    assert [each.graph_commit_id for each in commits_to_bring([*own, genesis], [taken, genesis])] == ["s1", "s3"]
    merge = commit("m", "b", "s3")
    assert commits_to_bring([*own, genesis], [merge, taken, genesis]) == []
