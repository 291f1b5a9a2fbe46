"""A line that does not parse, in words: what is wrong with it, and what was probably meant.

That may be a word of the wider product that this version does not have; nobody is sent to the wrong command instead.
"""

from collections.abc import Iterator

import click

from omnigraph import errors
from omnigraph.base.nearest import nearest
from omnigraph.cli.params import GlobalOption
from omnigraph.verbs.table import VERBS, AddressFlag, Verb

_HELP = "help"
_ADDRESSES = {
    AddressFlag.STORE: "--store <uri>",
    AddressFlag.SERVER: "--server <name|url>",
    AddressFlag.CLUSTER: "--cluster <dir|uri>",
}
"""How each kind of address is given, to those who look for one."""


def as_usage(failure: click.UsageError) -> errors.Usage:
    """Say what is wrong with the line, and name what is near; nothing is named when nothing is."""
    context = failure.ctx
    path = context.command_path if context else "omnigraph"
    see = f"See `{path} --help`."
    match failure:
        case click.NoSuchOption(option_name=flag):
            return errors.Usage(f"`{path}` has no flag {flag}{_instead_of_flag(flag, context)}. {see}", flag=flag)
        case click.exceptions.NoSuchCommand(command_name=word):
            is_first = context is not None and context.parent is None
            return errors.Usage((not_in_this_version(word) if is_first else None) or _unknown_word(word, context))
        case click.MissingParameter(param=click.Parameter() as parameter):
            return errors.Usage(f"`{path}` needs {parameter.human_readable_name.upper()}. {see}")
        case _:
            message = failure.format_message()
            if "unexpected extra argument" in message and "--data" in _flags(context):
                message += " Name what is to be read with --data."
            return errors.Usage(f"{message} {see}")


def _unknown_word(word: str, context: click.Context | None) -> str:
    path = context.command_path if context else "omnigraph"
    words = context.command.list_commands(context) if context and isinstance(context.command, click.Group) else []
    # Said without its first word, a command is known all the same; and what explains is a flag here.
    whole = [f"`omnigraph {row.words}`" for row in VERBS if row.group and row.name == word]
    if word == _HELP:
        near = "; what you look for is the flag --help"
    elif whole and context is not None and context.parent is None:
        near = f"; there is {' and '.join(whole)}"
    else:
        meant = nearest(word, words)
        near = f"; the nearest one is `{meant}`" if meant else ""
    return f"`{path}` has no command `{word}`{near}. See `{path} --help`."


def _instead_of_flag(flag: str, context: click.Context | None) -> str:
    if (replacement := _replacement(flag, getattr(context and context.command, "row", None))) is not None:
        return f"; {replacement}"
    own, behind = _flags(context), _flags_of_commands(context)
    # Without the dashes, which all flags share and which say nothing about likeness.
    by_word = {spelling.lstrip("-"): spelling for spelling in (*behind, *own)}
    meant = by_word.get(nearest(flag.lstrip("-"), by_word) or "")
    if meant is None:
        return ""
    if meant in own:
        return f"; the nearest one is {meant}"
    near = "; it" if meant == flag else f"; the nearest one is {meant}, which"
    return f"{near} belongs to a command and stands behind its words"


def _replacement(flag: str, row: Verb | None) -> str | None:
    """Say what replaced a flag that earlier programs of this name had; None for any other flag."""
    if flag == "--alias" and row is not None and row.words in {"query", "mutate"}:
        return "run a stored query under a short name with `omnigraph alias <name>`"
    if flag != "--config":
        return None
    ways = [spelling for address, spelling in _ADDRESSES.items() if row is not None and address in row.accepts]
    use = f"use {' or '.join(ways)}; " if ways else ""
    return f"{use}settings come from the operator config, ~/.omnigraph/config.yaml"


def _flags(context: click.Context | None) -> list[str]:
    return list(_spellings(context.command, context)) if context is not None else ["--help"]


def _flags_of_commands(context: click.Context | None) -> list[str]:
    """List the flags of all commands below a group, which people also type before the words of the command."""
    if context is None or not isinstance(context.command, click.Group):
        return []
    flags: list[str] = []
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        if command is not None:
            inner = click.Context(command, parent=context, info_name=name)
            flags += [*_spellings(command, inner), *_flags_of_commands(inner)]
    return flags


def _spellings(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the flags that a command takes: a global one that does not apply to it is nobody's advice."""
    row = getattr(command, "row", None)
    for option in command.get_params(context):
        if not isinstance(option, click.Option) or option.hidden:
            continue
        if row is None or not isinstance(option, GlobalOption) or option.applies_to(row):
            yield from (*option.opts, *option.secondary_opts)


_INSTEAD = {
    "server": "`omnigraph serve` starts a server.",
}


def not_in_this_version(word: str) -> str | None:
    """Say that a command of the wider product is missing here and what to use; None for any other word."""
    if word not in _INSTEAD:
        return None
    return " ".join(filter(None, (f"`omnigraph {word}` is not part of this version.", _INSTEAD[word])))
