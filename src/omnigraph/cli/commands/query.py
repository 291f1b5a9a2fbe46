"""`omnigraph query`."""

from typing import TYPE_CHECKING, Unpack

import click

from omnigraph import documents, errors
from omnigraph.base.events import phase
from omnigraph.cli.answers import show_answer
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.query_input import QueryFlags, StoredInput, query_options, read_query
from omnigraph.cli.query_state import chosen_branch, chosen_state, state_options
from omnigraph.cli.query_view import explanation_text
from omnigraph.cli.served import is_remote, open_to_read
from omnigraph.engine.choice import EngineName

if TYPE_CHECKING:
    from omnigraph.cli.query_input import QueryInput
    from omnigraph.graph import Graph
    from omnigraph.graphs.result import Result


@command(
    "query",
    examples=(
        "omnigraph query art.omni -e 'match { $a: Artist } return { $a.name } order { $a.name }'",
        "omnigraph query by_artist art.omni --query art.gq --param name=Ines --format csv",
        "omnigraph query art.omni -e 'match { $a: Artist } return { count($a) as n }' --snapshot main~1 --json",
        "omnigraph query art.omni -e 'match { $a: Artist } return { $a.name }' --out artists.parquet",
    ),
)
@query_options
@state_options
@click.option("--out", metavar="FILE", help="Write the rows to a new file: .parquet, .csv, .json, .jsonl, or --format.")
@click.option("--explain", is_flag=True, help="Show the steps that would answer the query instead of running it.")
@click.option("--analyze", is_flag=True, help="Run the query and show what each step did instead of the rows.")
@json_option
def query(
    invocation: Invocation,
    *,
    branch: str | None,
    snapshot: str | None,
    form: str | None,
    out: str | None,
    explain: bool,
    analyze: bool,
    **flags: Unpack[QueryFlags],
) -> None:
    """Ask a question in the query language and show the rows.

    The query is given with -e or in a file, of which NAME picks one; it may be a bare `match { … } return { … }`. All
    of it reads one state of the graph, that of the branch when it starts. With --explain or --analyze the steps that
    answer it are shown instead of the rows. A query that changes something is for `omnigraph mutate`.
    """
    if invocation.command.typed == "read":
        invocation.notices.warn("`read` is deprecated; use `omnigraph query`")
    branch = chosen_branch(branch, snapshot)
    if out is not None and (explain or analyze):
        raise errors.Usage(
            "--out takes the rows, and --explain and --analyze show none; give one of them.", flag="--out"
        )
    asked = read_query(invocation, flags, verb="query")
    graph = open_to_read(invocation, explain=explain, analyze=analyze)
    address = snapshot or branch
    if is_remote(graph):
        state = chosen_state(branch, snapshot)
        if isinstance(asked, StoredInput):
            result = graph.query_stored(asked.name, params=asked.params(graph.stored_queries), **state)
        else:
            result = graph.query(asked.text, asked.name, params=asked.params, **state)
        show_answer(invocation, documents.Answer(result=result, branch=branch, snapshot=snapshot), form=form, out=out)
        return
    if isinstance(asked, StoredInput):
        raise asked.needs_server(graph.uri)
    if explain or analyze:
        explained = graph.explain(
            asked.text,
            asked.name,
            analyze=analyze,
            params=asked.params,
            snapshot=address,
            query_source=asked.source,
        )
        invocation.output.show(explained, document=documents.explanation_document, text=explanation_text)
        return
    result = _answered(invocation, graph, asked, address)
    show_answer(invocation, documents.Answer(result=result, branch=branch, snapshot=snapshot), form=form, out=out)


def _answered(invocation: Invocation, graph: "Graph", asked: "QueryInput", address: str) -> "Result":
    """Run the query in this process, or on Spark where the command says so: most answers are there before it starts."""
    if invocation.flags.engine != EngineName.SPARK:
        return graph.query(asked.text, asked.name, params=asked.params, snapshot=address, query_source=asked.source)
    choice = resolve_engine(invocation)
    with follow_progress(invocation) as events, phase(events, "asking Spark"):
        return graph.query(
            asked.text,
            asked.name,
            params=asked.params,
            snapshot=address,
            engine=choice,
            query_source=asked.source,
        )
