"""The tree of commands, built from the table of verbs; a command's module is imported when it is asked for."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

import click

from omnigraph import errors
from omnigraph.cli import help_pages
from omnigraph.cli.completing import offer_values
from omnigraph.cli.params import GLOBAL_OPTIONS
from omnigraph.verbs.table import GROUP_SUMMARIES, VERBS, Verb

PROGRAM = "omnigraph"
COMPLETION_VARIABLE = "_OMNIGRAPH_COMPLETE"
OLD_SPELLINGS = {"query lint": "lint", "query check": "lint"}

Members = Mapping[str, Callable[[], click.Command]]


class WordGroup(click.Group):
    """The commands that share a first word."""

    def __init__(self, *, name: str, summary: str, members: Members, aliases: Mapping[str, str]) -> None:
        super().__init__(
            name=name,
            help=summary,
            params=list(GLOBAL_OPTIONS),
            options_metavar="[FLAGS]",
            subcommand_metavar="COMMAND [ARGS]...",
            invoke_without_command=True,
            callback=click.pass_context(self._start),
        )
        self._members = members
        self._aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the words to show, in table order; aliases stay hidden."""
        del ctx
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command behind a word, or return None for an unknown one."""
        del ctx
        load = self._members.get(self._aliases.get(cmd_name, cmd_name))
        return load() if load else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page of this word."""
        help_pages.write_group_help(self, ctx, formatter)

    def _start(self, ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            self._run_alone(ctx)

    def _run_alone(self, ctx: click.Context) -> None:
        words = ", ".join(self.list_commands(ctx))
        raise errors.Usage(f"`{ctx.command_path}` needs one more word: {words}.")


class RootGroup(WordGroup):
    """The program itself."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; two words that once were a command of their own are still known."""
        old = " ".join(args[:2])
        if old in OLD_SPELLINGS:
            return old, self.get_command(ctx, OLD_SPELLINGS[old]), args[2:]
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first page a user sees."""
        help_pages.write_root_help(self, ctx, formatter)

    def _run_alone(self, ctx: click.Context) -> None:
        click.echo(ctx.get_help())


def build_app() -> RootGroup:
    """Build the program's command tree; no command module is imported yet."""
    offer_values(GLOBAL_OPTIONS)
    members: dict[str, Callable[[], click.Command]] = {}
    for row in VERBS:
        if row.group is None:
            members[row.name] = partial(_load_command, row)
        else:
            members[row.group] = partial(_build_group, row.group)
    return RootGroup(
        name=PROGRAM,
        summary="Typed property graphs on Lance tables, with atomic commits, branches and time travel.",
        members=members,
        aliases={row.alias: row.name for row in VERBS if row.alias and row.group is None},
    )


def _build_group(name: str) -> WordGroup:
    rows = [row for row in VERBS if row.group == name]
    return WordGroup(
        name=name,
        summary=GROUP_SUMMARIES[name],
        members={row.name: partial(_load_command, row) for row in rows},
        aliases={row.alias: row.name for row in rows if row.alias},
    )


def _load_command(row: Verb) -> click.Command:
    module = import_module(f"omnigraph.cli.commands.{(row.group or row.name).replace('-', '_')}")
    command = getattr(module, row.words.replace(" ", "_").replace("-", "_"))
    if not isinstance(command, click.Command):
        raise errors.Internal(f"`{row.words}` has a row in the table of verbs but no command.")
    return command
