"""`omnigraph alias`."""

import click

from omnigraph import documents
from omnigraph.cli.aliases import call_of_alias
from omnigraph.cli.answers import show_answer
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.query_input import read_params
from omnigraph.cli.query_view import FORMATS
from omnigraph.cli.served import ServerTarget, connected, refuse_unpicked


@command("alias", examples=("omnigraph alias overdue 2026-01-31",))
@click.argument("name", metavar="NAME", help="The alias, as `aliases:` of the operator config calls it.")
@click.argument("words", metavar="[VALUE]...", nargs=-1, help="Values of its `args`, in their order.")
@click.option("--params", metavar="JSON", help="The parameters as one JSON object; they count before the values.")
@click.option("--params-file", metavar="FILE", help="A file with the parameters as one JSON object.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to show the rows; default that of the alias.")
@json_option
def alias(
    invocation: Invocation,
    *,
    name: str,
    words: tuple[str, ...],
    params: str | None,
    params_file: str | None,
    form: str | None,
) -> None:
    """Run a stored query under the short name that the operator config has for it.

    The alias says which server, graph and query are meant. A value that is JSON is taken as that, anything else as a
    text.
    """
    given = read_params(params, params_file)
    call = call_of_alias(name, words, given, form=form, config=invocation.config)
    target = ServerTarget(url=call.url, graph=call.graph, is_looked_up=True)
    if target.graph is None:
        refuse_unpicked(invocation, target)
    result = connected(invocation, target).query_stored(call.query, params=call.params)
    answer = documents.Answer(result=result, branch=result.branch, snapshot=None)
    show_answer(invocation, answer, form=call.format)
