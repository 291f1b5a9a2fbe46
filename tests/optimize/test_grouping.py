"""Which fragments are rewritten together: laws over made-up layouts, no disk."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.maintenance.optimize.grouping import RewriteGroup, group_fragments
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.storage.layout import FragmentLayout

OVERHEAD = 1_024 + 2 * 512


def fragment(number: int, rows: int, deleted: int = 0, width: int = 10) -> FragmentLayout:
    return FragmentLayout(
        fragment_id=number, physical_rows=rows, deleted_rows=min(deleted, rows), bytes=OVERHEAD + rows * width
    )


layouts = st.lists(
    st.tuples(st.integers(1, 120), st.integers(0, 60), st.sampled_from([1, 10, 1_000])), min_size=0, max_size=40
).map(lambda shapes: [fragment(number, *shape) for number, shape in enumerate(shapes)])
options = st.builds(
    OptimizeRequest,
    target_rows=st.sampled_from([1, 10, 50, 1_000]),
    max_bytes_per_file=st.sampled_from([1_000, 20_000, 1 << 30]),
    deleted_ratio=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)


def groups_of(fragments: list[FragmentLayout], wanted: OptimizeRequest) -> tuple[RewriteGroup, ...]:
    return group_fragments(fragments, wanted, column_count=2)


def rewritten(fragments: list[FragmentLayout], groups: tuple[RewriteGroup, ...]) -> list[FragmentLayout]:
    """Predict the layout after a run: untouched fragments keep their ids, new ones come after all others."""
    taken = {number for group in groups for number in group.fragment_ids}
    kept = [found for found in fragments if found.fragment_id not in taken]
    width = {found.fragment_id: (found.bytes - OVERHEAD) / found.physical_rows for found in fragments}
    new = [
        FragmentLayout(
            fragment_id=1_000 + position,
            physical_rows=group.live_rows,
            deleted_rows=0,
            bytes=OVERHEAD + round(sum(found.live_rows * width[found.fragment_id] for found in group.fragments)),
        )
        for position, group in enumerate(groups)
        if group.live_rows
    ]
    return kept + new


def test_tiny_fragments_are_encoded_anew_and_all_others_copied():
    tiny = RewriteGroup(fragments=tuple(fragment(number, 100) for number in range(60)))
    wide = RewriteGroup(fragments=tuple(fragment(number, 5, width=4 << 20) for number in range(3)))
    long = RewriteGroup(fragments=tuple(fragment(number, 10_000) for number in range(3)))

    assert [group.pays_to_copy for group in (tiny, wide, long)] == [False, True, True]


@given(layouts, options)
def test_every_group_pays_and_no_fragment_is_in_two(fragments, wanted):
    groups = groups_of(fragments, wanted)

    assert all(group.pays for group in groups)
    numbers = [number for group in groups for number in group.fragment_ids]
    assert len(numbers) == len(set(numbers))


@given(layouts, options)
def test_a_second_run_finds_nothing_to_do(fragments, wanted):
    after = rewritten(fragments, groups_of(fragments, wanted))

    assert groups_of(after, wanted) == ()


@given(layouts, options)
def test_no_fragment_keeps_more_dead_rows_than_asked_for(fragments, wanted):
    after = rewritten(fragments, groups_of(fragments, wanted))

    assert all(found.deleted_rows <= found.physical_rows * wanted.deleted_ratio for found in after)


@given(layouts, options)
def test_a_group_never_grows_far_beyond_the_target(fragments, wanted):
    for group in groups_of(fragments, wanted):
        if len(group.fragments) > 1:
            assert group.live_rows < 2 * wanted.target_rows


def test_fragments_of_different_kinds_never_share_a_group():
    fragments = [fragment(number, 5) for number in range(6)]

    groups = group_fragments(fragments, OptimizeRequest(), column_count=2, kind=lambda found: found.fragment_id % 2)

    assert [group.fragment_ids for group in groups] == [(0, 2, 4), (1, 3, 5)]


def test_wide_rows_are_counted_in_bytes():
    wide = [fragment(number, 10, width=100_000) for number in range(8)]

    groups = groups_of(wide, OptimizeRequest(max_bytes_per_file=5_000_000))

    assert [group.fragment_ids for group in groups] == [(0, 1, 2, 3, 4), (5, 6, 7)]
