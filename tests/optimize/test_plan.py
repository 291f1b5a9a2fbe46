"""What optimize decides, from made-up facts: no disk, no Lance."""

from dataclasses import replace

import pytest

from omnigraph.catalog.indexes import IndexIntent, IndexKind
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.errors import Usage
from omnigraph.maintenance.optimize.costs import FOLD_SECONDS_MAX, TAIL_SECONDS_MAX
from omnigraph.maintenance.optimize.facts import TableFacts
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.plan import plan_table, plan_tables
from omnigraph.maintenance.optimize.request import OptimizeRequest, concurrency_from
from omnigraph.maintenance.optimize.table_work import TableWork, staying
from omnigraph.maintenance.optimize.work import batch_rows
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.layout import FragmentLayout, IndexLayout, SegmentLayout, TableLayout

BY_ID = IndexIntent(name="og_btree_id", column="id", kind=IndexKind.BTREE)
BY_TEXT = IndexIntent(name="og_fts_5", column="title", kind=IndexKind.FTS)
BY_VECTOR = IndexIntent(name="og_vec_6", column="vec", kind=IndexKind.VECTOR)
LANCE_KIND = {IndexKind.BTREE: "BTree", IndexKind.FTS: "Inverted", IndexKind.VECTOR: "IVF_FLAT"}


def fragments(*rows: int, width: int = 10) -> tuple[FragmentLayout, ...]:
    return tuple(
        FragmentLayout(fragment_id=number, physical_rows=count, deleted_rows=0, bytes=4_096 + count * width)
        for number, count in enumerate(rows)
    )


def index(intent: IndexIntent, *covered: set[int], is_inherited: bool = False) -> IndexLayout:
    """Describe an index with one segment for each set of fragments."""
    return IndexLayout(
        name=intent.name,
        kind=LANCE_KIND[intent.kind],
        field_ids=(0,),
        columns=(intent.column,),
        segments=tuple(
            SegmentLayout(
                uuid=f"{intent.name}-{number}",
                dataset_version=1,
                index_version=1,
                fragment_ids=frozenset(numbers),
                is_inherited=is_inherited,
            )
            for number, numbers in enumerate(covered)
        ),
    )


def facts(
    *indexes: IndexLayout,
    rows: tuple[int, ...] = (5, 5, 5),
    intents: tuple[IndexIntent, ...] = (BY_ID,),
    name: str = "node:T",
    vectors: int = 0,
    **layout: bool,
) -> TableFacts:
    pin = TablePin(
        table_key=TableKey(name),
        identity=TableIdentity(type_id=1, incarnation_id=1),
        location="nodes/1",
        ref=None,
        version=7,
        row_count=sum(rows),
    )
    described = TableLayout(
        version=7,
        fragments=fragments(*rows),
        indexes=indexes,
        column_count=2,
        has_blobs=layout.get("has_blobs", False),
        has_auto_cleanup=layout.get("has_auto_cleanup", False),
    )
    return TableFacts(
        pin=pin, layout=described, head_version=7, intents=intents, vectors={"vec": vectors}, dimensions={"vec": 8}
    )


def test_a_table_at_its_target_needs_nothing():
    plan = plan_table(facts(index(BY_ID, {0}), rows=(500,)), OptimizeRequest())

    assert not plan.has_work
    assert plan.tail_seconds == 0.0


def test_an_empty_table_waits_for_rows():
    plan = plan_table(facts(rows=()), OptimizeRequest())

    assert not plan.has_work
    assert [(index.column, index.reason) for index in plan.pending] == [("id", "no rows yet")]
    assert plan.facts.coverage() == 1.0


def test_a_setting_that_deletes_versions_is_work_of_its_own():
    plan = plan_table(facts(index(BY_ID, {0}), rows=(500,), has_auto_cleanup=True), OptimizeRequest())

    assert plan.has_work


