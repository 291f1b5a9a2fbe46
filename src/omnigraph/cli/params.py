"""Every flag that more than one command has, declared once, and reading the small files that flags name.

Global flags may stand anywhere on the line: the root, each group and each command carry the same option objects, and
whichever of them meets the flag stores it in the run's `GlobalFlags`.
"""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from omnigraph import errors
from omnigraph.base.units import parse_bytes, parse_duration
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.operator_config import ENGINES
from omnigraph.verbs.table import AddressFlag, Verb

CallbackT = TypeVar("CallbackT", bound=Callable[..., None])


class Section(Enum):
    """Under which heading help shows a global flag."""

    ADDRESS = "Address"
    ENGINE = "Engine"
    GENERAL = "General"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if context.get_parameter_source(parameter.name) is not ParameterSource.COMMANDLINE:
        return
    if isinstance(value, str) and not value.strip():
        spelling = parameter.opts[0] if isinstance(parameter, click.Option) else "the URI"
        raise errors.Usage(f"{spelling} is empty; give it a value or leave it out.", flag=spelling)
    flags = context.ensure_object(Invocation).flags
    if isinstance(value, tuple):
        value = getattr(flags, parameter.name) + value
    setattr(flags, parameter.name, value)


def _remember_graphs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    """Remember every graph that was named; a command for one graph takes the last, as for any flag given twice."""
    if context.get_parameter_source("graph") is not ParameterSource.COMMANDLINE:
        return
    for name in value:
        if not name.strip():
            raise errors.Usage(f"{parameter.opts[0]} is empty; give it a value or leave it out.", flag="--graph")
    flags = context.ensure_object(Invocation).flags
    flags.graphs += value
    flags.graph = flags.graphs[-1]


class GlobalOption(click.Option):
    """A flag that means the same on every command.

    `address` is set for flags that the table of verbs rules; a command's help shows only those it takes.
    """

    def __init__(
        self, *spellings: str, section: Section = Section.GENERAL, address: AddressFlag | None = None, **attributes: Any
    ) -> None:
        # Eager: the guard must see every address before a missing argument can end the parsing.
        super().__init__(spellings, expose_value=False, is_eager=True, **{"callback": _remember, **attributes})
        self.section = section
        self.address = address

    def applies_to(self, row: Verb) -> bool:
        """Whether a command of this row can do something with the flag."""
        if self.section is Section.ENGINE:
            return row.is_bulk
        return self.address is None or self.address in row.accepts


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value and not context.resilient_parsing:
        import omnigraph

        click.echo(f"omnigraph {omnigraph.__version__}")
        context.exit()


def _address(*spellings: str, flag: AddressFlag, **attributes: Any) -> GlobalOption:
    return GlobalOption(*spellings, section=Section.ADDRESS, address=flag, **attributes)


def _engine(*spellings: str, **attributes: Any) -> GlobalOption:
    return GlobalOption(*spellings, section=Section.ENGINE, **attributes)


GLOBAL_OPTIONS = (
    _address("--store", flag=AddressFlag.STORE, metavar="URI", help="One graph's storage: a path, file:// or s3://."),
    _address("--uri", flag=AddressFlag.STORE, metavar="URI", help="The same as --store."),
    _address("--server", flag=AddressFlag.SERVER, metavar="NAME|URL", help="A server, by configured name or URL."),
    _address(
        "--cluster", flag=AddressFlag.CLUSTER, metavar="DIR|URI|NAME", help="A cluster, by directory, root or name."
    ),
    _address(
        "--graph",
        flag=AddressFlag.GRAPH,
        metavar="ID",
        multiple=True,
        callback=_remember_graphs,
        help="One graph inside a server or cluster.",
    ),
    _address("--profile", flag=AddressFlag.PROFILE, metavar="NAME", help="A named scope of the operator config."),
    _address("--as", "actor", flag=AddressFlag.AS, metavar="ACTOR", help="Who writes; recorded on the commit."),
    _address("--target", flag=AddressFlag.PROFILE, hidden=True),
    _address("--cluster-graph", flag=AddressFlag.GRAPH, hidden=True),
    _engine("--engine", type=click.Choice(ENGINES), help="Where bulk work runs; bulk commands only."),
    _engine("--spark-master", metavar="URL", help="Classic Spark session, e.g. local[8] or spark://host:7077."),
    _engine("--spark-remote", metavar="URL", help="Spark Connect endpoint, e.g. sc://host:15002."),
    _engine("--spark-conf", metavar="KEY=VALUE", multiple=True, help="One Spark setting; repeatable."),
    _engine("--spark-ui", is_flag=True, help="Keep the Spark UI on for a local session."),
    GlobalOption("--yes", is_flag=True, help="Consent to a destructive write on a target that is not local."),
    GlobalOption("--quiet", is_flag=True, callback=None, help="No target echo, notes or progress."),
    GlobalOption("--verbose", is_flag=True, callback=None, help="Always say which graph and which engine."),
    GlobalOption("--progress/--no-progress", default=None, help="Force progress reporting on or off."),
    GlobalOption("--debug", is_flag=True, callback=None, help="Stack traces and debug logging on stderr."),
    GlobalOption("-v", "--version", is_flag=True, callback=_print_version, help="Print the version."),
)


