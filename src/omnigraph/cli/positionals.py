"""Words before the graph: a command's own positionals come first, the graph comes last, and a mix-up is refused.

`branch create review art.omni` names a branch and then a graph. Both are bare words, so the ways in which people get
them wrong are looked for here, instead of making a branch called `art.omni` in whatever graph is the default.
"""

import re
import shlex
from pathlib import Path

import click

from omnigraph import errors
from omnigraph.cli.flags import GlobalFlags, RunningCommand

ADDRESS = "address"
_STARTS = ("/", "./", "../", "~")
_SUFFIX = ".omni"
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def looks_like_address(word: str) -> bool:
    """Tell by its spelling alone whether a word names a graph rather than something in one."""
    return "://" in word or word.startswith(_STARTS) or word.rstrip("/").endswith(_SUFFIX)


def settle_positionals(context: click.Context, command: RunningCommand, flags: GlobalFlags) -> None:
    """Tell the name from the graph; raise when the one stands where the other belongs."""
    own = [param for param in context.command.params if isinstance(param, click.Argument) and param.name != ADDRESS]
    if not command.verb.takes_graph or not own:
        return
    flagged = (flags.store, flags.uri, flags.server, flags.cluster, flags.profile, flags.target)
    name = str(own[0].name)
    if not own[0].required and flags.address is None and _is_graph(context.params[name], is_addressed=any(flagged)):
        flags.address, context.params[name] = context.params[name], None
        return
    label = " ".join(str(one.metavar).strip("[]") for one in own)
    word, address = context.params[name] or "", flags.address
    if any(flagged):
        return  # The word can only be a name, and a second address is refused where addresses are resolved.
    if looks_like_address(word) and not (address is not None and looks_like_address(address)):
        raise _graph_first(command, label, word, address)
    if address is not None and not looks_like_address(address) and not Path(address).exists():
        if word and Path(word).exists():
            raise _graph_first(command, label, word, address)
        raise _no_graph_last(context.command, command, label, address)


def _is_graph(word: str | None, *, is_addressed: bool) -> bool:
    """Tell whether a word that stands alone is the graph, where the name before it may be left out."""
    if word is None:
        return False
    return not _NAME.fullmatch(word) or (not is_addressed and (looks_like_address(word) or Path(word).exists()))


def _graph_first(command: RunningCommand, label: str, word: str, other: str | None) -> errors.Addressing:
    if other is not None:
        line = shlex.join(("omnigraph", *command.typed.split(), other, word))
        return command.addressing_error(f"`{command.typed}` takes {label} first and the graph last: `{line}`.")
    return command.addressing_error(
        f"`{command.typed}` needs {label} before the graph `{word}`. If `{word}` is the {label}, name the graph with "
        "--store <uri>."
    )


def _no_graph_last(parsed: click.Command, command: RunningCommand, label: str, address: str) -> errors.Addressing:
    has_target = any("--into" in param.opts for param in parsed.params)
    instead = f" To name the target branch, write --into {shlex.quote(address)}." if has_target else ""
    return command.addressing_error(
        f"`{command.typed}` takes {label} and then the graph, and there is no graph at `{address}`.{instead}"
    )
