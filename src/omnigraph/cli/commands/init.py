"""`omnigraph init`."""

import click

from omnigraph import documents, errors
from omnigraph.cli.bindings import explicit_binding
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, message_option, read_text_file
from omnigraph.cli.scope import require_consent, storage_at


@command("init", examples=("omnigraph init --schema art.pg new.omni",))
@click.option("--schema", metavar="FILE", help="The schema of the new graph (required).")
@click.option("--force", is_flag=True, help="Clear what an interrupted init left; never an existing graph.")
@message_option
@json_option
def init(invocation: Invocation, *, schema: str | None, force: bool, message: str | None) -> None:
    """Create an empty graph from a schema.

    Fails when there is a graph already, or the remains of one.
    """
    # A new graph is named on the line: profiles and defaults point at graphs that exist.
    address = explicit_binding(invocation)
    if address is None:
        raise invocation.command.addressing_error("`init` needs the storage URI of the new graph, or --store <uri>.")
    target = storage_at(invocation.command, address.value)
    if schema is None:
        raise errors.Usage("`init` needs --schema FILE, the schema of the new graph.", flag="--schema")
    if force:
        require_consent(invocation, target)
    import omnigraph

    source = read_text_file(schema, what="schema file")
    omnigraph.init(
        target.uri,
        source,
        schema_source=schema,
        force=force,
        consent=force,
        message=message,
        events=invocation.notices.event,
    )
    invocation.output.show(
        target,
        document=lambda made: documents.init_document(made.uri),
        text=lambda made: [f"initialized {made.uri}"],
    )