def test_drift_is_skipped_and_not_interpreted():
    plan = plan_table(replace(facts(), head_version=9), OptimizeRequest())

    assert (plan.skipped, plan.has_work, plan.groups, plan.builds) == ("DriftNeedsRepair", False, (), ())


def test_stale_full_text_is_built_anew_and_stale_btrees_are_folded():
    stale = facts(index(BY_ID, {0}), index(BY_TEXT, {0}), intents=(BY_ID, BY_TEXT))

    plan = plan_table(stale, OptimizeRequest())

    assert [found.name for found in plan.folds] == ["og_btree_id"]
    assert [(build.name, build.is_new) for build in plan.builds] == [("og_fts_5", False)]


def test_several_segments_are_folded_even_when_they_cover_everything():
    plan = plan_table(facts(index(BY_ID, {0}, {1, 2})), OptimizeRequest())

    assert [found.name for found in plan.folds] == ["og_btree_id"]


def test_an_index_that_nobody_declared_is_folded_and_never_replaced():
    plan = plan_table(facts(index(BY_ID, {0, 1, 2}), index(BY_TEXT, {0})), OptimizeRequest())

    assert [found.name for found in plan.folds] == ["og_fts_5"]
    assert plan.builds == ()


def test_a_btree_that_takes_too_long_to_fold_is_built_before_the_gates():
    large = facts(index(BY_ID, {0}), rows=(20_000_000, 5))

    plan = plan_table(large, OptimizeRequest())

    assert plan.folds == ()
    assert [build.name for build in plan.builds] == ["og_btree_id"]


def test_btrees_of_a_large_table_are_built_on_what_is_rewritten_before_the_gates():
    plan = plan_table(facts(index(BY_ID, {0}), rows=(20_000_000, 5, 5)), OptimizeRequest())

    assert (plan.folds, plan.foresees) == ((), True)
    assert [(build.name, build.is_new) for build in plan.builds] == [("og_btree_id", False)]
    assert [group.fragment_ids for group in plan.groups] == [(1, 2)]
    assert plan.tail_seconds == pytest.approx(0.03)


def test_a_rewrite_costs_a_fold_of_every_btree_even_of_those_that_knew_all_rows():
    rewritten = plan_table(facts(index(BY_ID, {0, 1, 2}), rows=(1_400_000, 5, 5)), OptimizeRequest())
    as_it_is = plan_table(facts(index(BY_ID, {0}), rows=(1_400_000,)), OptimizeRequest())

    assert (rewritten.folds, rewritten.builds, as_it_is.tail_seconds) == ((), (), 0.0)
    assert rewritten.tail_seconds == pytest.approx(0.03 + 1_400_010 * 0.15e-6 + 10 * 0.35e-6)


@pytest.mark.parametrize(
    ("rows", "built_on"), [((1_500_000, 5, 5), [0]), ((5, 3, 4), [1])], ids=["one stays", "all are rewritten"]
)
def test_a_new_btree_is_built_over_what_stays_and_takes_in_the_rest_in_the_tail(rows, built_on):
    plan = plan_table(facts(index(BY_TEXT, {0, 1, 2}), rows=rows, intents=(BY_ID,)), OptimizeRequest())
    work = TableWork.of(plan, pinned=None)

    assert [build.name for build in plan.builds] == ["og_btree_id"]
    assert [fragment.fragment_id for fragment in staying(work)] == built_on


def test_without_reindexing_groups_follow_the_coverage_and_spare_inherited_btrees():
    mixed = facts(index(BY_ID, {0, 1}), rows=(5, 5, 5, 5))
    inherited = facts(index(BY_ID, {0, 1}, is_inherited=True), rows=(5, 5, 5, 5))

    options = OptimizeRequest(reindex=False)

    assert [group.fragment_ids for group in plan_table(mixed, options).groups] == [(0, 1), (2, 3)]
    assert [group.fragment_ids for group in plan_table(inherited, options).groups] == [(2, 3)]
    assert plan_table(mixed, options).builds == ()


