"""`omnigraph query`."""

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Unpack, cast

import click

from omnigraph import documents, errors
from omnigraph.base.events import phase
from omnigraph.cli.command import command
from omnigraph.cli.engine_choice import resolve_engine
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.new_files import write_lines, write_parquet, written_text
from omnigraph.cli.output import writing_to_stdout
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.query_input import QueryFlags, query_options, read_query
from omnigraph.cli.query_state import chosen_branch, state_options
from omnigraph.cli.query_view import TableStyle, answer_lines, explanation_text
from omnigraph.cli.scope import open_to_read
from omnigraph.engine.choice import EngineName

if TYPE_CHECKING:
    from omnigraph.cli.query_input import QueryInput
    from omnigraph.cli.query_view import Format
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
    graph = open_to_read(invocation)
    address = snapshot or branch
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
    answer = documents.Answer(result=result, branch=branch, snapshot=snapshot)
    if out is not None:
        form = _form_of(out, form)
        if form == "parquet":
            rows_written = write_parquet(result.to_arrow(), out)
        else:
            rows_written = write_lines(answer_lines(answer, cast("Format", form), TableStyle()), out, rows=len(result))
        invocation.output.show(
            rows_written, document=lambda written: {"path": written.path, "rows": written.rows}, text=written_text
        )
        return
    if invocation.wants_json:
        invocation.output.show(answer, document=documents.query_document, text=lambda _: ())
        return
    defaults = invocation.config.defaults
    style = TableStyle(width_max=defaults.table_max_column_width, is_wrapped=defaults.table_cell_layout == "wrap")
    lines = answer_lines(answer, cast("Format", form or defaults.output), style)
    with writing_to_stdout():
        sys.stdout.writelines(f"{line}\n" for line in lines)
    invocation.output.has_result = True


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


def _form_of(out: str, form: str | None) -> str:
    """Choose how a file is written: as --format says, or as its name does."""
    if form is not None:
        return form
    ending = PurePath(out).suffix.lower().removeprefix(".")
    known = {"parquet": "parquet", "csv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "txt": "table"}
    if ending not in known:
        raise errors.Usage(
            f"--out {out} does not say how to write the rows; end it in .{', .'.join(known)}, or give --format.",
            flag="--out",
        )
    return known[ending]
