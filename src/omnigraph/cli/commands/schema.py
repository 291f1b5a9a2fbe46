"""`omnigraph schema show`."""

from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.opening import open_to_read
from omnigraph.cli.params import json_option


@command("schema show", examples=("omnigraph schema show art.omni > copy.pg",))
@json_option
def schema_show(invocation: Invocation) -> None:
    """Print the schema that the graph was given, comments included."""
    graph = open_to_read(invocation)
    invocation.output.show(
        graph.schema_source,
        document=lambda source: {"schema_source": source},
        # The output adds the last newline, so that a redirected copy equals the source.
        text=lambda source: [source.removesuffix("\n")],
    )