def test_what_many_large_tables_take_is_done_before_the_gates():
    """Each table has one group of a million rows, and half a second to fold them into its index."""
    many = [
        facts(index(BY_ID, {0, 1}), rows=(500_000, 500_000), name=f"node:T{number}", intents=(BY_ID,))
        for number in range(40)
    ]

    plans = plan_tables(many, OptimizeRequest(target_rows=900_000))

    assert all(plan.groups and plan.foresees for plan in plans)
    assert sum(plan.tail_seconds for plan in plans) == pytest.approx(40 * 0.03)


def test_small_tables_share_the_little_time_that_folding_is_given():
    many = [
        facts(index(BY_ID, {0, 1}), rows=(50_000, 50_000), name=f"node:T{number}", intents=(BY_ID,))
        for number in range(40)
    ]

    plans = plan_tables(many, OptimizeRequest())

    folded = [plan for plan in plans if not plan.foresees]
    assert all(plan.groups for plan in plans)
    assert 0 < len(folded) < 40
    assert sum(plan.btree_seconds for plan in plans) <= FOLD_SECONDS_MAX


FROM = IndexIntent(name="og_btree_src", column="src", kind=IndexKind.BTREE)
TO = IndexIntent(name="og_btree_dst", column="dst", kind=IndexKind.BTREE)
EDGE = (BY_ID, FROM, TO)


def edge_table(millions: int, *, covered: bool = True, name: str = "edge:E") -> TableFacts:
    """Describe an edge table of full fragments, with two small ones that its three indexes do not know yet."""
    rows = (*(1 << 20 for _ in range(millions)), 5, 5)
    indexes = [index(intent, set(range(millions))) for intent in EDGE] if covered else []
    return facts(*indexes, rows=rows, intents=EDGE, name=name)


@pytest.mark.parametrize("millions", [1, 20, 66, 110])
@pytest.mark.parametrize("covered", [True, False], ids=["existing indexes", "new indexes"])
def test_writers_wait_no_longer_for_a_larger_table(millions, covered):
    plan = plan_table(edge_table(millions, covered=covered), OptimizeRequest())

    assert (len(plan.groups), plan.folds, plan.foresees, plan.postponed) == (1, (), True, ())
    assert [(build.name, build.is_new) for build in plan.builds] == [(intent.name, not covered) for intent in EDGE]
    assert plan.tail_seconds == pytest.approx(0.03)


def test_btrees_that_lost_rows_are_built_before_the_gates():
    rewritten = facts(*(index(intent, {0}) for intent in EDGE), rows=(66_000_000, 10), intents=EDGE)

    plan = plan_table(rewritten, OptimizeRequest())

    assert (plan.groups, plan.folds, plan.postponed) == ((), (), ())
    assert [build.name for build in plan.builds] == [intent.name for intent in EDGE]
    assert plan.tail_seconds < 0.1


def test_folds_that_do_not_fit_are_builds_instead():
    many = [facts(index(BY_ID, {0}), rows=(700_000, 400_000), name=f"node:T{number}") for number in range(30)]
    many += [facts(index(BY_ID, {0}), rows=(100, 100), name="node:Small")]

    plans = plan_tables(many, OptimizeRequest(target_rows=50))

    assert sum(plan.btree_seconds for plan in plans) <= FOLD_SECONDS_MAX
    assert all(bool(plan.folds) != bool(plan.builds) for plan in plans)
    assert [plan.table_key for plan in plans if plan.folds] == ["node:Small"]


