"""A command: its row of the table of verbs, its flags, its examples, and the checks every run starts with."""

from collections.abc import Callable
from typing import Any

import click

from omnigraph.cli import help_pages
from omnigraph.cli.completing import offer_values
from omnigraph.cli.flags import RunningCommand
from omnigraph.cli.guard import refuse_foreign_flags
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import GLOBAL_OPTIONS, address_argument
from omnigraph.cli.positionals import settle_positionals
from omnigraph.verbs.table import Verb, verb


class OmniCommand(click.Command):
    """Adds the global flags, runs the guard, and hands the `Invocation` to the callback."""

    def __init__(self, *, row: Verb, examples: tuple[str, ...], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.row = row
        self.examples = examples
        if row.takes_graph:
            self.params.append(address_argument())
        self.params.extend(GLOBAL_OPTIONS)
        offer_values(self.params, words=row.words)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the rest of the line; an address that cannot apply is reported before anything that is missing."""
        invocation = ctx.ensure_object(Invocation)
        invocation.command = RunningCommand(verb=self.row, typed=ctx.command_path.partition(" ")[2])
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            refuse_foreign_flags(invocation.command, invocation.flags)
            raise

    def invoke(self, ctx: click.Context) -> None:
        """Run the guard, then the command."""
        invocation = ctx.ensure_object(Invocation)
        refuse_foreign_flags(invocation.command, invocation.flags)
        settle_positionals(ctx, invocation.command, invocation.flags)
        if self.callback is not None:
            ctx.invoke(self.callback, invocation, **ctx.params)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first line of the docstring whole: lists wrap, and a sentence cut short teaches nothing."""
        del limit
        return (self.help or "").partition("\n")[0]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, the flags it takes and, last, examples that run as printed."""
        help_pages.write_command_help(self, self.row, self.examples, ctx, formatter)


def command(words: str, *, examples: tuple[str, ...]) -> Callable[[Callable[..., None]], OmniCommand]:
    """Declare the function below as the command `words`; its docstring is the help text.

    The first argument of the function is the `Invocation`. Every example must run as printed, in a directory that
    holds what the first hour of the guide makes.
    """
    row = verb(words)

    def declare(function: Callable[..., None]) -> OmniCommand:
        return click.command(row.name, cls=OmniCommand, row=row, examples=examples)(function)

    return declare
