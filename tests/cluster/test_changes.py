"""Deciding what an apply does: laws that hold for every ledger, every configuration and every interruption."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cluster.advance import advanced, recomposed
from omnigraph.cluster.changes import (
    ChangeOperation,
    ChangeReason,
    CreateGraph,
    DeleteGraph,
    Disposition,
    PublishBlob,
    affected_by,
    classify,
    compare,
    demote,
    steps_of,
)
from omnigraph.cluster.resources import (
    EmbeddingProfile,
    graph_address,
    graph_of,
    policy_address,
    provider_address,
    query_address,
    schema_address,
)
from omnigraph.cluster.state import AppliedResource, Ledger, composite_digest

GRAPHS = ("a", "b", "c")
digests = st.sampled_from([letter * 64 for letter in "123"])


@st.composite
def entries(draw: st.DrawFn) -> dict[str, AppliedResource]:
    """What a ledger or a configuration may say: graphs with a schema each, queries, a provider, policies."""
    found: dict[str, AppliedResource] = {}
    provider = None
    if draw(st.booleans()):
        profile = EmbeddingProfile(kind="mock", model=draw(st.sampled_from(["m", "n"])))
        provider = provider_address("p")
        found[provider] = AppliedResource(digest=profile.digest, embedding_profile=profile)
    graphs = draw(st.sets(st.sampled_from(GRAPHS)))
    for graph_id in sorted(graphs):
        found[schema_address(graph_id)] = AppliedResource(digest=draw(digests))
        for name in draw(st.sets(st.sampled_from(["q", "r"]))):
            found[query_address(graph_id, name)] = AppliedResource(digest=draw(digests))
        bound = provider if provider is not None and draw(st.booleans()) else None
        found[graph_address(graph_id)] = AppliedResource(digest=None, embedding_provider=bound)
    for graph_id in sorted(graphs):
        if draw(st.booleans()):
            found[policy_address(graph_id)] = AppliedResource(
                digest=draw(digests), applies_to=(graph_address(draw(st.sampled_from(sorted(graphs)))),)
            )
    for graph_id in graphs:
        address = graph_address(graph_id)
        found[address] = replace(found[address], digest=composite_digest(found, graph_id))
    return found


@given(applied=entries(), desired=entries(), pending=st.sets(st.sampled_from(GRAPHS)), data=st.data())
def test_what_is_not_waiting_is_in_the_next_ledger_and_the_rest_is_as_it_was(applied, desired, pending, data) -> None:
    deleted = [address for address in applied if graph_of(address) and address not in desired]
    approved = data.draw(st.sets(st.sampled_from(deleted))) if deleted else set()
    changes = classify(compare(applied, desired), applied=applied, desired=desired, pending=pending, approved=approved)
    ledger = advanced(Ledger(resources=applied), changes, desired, pending=pending)

    ledger.refuse_wrong_composites()
    assert [change.resource for change in changes] == sorted(change.resource for change in changes)
    for change in changes:
        entry = ledger.resources.get(change.resource)
        if not change.is_settled:
            assert change.reason is not None
            kept = applied.get(change.resource)
            assert (entry is None) is (kept is None)
        elif change.operation is ChangeOperation.DELETE:
            assert entry is None
    for entry in ledger.resources.values():
        assert entry.embedding_provider is None or entry.embedding_provider in ledger.resources
    if all(change.is_settled for change in changes):
        assert ledger.resources == desired
        assert compare(ledger.resources, desired) == ()


@given(applied=entries(), desired=entries(), pending=st.sets(st.sampled_from(GRAPHS)))
def test_no_graph_moves_while_it_is_pending_or_goes_without_an_approval(applied, desired, pending) -> None:
    changes = classify(compare(applied, desired), applied=applied, desired=desired, pending=pending, approved=())
    steps = steps_of(changes)

    assert not any(isinstance(step, DeleteGraph) for step in steps)
    moved = {getattr(step, "graph_id", None) or graph_of(step.address) for step in steps}  # type: ignore[union-attr]
    assert not moved & set(pending)
    settled = {change.resource for change in changes if change.disposition is Disposition.APPLIED}
    assert {step.address for step in steps if isinstance(step, PublishBlob)} <= settled


@given(applied=entries(), desired=entries(), data=st.data())
def test_a_failed_graph_takes_along_what_depends_on_it_and_nothing_else(applied, desired, data) -> None:
    approved = [address for address in applied if address not in desired]
    changes = classify(compare(applied, desired), applied=applied, desired=desired, pending=(), approved=approved)
    created = [step.graph_id for step in steps_of(changes) if isinstance(step, CreateGraph)]
    if not created:
        return
    graph_id = data.draw(st.sampled_from(created))
    address = graph_address(graph_id)

    after = demote(changes, graph_id, failed=address, reason=ChangeReason.GRAPH_CREATE_FAILED, desired=desired)

    for before, now in zip(changes, after, strict=True):
        bound = desired[now.resource].applies_to or () if now.resource in desired else ()
        is_touched = graph_of(now.resource) == graph_id or address in bound
        assert now.is_settled is (before.is_settled and not is_touched)
    assert not any(getattr(step, "graph_id", None) == graph_id for step in steps_of(after))
    ledger = advanced(Ledger(resources=applied), after, desired, pending=())
    assert address not in ledger.resources


@given(desired=entries())
def test_applying_to_nothing_and_then_again_changes_nothing_more(desired) -> None:
    changes = classify(compare({}, desired), applied={}, desired=desired, pending=(), approved=())
    once = advanced(Ledger(), changes, desired, pending=())

    assert all(change.is_settled for change in changes)
    assert advanced(once, (), desired, pending=()) == once
    assert recomposed(once) == once


def test_what_is_affected_is_found_through_others() -> None:
    edges = [("policy.p", "graph.a"), ("graph.a", "provider.embedding.x"), ("query.a.q", "schema.a")]

    assert affected_by("provider.embedding.x", edges) == ("graph.a", "policy.p")
    assert affected_by("policy.p", edges) == ()
