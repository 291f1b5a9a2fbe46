"""`omnigraph lint`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.base.values import Json
from omnigraph.cli import lint_view
from omnigraph.cli.bindings import explicit_binding
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, read_text_file
from omnigraph.cli.scope import echo_target, resolve_storage

if TYPE_CHECKING:  # imported when there is something to check
    from omnigraph.query.lint import LintReport

    _Look = Callable[[str, str], LintReport]

_SUFFIX = ".gq"


@command(
    "lint",
    examples=(
        "omnigraph lint --schema art.pg --query art.gq",
        "omnigraph lint art.omni --query art.gq --json",
    ),
)
@click.option(
    "--query",
    "paths",
    metavar="FILE|DIR",
    multiple=True,
    help="A query file, or a directory of them; repeatable (required).",
)
@click.option("--schema", metavar="FILE", help="Check against this schema file instead of a graph.")
@json_option
def lint(invocation: Invocation, *, paths: tuple[str, ...], schema: str | None) -> None:
    """Check query files against a schema, without reading any data.

    Every query must parse and fit the schema of the graph's main branch, or the schema file that --schema names. Of a
    directory, its .gq files are checked in the order of their names. Ends with 1 when some query has an error;
    warnings alone do not fail.
    """
    if (typed := invocation.command.typed) != "lint":
        invocation.notices.warn(f"`{typed}` is deprecated; use `omnigraph lint`")
    if not paths:
        raise errors.Usage(
            f"`{invocation.command.typed}` needs --query FILE, the queries that are to be checked.", flag="--query"
        )
    if schema is not None and (given := explicit_binding(invocation)) is not None:
        raise errors.Usage(
            f"--schema checks against a file and {given.source} names a graph; give one of them.", flag="--schema"
        )
    files = [file for path in paths for file in _query_files(path)]
    texts = [(file, read_text_file(file, what="query file")) for file in files]
    schema_source, look = _against_file(schema) if schema is not None else _against_graph(invocation)
    linted = documents.Linted(
        schema_source=schema_source,
        reports=[look(text, file) for file, text in texts],
        is_single=files == list(paths) and len(files) == 1,
    )
    invocation.output.show(linted, document=documents.lint_document, text=lint_view.lint_text)
    if not linted.is_ok:
        failed = [report.query_path for report in linted.reports if not report.is_ok]
        count = sum(report.errors for report in linted.reports)
        raise errors.LintFailed(f"{counted(count, 'error')} in {', '.join(failed)}.", files=failed)


def _query_files(path: str) -> list[str]:
    if not Path(path).is_dir():
        return [path]
    found = sorted(str(file) for file in Path(path).glob(f"*{_SUFFIX}") if file.is_file())
    if not found:
        raise errors.Usage(f"The directory {path} holds no {_SUFFIX} file.", flag="--query")
    return found


def _against_file(path: str) -> "tuple[dict[str, Json], _Look]":
    text = read_text_file(path, what="schema file")
    from omnigraph.catalog.compile import compile_schema
    from omnigraph.query.lint import lint_queries

    catalog = compile_schema(text, source=path, identity_domain="lint")
    return {"kind": "file", "path": path}, lambda queries, file: lint_queries(queries, catalog, source=file)


def _against_graph(invocation: Invocation) -> "tuple[dict[str, Json], _Look]":
    target = resolve_storage(invocation, otherwise=" Without a graph, name a schema file with --schema FILE.")
    echo_target(invocation, target)
    import omnigraph

    graph = omnigraph.open(target.uri, read_only=True)
    return {"kind": "graph", "uri": target.uri}, lambda queries, file: graph.lint(queries, query_source=file)
