"""`omnigraph schema`."""

import click

from omnigraph import documents, errors
from omnigraph.cli import texts
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option, message_option, read_text_file
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, require_consent, resolve_storage
from omnigraph.cli.served import ServerTarget, connected, open_to_read, resolve_target


@command("schema show", examples=("omnigraph schema show art.omni > copy.pg",))
@json_option
def schema_show(invocation: Invocation) -> None:
    """Print the schema that the graph was given, comments included."""
    graph = open_to_read(invocation)
    invocation.output.show(
        graph.schema_source,
        document=documents.schema_document,
        # The output adds the last newline, so that a redirected copy equals the source.
        text=lambda source: [source.removesuffix("\n")],
    )


@command("schema plan", examples=("omnigraph schema plan art.omni --schema art.pg",))
@click.option("--schema", metavar="FILE", help="The schema that the graph is to have (required).")
@click.option("--allow-data-loss", is_flag=True, help="Show what an apply with the same flag gives up for good.")
@json_option
def schema_plan(invocation: Invocation, *, schema: str | None, allow_data_loss: bool) -> None:
    """Show what giving the graph another schema would do.

    Writes nothing and reads no data. A plan with an unsupported change is shown like any other, each change with the
    code of its rule; the exit code is 0 either way.
    """
    source = _required(invocation, schema)
    target = resolve_storage(invocation)
    text = read_text_file(source, what="schema file")
    import omnigraph

    graph = omnigraph.open(target.uri, read_only=True)
    plan = graph.plan_schema(text, schema_source=source, allow_data_loss=allow_data_loss)
    for warning in plan.warnings:
        invocation.notices.warn(warning)
    invocation.output.show(
        plan,
        document=lambda found: documents.schema_plan_document(found, uri=target.uri),
        text=texts.plan_text,
    )


@command("schema apply", examples=("omnigraph schema apply art.omni --schema art.pg",))
@click.option("--schema", metavar="FILE", help="The schema that the graph is to have (required).")
@click.option(
    "--allow-data-loss", is_flag=True, help="Remove dropped data from the past as well, at once and for good."
)
@message_option
@json_option
def schema_apply(invocation: Invocation, *, schema: str | None, allow_data_loss: bool, message: str | None) -> None:
    """Give the graph another schema, as one atomic commit.

    Data of what stays is kept, also under a new name (@rename_from). What is dropped remains readable in earlier
    graph versions, unless --allow-data-loss gives it up. Fails while the graph has other branches than main.
    """
    source = _required(invocation, schema)
    target = resolve_target(invocation, message=message)
    text = read_text_file(source, what="schema file")
    if allow_data_loss:
        require_consent(invocation, target)
    echo_target(invocation, target, destroys=allow_data_loss)
    if isinstance(target, ServerTarget):
        changed = connected(invocation, target).apply_schema(text, allow_data_loss=allow_data_loss)
        invocation.output.show(
            changed,
            document=lambda made: made.document(uri=target.uri),
            text=lambda made: [texts.outcome_line(made.commit)],
        )
        return
    actor = invocation.actor()
    import omnigraph

    with follow_progress(invocation) as events:
        graph = omnigraph.open(target.uri, events=events)
        result = graph.apply_schema(
            text,
            schema_source=source,
            allow_data_loss=allow_data_loss,
            actor=actor,
            message=message,
            events=events,
        )
    invocation.output.show(
        result,
        document=lambda made: documents.applied_schema_document(made, uri=target.uri),
        text=texts.applied_text,
    )


def _required(invocation: Invocation, schema: str | None) -> str:
    if schema is None:
        raise errors.Usage(
            f"`{invocation.command.typed}` needs --schema FILE, the schema that the graph is to have.", flag="--schema"
        )
    return schema
