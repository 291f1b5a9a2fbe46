"""`omnigraph mutate`."""

from typing import Unpack

import click

from omnigraph import documents
from omnigraph.cli import texts
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import branch_option, json_option, message_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.query_input import QueryFlags, StoredInput, query_options, read_query
from omnigraph.cli.scope import echo_target
from omnigraph.cli.served import ServerTarget, connected, resolve_target


@command(
    "mutate",
    examples=(
        "omnigraph mutate art.omni -e 'query add($n: String) { insert Artist { name: $n } }' --param n=Zoe",
        "omnigraph mutate art.omni -e 'query fix() { update Artist set { born: 1908 } where born = 1907 }' --json",
    ),
)
@query_options
@branch_option
@click.option("--if-commit", metavar="COMMIT", help="Only if this commit still is the head of the branch.")
@message_option
@json_option
def mutate(
    invocation: Invocation, *, branch: str, if_commit: str | None, message: str | None, **flags: Unpack[QueryFlags]
) -> None:
    """Insert, update and delete entities as one atomic commit.

    A mutation is a query of insert and update statements, or of delete statements, which see what the ones before them
    did. Deleting a node deletes its edges with it. All rules of the schema are checked on the outcome; if it breaks
    one, the graph stays as it was. With --if-commit a moved head ends the run with exit code 4.
    """
    if invocation.command.typed == "change":
        invocation.notices.warn("`change` is deprecated; use `omnigraph mutate`")
    query = read_query(invocation, flags, verb="mutate")
    target = resolve_target(invocation, message=message)
    if isinstance(target, ServerTarget):
        echo_target(invocation, target)
        graph = connected(invocation, target)
        if isinstance(query, StoredInput):
            params = query.params(graph.stored_queries)
            result = graph.mutate_stored(query.name, params=params, branch=branch, if_commit=if_commit)
        else:
            result = graph.mutate(query.text, query.name, params=query.params, branch=branch, if_commit=if_commit)
        invocation.output.show(result, document=documents.mutation_document, text=texts.mutation_text)
        return
    if isinstance(query, StoredInput):
        raise query.needs_server(target.uri)
    actor = invocation.actor()
    echo_target(invocation, target)
    import omnigraph

    with follow_progress(invocation) as events:
        result = omnigraph.open(target.uri, events=events).mutate(
            query.text,
            query.name,
            params=query.params,
            branch=branch,
            if_commit=if_commit,
            actor=actor,
            message=message,
            query_source=query.source,
            events=events,
        )
    invocation.output.show(result, document=documents.mutation_document, text=texts.mutation_text)
