"""What a shell offers for the value of a flag or argument: branches and types of the addressed graph, addresses, files.

Somebody is waiting at a prompt. So nothing here imports Lance, nothing is said when something goes wrong, and a store
that does not answer at once is not waited for.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, suppress
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Final

import click
from click.shell_completion import CompletionItem, split_arg_string

from omnigraph.cli.invocation import Invocation
from omnigraph.cli.positionals import ADDRESS, looks_like_address

_SECONDS_MAX: Final = 2.0
_BRANCHES = frozenset({"--branch", "--from", "--into", "--snapshot"})
_TYPES = frozenset({"--type", "--exclude-type", "--table"})
_FILES = frozenset(
    {"--data", "--schema", "--query", "--params-file", "files", "--out", "--input", "--output", "--spec", "--seed"}
    | {"--policy", "--tests"}
)
_DIRECTORIES = frozenset({"--store", "--uri", "--cluster", ADDRESS, "query_name"})
_BRANCH_ARGUMENTS = frozenset({("branch merge", "source"), ("branch diff", "source"), ("branch delete", "name")})


class Offered(click.types.StringParamType):
    """A text, with values that a shell can offer."""

    def __init__(self, offer: Callable[[click.Context, str], Iterable[str]]) -> None:
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the values that begin with what is typed; none when anything fails."""
        del param
        found = _within_time(lambda: list(self._offer(ctx, incomplete)))
        return [CompletionItem(value) for value in found if value.startswith(incomplete)]


class PathText(click.types.StringParamType):
    """A text that is a path, which the shell itself completes."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave it to the shell."""
        del ctx, param
        return [CompletionItem(incomplete, type=self._kind)]


def offer_values(parameters: Iterable[click.Parameter], *, words: str = "") -> None:
    """Let the parameters that hold names or paths be completed; the others stay as they are."""
    for parameter in parameters:
        if type(parameter.type) is click.types.StringParamType:
            parameter.type = _completing(parameter, words) or parameter.type


def run_completion(answer: Callable[[], int]) -> int:
    """Answer a shell without a word on stderr, whatever happens."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere), suppress(Exception):  # noqa: PTH123
        return answer()
    return 1


def _completing(parameter: click.Parameter, words: str) -> click.types.StringParamType | None:
    spellings = {*parameter.opts, parameter.name}
    if spellings & _DIRECTORIES:
        return PathText("dir")
    if spellings & _FILES:
        return PathText("file")
    if spellings & _BRANCHES or (words, parameter.name) in _BRANCH_ARGUMENTS:
        return Offered(_branches)
    if spellings & _TYPES:
        return Offered(_types)
    if "--graph" in spellings:
        return Offered(_served_graphs)
    if "--profile" in spellings or (words, parameter.name) == ("profile show", "name"):
        return Offered(_configured("profiles"))
    if "--server" in spellings or (words in {"login", "logout"} and parameter.name == "name"):
        return Offered(_configured("servers"))
    return Offered(_configured("aliases")) if (words, parameter.name) == ("alias", "name") else None


def _branches(context: click.Context, incomplete: str) -> list[str]:
    del incomplete
    flags = context.ensure_object(Invocation).flags
    if flags.server is not None:
        from omnigraph.cli.served import ServerTarget, connected, resolve_target

        invocation = context.ensure_object(Invocation)
        target = resolve_target(invocation)
        assert isinstance(target, ServerTarget)
        return [*connected(invocation, target).branches.list()]
    from omnigraph.manifest.quick_names import quick_branch_names

    return quick_branch_names(_graph(context))


def _served_graphs(context: click.Context, incomplete: str) -> list[str]:
    """Offer the graphs of the server that the line, the environment or a profile names."""
    del incomplete
    from omnigraph.cli.served import connected, resolve_server

    invocation = context.ensure_object(Invocation)
    return sorted(graph.graph_id for graph in connected(invocation, resolve_server(invocation)).graphs())


def _types(context: click.Context, incomplete: str) -> list[str]:
    from omnigraph.manifest.quick_names import quick_table_keys

    keys = quick_table_keys(_graph(context))
    # Bare names, which every command takes, until somebody types the kind: bash breaks words at a colon.
    return keys if ":" in incomplete else list(dict.fromkeys(key.partition(":")[2] for key in keys))


def _configured(section: str) -> Callable[[click.Context, str], list[str]]:
    """Offer the names under one section of the operator config."""

    def names(context: click.Context, incomplete: str) -> list[str]:
        del incomplete
        return list(getattr(context.ensure_object(Invocation).config, section))

    return names


def _graph(context: click.Context) -> str:
    """Find the graph of the line, wherever it stands: also behind the cursor, since it comes last."""
    from omnigraph.cli.scope import resolve_storage

    invocation = context.ensure_object(Invocation)
    flags = invocation.flags
    if not any((flags.address, flags.uri, flags.store, flags.server, flags.cluster, flags.target)):
        flags.address = _positional_address(invocation.environ)
    return resolve_storage(invocation).uri


def _positional_address(environ: Mapping[str, str]) -> str | None:
    """Return the bare word that names a graph: while a flag lacks its value, the parser sees no bare words."""
    words = split_arg_string(environ.get("COMP_WORDS", ""))
    pairs = pairwise(words)
    bare = [word for before, word in pairs if not before.startswith("-") and not word.startswith("-")]
    return next((word for word in bare if looks_like_address(word) or Path(word, "__manifest").is_dir()), None)


def _within_time(look: Callable[[], list[str]]) -> list[str]:
    """Return what is found in time; nothing if it fails or takes longer."""
    found: list[str] = []

    def try_to_look() -> None:
        with suppress(Exception):
            found.extend(look())

    looking = Thread(target=try_to_look, daemon=True)
    looking.start()
    looking.join(_SECONDS_MAX)
    return found if not looking.is_alive() else []
