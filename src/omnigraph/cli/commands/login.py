"""`omnigraph login`."""

import getpass
import sys

import click

from omnigraph import errors
from omnigraph.base.plain_text import NAME_BYTES_MAX, plain_text
from omnigraph.base.values import Json, dataclass
from omnigraph.cli.command import command
from omnigraph.cli.credentials import (
    changing_credentials,
    credentials_path,
    read_credentials,
    with_token,
    write_credentials,
)
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import Text
from omnigraph.cli.params import json_option


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedIn:
    """Where the token of a server is now; the token itself is never shown."""

    server: str
    credentials_path: str
    declared: bool
    """Whether the operator config has a server of this name."""


@command("login", examples=("omnigraph login prod --token 7f3c0a19", "echo 7f3c0a19 | omnigraph login prod"))
@click.argument("name", metavar="NAME", help="The server, as `servers:` of the operator config calls it.")
@click.option("--token", metavar="TOKEN", help="The token; without it, it is asked for, or read from standard input.")
@json_option
def login(invocation: Invocation, *, name: str, token: str | None) -> None:
    """Keep the token of a server for the requests that go to it.

    The token goes into the file credentials beside the operator config, which only you can read, and is sent to no
    other server. It is never printed. A token on the command line is seen by whoever lists the processes of this
    machine; on a terminal, leave --token out.
    """
    server = server_name(name)
    declared = server in invocation.config.servers
    given = _token(server, token)
    path = credentials_path(invocation.environ)
    with changing_credentials(path):
        write_credentials(path, with_token(read_credentials(path), server, given))
    if not declared:
        invocation.notices.note(
            f"no server is called '{server}' under `servers:` in '{invocation.config.path}', so the token is not used "
            "yet"
        )
    done = LoggedIn(server=server, credentials_path=str(path), declared=declared)
    invocation.output.show(done, document=_document, text=_text)


def server_name(word: str) -> str:
    """Return what a section of the credentials file can be called."""
    name = plain_text(word, what="The server", refusal=_refused, bytes_max=NAME_BYTES_MAX).strip()
    if not name or "[" in name or "]" in name:
        raise _refused(f"`{word}` cannot be the name of a server: it is blank, or has brackets in it.")
    return name


def _refused(reason: str) -> errors.Usage:
    return errors.Usage(reason)


def _token(server: str, given: str | None) -> str:
    if given is None:
        given = getpass.getpass(f"Token of {server}: ") if sys.stdin.isatty() else sys.stdin.readline()
    token = given.strip()
    if not token:
        raise errors.Usage(f"The token of {server} is blank; nothing was kept.", flag="--token")
    # What a request header can carry. The message must not repeat it.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise errors.Usage("A token has only visible ASCII characters, and no spaces.", flag="--token")
    return token


def _document(done: LoggedIn) -> Json:
    return {"server": done.server, "credentials_path": done.credentials_path, "declared": done.declared}


def _text(done: LoggedIn) -> Text:
    return [f"the token of {done.server} is in {done.credentials_path}"]
