"""What becomes of a table's work when a writer changed some of its fragments before it could be committed."""

from dataclasses import replace

from omnigraph.graphs.capture import Capture
from omnigraph.maintenance.optimize.facts import observe_table
from omnigraph.maintenance.optimize.grouping import RewriteGroup
from omnigraph.maintenance.optimize.plan import plan_table
from omnigraph.maintenance.optimize.request import OptimizeRequest
from omnigraph.maintenance.optimize.table_work import TableWork
from omnigraph.storage.compaction import same_files, unchanged


def plan_again(
    capture: Capture, work: TableWork, options: OptimizeRequest, *, same_schema: bool, is_last: bool
) -> None:
    """Plan what was changed once more, on the state that the writer left; what still holds is kept as it is.

    BTREEs that are built on rewritten files depend on every rewrite. So that they are built at all, the last attempt
    goes without those that writers have changed so far.
    """
    table_key = work.plan.table_key
    if table_key not in capture.snapshot.pins:
        return
    facts = observe_table(capture, table_key)
    work.pinned = capture.table(table_key)
    if not same_schema:
        work.plan = plan_table(facts, options)
        work.to_rewrite, work.to_build = list(work.plan.groups), list(work.plan.builds)
        work.rewrites, work.builds = [], []
        return
    work.plan = replace(work.plan, facts=facts)
    holds = unchanged([made.result for made in work.rewrites], work.pinned)
    lost = [made.group for made, is_good in zip(work.rewrites, holds, strict=True) if not is_good]
    work.rewrites = [made for made, is_good in zip(work.rewrites, holds, strict=True) if is_good]
    here = {fragment.fragment_id: fragment for fragment in facts.layout.fragments}
    again = [
        RewriteGroup(fragments=tuple(here[number] for number in group.fragment_ids if number in here))
        for group in (*work.to_rewrite, *lost)
    ]
    paying = [group for group in again if group.pays]
    gives_up = is_last and work.plan.foresees
    work.to_rewrite = [] if gives_up else paying
    work.given_up = paying if gives_up else []
    # What was built on rewritten files goes by numbers that these get anew, and by rewrites of which one is lost.
    kept = [
        made
        for made in work.builds
        if not made.awaited and same_files(made.built_on, work.pinned, made.fragments_there)
    ]
    work.to_build += [made.build for made in work.builds if made not in kept]
    work.builds = kept
