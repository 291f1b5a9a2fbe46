"""Help that teaches: what a command does, the flags it takes, and examples that run as printed."""

from collections.abc import Iterable

import click

from omnigraph.cli.params import GLOBAL_OPTIONS, GlobalOption, Section
from omnigraph.verbs.table import CLASS_MEANINGS, VERBS, CommandClass, Verb

FIRST_STEPS = (
    "omnigraph doctor",
    "omnigraph init --schema art.pg art.omni",
    "omnigraph load --store art.omni --data seed.jsonl --mode merge",
    "omnigraph snapshot art.omni",
)


def write_command_help(
    command: click.Command,
    row: Verb,
    examples: tuple[str, ...],
    context: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    """Write the page of one command."""
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    command.format_arguments(context, formatter)
    own = [parameter for parameter in command.params if not isinstance(parameter, GlobalOption | click.Argument)]
    _write_options("Options", own, context, formatter)
    for section in (Section.ADDRESS, Section.ENGINE):
        applicable = [option for option in GLOBAL_OPTIONS if option.section is section and option.applies_to(row)]
        _write_options(section.value, applicable, context, formatter)
    formatter.write_paragraph()
    formatter.write_text("Flags for every command, such as --quiet and --debug: omnigraph --help.")
    _write_examples(examples, formatter)


def write_group_help(group: click.Group, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the page of a first word; it borrows the first example of each of its commands."""
    group.format_usage(context, formatter)
    group.format_help_text(context, formatter)
    group.format_commands(context, formatter)
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    _write_examples([example for command in commands for example in getattr(command, "examples", ())[:1]], formatter)


def write_root_help(group: click.Group, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the first page a user sees; it ends with the legend of command classes."""
    group.format_usage(context, formatter)
    group.format_help_text(context, formatter)
    group.format_commands(context, formatter)
    for section in Section:
        options: list[click.Option] = [option for option in GLOBAL_OPTIONS if option.section is section]
        if section is Section.GENERAL and (help_option := group.get_help_option(context)):
            options.append(help_option)
        _write_options(section.value, options, context, formatter)
    _write_examples(FIRST_STEPS, formatter, title="First steps")
    with formatter.section("Commands by class"):
        formatter.write_dl([(kind.value, _legend(kind)) for kind in CommandClass])


def _legend(kind: CommandClass) -> str:
    names = ", ".join(row.words for row in VERBS if row.command_class is kind)
    return f"{CLASS_MEANINGS[kind]}: {names or 'none in this version'}"


def _write_options(
    title: str, options: Iterable[click.Parameter], context: click.Context, formatter: click.HelpFormatter
) -> None:
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


def _write_examples(examples: Iterable[str], formatter: click.HelpFormatter, *, title: str = "Examples") -> None:
    with formatter.section(title):
        for example in examples:
            # Written as it is: a wrapped command line could not be copied.
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
