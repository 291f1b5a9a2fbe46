"""Running one mutation: choose the query, check it, bind its parameters, write once."""

from omnigraph.base import clock, ids
from omnigraph.base.events import Events
from omnigraph.base.values import dataclass
from omnigraph.errors import InvalidName
from omnigraph.graphs.capture import Capture, capture_branch
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitResult, check_actor, check_message, check_name
from omnigraph.query.check import check_query
from omnigraph.query.choosing import ChosenQuery, choose_query
from omnigraph.query.mutate.lowering import lower
from omnigraph.query.mutate.request import MutateRequest
from omnigraph.query.mutate.values import RunValues
from omnigraph.query.parameters import bind_parameters
from omnigraph.query.typed import CheckedMutation
from omnigraph.writes.budget import MUTATION_LIMITS
from omnigraph.writes.mutation import MutationWriter
from omnigraph.writes.protocol import run_write


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MutationResult(CommitResult):
    """What a mutation did; `commit` is the one it published, None when it changed nothing."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: Commit | None


def run_mutation(context: GraphContext, request: MutateRequest, events: Events) -> MutationResult:
    """Carry out a mutation as one commit, or raise and change nothing."""
    actor_id = check_actor(request.actor)
    check_message(request.message)
    chosen = choose_query(request.query, name=request.name, verb="mutate", source=request.query_source)
    capture = capture_branch(context, request.branch)
    query = _checked(chosen, capture)
    values = RunValues(parameters=bind_parameters(query, request.params), now_ms=clock.now_ms())
    writer = MutationWriter(
        statements=lower(query.statements, values),
        ir_hash=capture.snapshot.schema.ir_hash,
        branch=request.branch,
        actor_id=actor_id,
        expected_head=None if request.if_commit is None else _commit_id(request.if_commit),
        has_records=False,
        limits=MUTATION_LIMITS,
    )
    commit = run_write(context, writer, events, message=request.message)
    return MutationResult(
        branch=request.branch,
        query_name=query.name,
        affected_nodes=writer.counts.nodes,
        affected_edges=writer.counts.edges,
        actor_id=actor_id,
        commit=commit,
    )


def _checked(chosen: ChosenQuery, capture: Capture) -> CheckedMutation:
    query = check_query(chosen.syntax, capture.input_catalog, source=chosen.source)
    assert isinstance(query, CheckedMutation)  # the verb was compared
    return query


def _commit_id(given: str) -> str:
    """Take a precondition for what it is: one whole commit id, no wildcard, no address and no beginning of an id."""
    expected = check_name(given, what="The expected commit")
    if not ids.is_ulid(expected):
        raise InvalidName(
            f"The expected commit is one whole commit id such as 01J9ZK3V6Q0T8M7R5N2B4C6D8E, not {expected!r}.",
            name=expected,
        )
    return expected
