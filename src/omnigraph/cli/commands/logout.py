"""`omnigraph logout`."""

import click

from omnigraph.cli.command import command
from omnigraph.cli.commands.login import server_name
from omnigraph.cli.credentials import (
    changing_credentials,
    credentials_path,
    read_credentials,
    without_section,
    write_credentials,
)
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option


@command("logout", examples=("omnigraph logout prod",))
@click.argument("name", metavar="NAME", help="The server whose token is to be forgotten.")
@json_option
def logout(invocation: Invocation, *, name: str) -> None:
    """Forget the token of a server.

    There need not be one. A token in the environment is not touched.
    """
    server = server_name(name)
    path = credentials_path(invocation.environ)
    if path.exists():
        with changing_credentials(path):
            text = read_credentials(path)
            left = without_section(text, server)
            if left != text:
                write_credentials(path, left)
    invocation.output.show(
        {"server": server, "credentials_path": str(path)},
        document=dict,
        text=lambda done: [f"{done['credentials_path']} has no token of {done['server']}"],
    )