def test_one_vector_index_may_take_longer_than_the_tail_and_then_it_is_alone():
    vectors = {"intents": (BY_VECTOR,)}
    long, longer = (
        facts(index(BY_VECTOR, {0}), rows=(1_000_000, new), name=name, **vectors)
        for name, new in (("node:Long", 6_000_000), ("node:Longer", 7_000_000))
    )

    plans = {plan.table_key: plan for plan in plan_tables([long, longer], OptimizeRequest())}

    assert [index.name for index in plans["node:Longer"].folds] == ["og_vec_6"]
    assert not plans["node:Long"].has_work
    assert [left.column for left in plans["node:Long"].postponed] == ["vec"]


def test_what_costs_no_time_is_done_beside_an_index_that_takes_all_of_it():
    long = facts(
        index(BY_VECTOR, {0}), index(BY_ID, {0}), rows=(40_000_000, 6_000_000, 5, 5), intents=(BY_VECTOR, BY_ID)
    )

    plan = plan_table(long, OptimizeRequest())

    assert ([found.name for found in plan.folds], plan.foresees) == (["og_vec_6"], True)
    assert [group.fragment_ids for group in plan.groups] == [(2, 3)]
    assert [build.name for build in plan.builds] == ["og_btree_id"]


def test_without_reindexing_what_would_take_too_long_is_left():
    plan = plan_table(
        facts(*(index(intent, set(range(68))) for intent in EDGE), rows=(*(1 << 20 for _ in range(66)), 5, 5)),
        OptimizeRequest(reindex=False),
    )

    assert (plan.has_work, len(plan.left)) == (False, 1)


def test_a_thousand_small_tables_fit_into_one_run_as_far_as_the_tail_allows():
    many = [facts(index(BY_ID, {0, 1, 2}), name=f"node:T{number}") for number in range(1_000)]

    plans = plan_tables(many, OptimizeRequest())

    assert 500 < sum(bool(plan.groups) for plan in plans) < 1_000
    assert sum(plan.tail_seconds for plan in plans) <= TAIL_SECONDS_MAX


def test_a_budget_of_bytes_admits_what_removes_most_fragments_per_byte_first():
    cheap = facts(rows=(5,) * 10, name="node:Cheap")
    dear = replace(facts(name="node:Dear"), layout=replace(facts().layout, fragments=fragments(50, 50, width=10_000)))

    plans = {plan.table_key: plan for plan in plan_tables([dear, cheap], OptimizeRequest(max_bytes=100_000))}

    assert [len(plans[key].groups) for key in ("node:Cheap", "node:Dear")] == [1, 0]
    assert len(plans["node:Dear"].left) == 1


def test_coverage_is_that_of_the_least_complete_declared_index():
    found = facts(index(BY_ID, {0, 1, 2}), index(BY_TEXT, {0}), intents=(BY_ID, BY_TEXT))

    assert found.coverage() == pytest.approx(1 / 3)
    assert replace(found, intents=(BY_ID, BY_TEXT, BY_VECTOR)).coverage() == 0.0


@pytest.mark.parametrize(
    ("width", "has_blobs", "expected"), [(10, False, 8_192), (4 << 20, False, 32), (100, True, 64), (1 << 33, False, 1)]
)
def test_a_worker_holds_as_many_rows_as_fit_into_its_memory(width, has_blobs, expected):
    group = RewriteGroup(fragments=(FragmentLayout(fragment_id=0, physical_rows=10, deleted_rows=0, bytes=10 * width),))

    assert batch_rows(group, OptimizeRequest(max_memory=1 << 30), has_blobs=has_blobs) == expected


@pytest.mark.parametrize(
    "options",
    [
        OptimizeRequest(target_rows=0),
        OptimizeRequest(max_bytes_per_file=0),
        OptimizeRequest(deleted_ratio=1.5),
        OptimizeRequest(max_memory=10),
    ],
)
def test_values_that_cannot_work_are_refused(options):
    with pytest.raises(Usage):
        options.check()


def test_concurrency_is_eight_unless_the_environment_says_otherwise():
    assert concurrency_from({}) == 8
    assert concurrency_from({"OMNIGRAPH_MAINTENANCE_CONCURRENCY": " 3 "}) == 3
