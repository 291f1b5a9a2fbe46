"""The command that asks the same at a terminal."""

import shlex
from collections.abc import Mapping

from omnigraph.base.ids import is_ulid
from omnigraph.manifest.commits import MAIN_BRANCH


def cli_line(
    cli_address: str,
    *,
    text: str | None,
    name: str | None,
    texts_by_parameter: Mapping[str, str],
    at: str,
    is_mutation: bool,
) -> str:
    """Spell the command, quoted for a shell; without a text the name is that of a query that a server keeps.

    The address comes as words that are quoted already.
    """
    words = ["omnigraph", "mutate" if is_mutation else "query"]
    if name is not None:
        words.append(shlex.quote(name))
    words.append(cli_address)
    if text is not None:
        words += ["-e", shlex.quote(text)]
    for parameter, value in texts_by_parameter.items():
        words += ["--param", shlex.quote(f"{parameter}={value}")]
    if at != MAIN_BRANCH:
        words += ["--snapshot" if is_ulid(at) else "--branch", shlex.quote(at)]
    return " ".join(words)
