"""`omnigraph fmt`."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from omnigraph import errors
from omnigraph.base.units import counted
from omnigraph.base.values import Json, dataclass
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.output import Text, writing_to_stdout
from omnigraph.cli.params import json_option, read_text_file

_STDIN = "-"
_SCHEMA, _QUERY = ".pg", ".gq"
_WOULD_CHANGE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """What became of the files; with `is_check` it is what would become of them."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    is_check: bool


@command("fmt", examples=("omnigraph fmt art.pg art.gq", "omnigraph fmt --check art.gq"))
@click.argument(
    "files",
    metavar="FILE|DIR...",
    nargs=-1,
    required=True,
    help="Schema and query files, directories that hold some, or - for standard input.",
)
@click.option("--check", is_flag=True, help="Change nothing; end with 1 if some file is not in its canonical form.")
@json_option
def fmt(invocation: Invocation, *, files: tuple[str, ...], check: bool) -> None:
    """Write schema and query files in their canonical form.

    Lines, blanks and commas change; comments, order and meaning stay. A file is replaced as a whole, and only if
    something changes. All files must parse, or none is written. Of a directory, everything below it that ends in .pg
    or .gq is taken. Standard input is written to standard output.
    """
    if _STDIN in files:
        _format_stdin(invocation, files, check=check)
        return
    pending: list[tuple[str, str]] = []
    unchanged: list[str] = []
    for path in dict.fromkeys(found for given in files for found in _sources(given)):
        text = read_text_file(path, what="file", keeps_line_ends=True)
        formatted = format_source(text, source=path, suffix=Path(path).suffix)
        if formatted == text:
            unchanged.append(path)
        else:
            pending.append((path, formatted))
    if not check:
        for path, formatted in pending:
            _replace(Path(path), formatted)
    result = Formatted(changed=tuple(path for path, _ in pending), unchanged=tuple(unchanged), is_check=check)
    invocation.output.show(result, document=_document, text=_text)
    if check and pending:
        raise click.exceptions.Exit(_WOULD_CHANGE)


def format_source(text: str, *, source: str, suffix: str) -> str:
    """Format a schema or a query file; what parses them is imported only now."""
    if suffix == _QUERY:
        from omnigraph.language.query.formatting import format_queries

        return format_queries(text, source=source)
    from omnigraph.language.schema.formatting import format_schema_source

    return format_schema_source(text, source=source)


def _sources(given: str) -> Iterator[str]:
    path = Path(given)
    if path.is_dir():
        found = list(_below(path))
        if not found:
            raise errors.Usage(f"The directory {given} holds no {_SCHEMA} or {_QUERY} file.")
        yield from found
        return
    if path.suffix not in {_SCHEMA, _QUERY}:
        raise errors.Usage(f"`fmt` formats {_SCHEMA} and {_QUERY} files, and {given} is neither.")
    if _is_graph(path.parent):
        raise errors.Usage(f"{given} belongs to a graph, which keeps its schema as it was given.")
    yield given


def _below(path: Path) -> Iterator[str]:
    """Find the sources below a directory, sorted, so that two runs say the same."""
    for directory, names, files in os.walk(path):
        names.sort()
        if _is_graph(Path(directory)):
            names.clear()
            continue
        names[:] = [name for name in names if not name.startswith((".", "__"))]
        yield from (str(Path(directory, file)) for file in sorted(files) if Path(file).suffix in {_SCHEMA, _QUERY})


def _is_graph(directory: Path) -> bool:
    """Tell whether a directory is a graph, whose copy of the schema must not change under it."""
    return directory.joinpath("__manifest").is_dir()


def _format_stdin(invocation: Invocation, files: tuple[str, ...], *, check: bool) -> None:
    if len(files) > 1:
        raise errors.Usage(f"`{_STDIN}` is standard input and stands alone; give it or files.")
    if invocation.wants_json:
        raise errors.Usage("Standard input is formatted to standard output, where --json has no place.", flag="--json")
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise errors.Io(f"Standard input is not UTF-8 text (byte {error.start}).") from error
    formatted = format_source(text, source="<stdin>", suffix=_guessed(text))
    if check:
        raise click.exceptions.Exit(0 if formatted == text else _WOULD_CHANGE)
    with writing_to_stdout():
        sys.stdout.write(formatted)


def _guessed(text: str) -> str:
    """Tell the two languages apart by the first word, which no two of their files share."""
    from omnigraph.language.query.tokens import read_tokens

    first = read_tokens(text.removeprefix("\ufeff"))[0][1]
    return _QUERY if first in {"query", "match"} else _SCHEMA


def _replace(path: Path, text: str) -> None:
    from omnigraph.pipeline.outputs import appearing_file

    # A link stays one, and whoever may read or write the file still may.
    target = path.resolve()
    with appearing_file(target) as stream:
        os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
        stream.write(text.encode())


def _document(result: Formatted) -> Json:
    return {"check": result.is_check, "changed": list(result.changed), "unchanged": list(result.unchanged)}


def _text(result: Formatted) -> Text:
    verb = "would change" if result.is_check else "formatted"
    lines = [f"{verb} {path}" for path in result.changed]
    count = len(result.changed)
    total = counted(count + len(result.unchanged), "file")
    return [*lines, f"{count} of {total} {'would change' if result.is_check else 'changed'}"]
