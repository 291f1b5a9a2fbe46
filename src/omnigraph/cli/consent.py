"""Consent to a destructive write on a target that is not local."""

import sys

from omnigraph import errors
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.scope import StorageTarget


def require_consent(invocation: Invocation, target: StorageTarget) -> None:
    """Let the run go on only with `--yes`, or after a person at a terminal typed the graph's name.

    A local target needs no consent. Nothing has been opened when this refuses.
    """
    if target.is_local or invocation.flags.yes:
        return
    command = invocation.command.typed
    if invocation.wants_json or not sys.stdin.isatty():
        raise errors.NotConfirmed(
            f"{target.uri} is not local: refusing destructive `{command}` without consent (--yes)",
            command=command,
            target=target.uri,
        )
    sys.stderr.write(
        f"omnigraph {command} removes data of {target.uri}, which is not local.\n"
        f"Type the graph's name, {target.name}, to go on: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip() != target.name:
        raise errors.NotConfirmed(
            f"`{command}` on {target.uri} was not confirmed; nothing was done.", command=command, target=target.uri
        )