def address_argument() -> click.Argument:
    """Return the bare positional storage URI."""
    return click.Argument(
        ["address"],
        metavar="[URI]",
        required=False,
        expose_value=False,
        is_eager=True,
        callback=_remember,
        help="Storage of the graph: a path, file:// or s3://.",
    )


def json_option(function: CallbackT) -> CallbackT:
    """Accept `--json`; the run has read it from the raw line already."""
    return click.option("--json", is_flag=True, expose_value=False, help="Print one JSON document.")(function)


def branch_option(function: CallbackT) -> CallbackT:
    """Take `--branch`, trimmed, `main` by default."""
    return click.option(
        "--branch", default="main", callback=_trim_branch, metavar="BRANCH", help="The branch; default main."
    )(function)


def message_option(function: CallbackT) -> CallbackT:
    """Take `--message`, what the author says about the commit."""
    return click.option(
        "-m", "--message", metavar="TEXT", help="What to say about the commit, in one line; recorded with it."
    )(function)


def _trim_branch(context: click.Context, parameter: click.Parameter, value: str) -> str:
    del context
    branch = value.strip()
    if not branch:
        raise errors.InvalidName(f"{parameter.opts[0]} is empty; give it a branch name or leave it out.", name=value)
    return branch


def wait_option(function: CallbackT) -> CallbackT:
    """Take `--wait`: how long to wait for another maintenance run; not at all by default."""
    return duration_option("--wait", default="0s", help_text="Wait this long for another maintenance run.")(function)


def size_option(spelling: str, *, help_text: str, default: str | None = None) -> Callable[[CallbackT], CallbackT]:
    """Take a number of bytes, plain or with KiB, MiB, GiB or TiB."""
    return click.option(spelling, default=default, callback=_size, metavar="SIZE", help=help_text)


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    del context
    try:
        return None if value is None else parse_bytes(value)
    except ValueError as error:
        raise errors.Usage(f"{parameter.opts[0]}: {error}.", flag=parameter.opts[0]) from error


def duration_option(spelling: str, *, help_text: str, default: str | None = None) -> Callable[[CallbackT], CallbackT]:
    """Take a duration with its unit, such as `90s`, `15m` or `7d`."""
    return click.option(spelling, default=default, callback=_duration, metavar="DUR", help=help_text)


def _duration(context: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:
    del context
    if value is None:
        return None
    try:
        return parse_duration(value)
    except ValueError as error:
        raise errors.Usage(f"{parameter.opts[0]}: {error}.", flag=parameter.opts[0]) from error


def read_text_file(path: str, *, what: str, keeps_line_ends: bool = False) -> str:
    """Read a UTF-8 file; `what` says in the error which file could not be read.

    Other line ends become line feeds, unless the text is to be written again.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="" if keeps_line_ends else None) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise errors.Io(f"The {what} {path} is not UTF-8 text (byte {error.start}).", path=path) from error
    except OSError as error:
        raise errors.Io(f"The {what} {path} cannot be read: {error.strerror}.", path=path) from error
