"""The query that a line gives and the values of its parameters: NAME, `-e`, `--query`, `--params`, `--param`."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

import click

from omnigraph import errors
from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import CallbackT, read_text_file

if TYPE_CHECKING:  # the parser is imported when there is something to parse
    from omnigraph.client.values import StoredQueryInfo
    from omnigraph.query.choosing import Verb

_INLINE = "<-e>"
_AS_TEXT = frozenset({"string", "date", "datetime", "blob"})
"""Kinds of parameters whose values stand on the line as they are."""


class QueryFlags(TypedDict):
    """What the options of `query_options` put into a command's arguments."""

    text: str | None
    path: str | None
    query_name: str | None
    name: str | None
    params: str | None
    params_file: str | None
    pairs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryInput:
    """A text with the name of its query, and the values that go with it."""

    text: str
    source: str
    name: str
    params: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInput:
    """The name of a query that a server keeps, and the values that go with it, written as on the line."""

    verb: "Verb"
    name: str
    given: dict[str, object]
    pairs: list[tuple[str, str]]

    def params(self, stored: "Callable[[], list[StoredQueryInfo]]") -> dict[str, object]:
        """Return all values; what `--param` means depends on the query, which is looked up only then."""
        values = dict(self.given)
        if not self.pairs:
            return values
        kinds = {one.name: one.kind for query in stored() if query.name == self.name for one in query.parameters}
        for name, value in self.pairs:
            if name in values:
                raise errors.Usage(f"The parameter {name} is given twice.", flag="--param")
            values[name] = value if kinds.get(name, "string") in _AS_TEXT else _json_or_text(value)
        return values

    def needs_server(self, uri: str) -> errors.Usage:
        """Build the refusal of a stored query where there is only storage."""
        return errors.Usage(
            f"`{self.verb} {self.name}` runs a stored query, which needs a server, and {uri} is storage. Give the "
            "query with -e TEXT, or its file with --query FILE.",
            flag="-e",
        )


def query_options(function: CallbackT) -> CallbackT:
    """Take one query and its parameters."""
    options = (
        click.argument("query_name", metavar="[NAME]", required=False, help="Which query, if there are several."),
        click.option("-e", "--query-string", "text", metavar="TEXT", help="The query itself."),
        click.option("--query", "path", metavar="FILE", help="A file with queries."),
        click.option("--name", metavar="NAME", help="The older way to give NAME."),
        click.option("--params", metavar="JSON", help="The parameters as one JSON object."),
        click.option("--params-file", metavar="FILE", help="A file with the parameters as one JSON object."),
        click.option(
            "--param",
            "pairs",
            metavar="NAME=VALUE",
            multiple=True,
            help="One parameter; texts and dates stand as they are, other values are JSON. Repeatable.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def read_query(invocation: Invocation, flags: QueryFlags, *, verb: "Verb") -> QueryInput | StoredInput:
    """Find the query that the line means and the values it gives; reads the files it names and no graph."""
    name = _name(invocation, flags, verb)
    if name is not None and flags["text"] is None and flags["path"] is None:
        given = read_params(flags["params"], flags["params_file"])
        return StoredInput(verb=verb, name=name, given=given, pairs=_pairs(flags["pairs"]))
    text, source = _text(flags, verb)
    from omnigraph.query.choosing import choose_query, written_values

    chosen = choose_query(text, name=name, verb=verb, source=source)
    params = read_params(flags["params"], flags["params_file"])
    for name, value in written_values(chosen.syntax, _pairs(flags["pairs"])).items():
        if name in params:
            raise errors.Usage(f"The parameter {name} is given twice.", flag="--param")
        params[name] = value
    return QueryInput(text=text, source=source, name=chosen.name, params=params)


def _name(invocation: Invocation, flags: QueryFlags, verb: "Verb") -> str | None:
    name, older = flags["query_name"], flags["name"]
    if older is None:
        return name
    if name is not None:
        raise errors.Usage(f"The query is named twice, `{name}` and --name {older}; name it once.", flag="--name")
    invocation.notices.warn(f"--name is deprecated; use the positional form, `{verb} {older}`")
    return older


def _text(flags: QueryFlags, verb: "Verb") -> tuple[str, str]:
    text, path = flags["text"], flags["path"]
    if text is not None and path is not None:
        raise errors.Usage("-e is a query and --query names a file with one; give one of them.", flag="--query")
    if path is not None:
        return read_text_file(path, what="query file"), path
    if text is None:
        raise errors.Usage(f"`{verb}` needs a query: -e TEXT, or --query FILE.", flag="-e")
    if not text.strip():
        raise errors.Usage("-e is empty; give it a query.", flag="-e")
    return text, _INLINE


def read_params(inline: str | None, path: str | None) -> dict[str, Any]:
    """Return the parameters that `--params` or `--params-file` give as one JSON object; none without either."""
    if inline is not None and path is not None:
        raise errors.Usage("--params and --params-file both give parameters; give one of them.", flag="--params-file")
    if inline is None and path is None:
        return {}
    flag = "--params" if path is None else "--params-file"
    text = inline if path is None else read_text_file(path, what="file of parameters")
    try:
        given = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise errors.Usage(f"{flag} is not JSON: {error}.", flag=flag) from error
    if not isinstance(given, dict):
        raise errors.Usage(
            f'{flag} takes one JSON object such as {{"name": "Ana"}}, not {shorten(text or "", 60)}.', flag=flag
        )
    return given


def _pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise errors.Usage(f"--param takes NAME=VALUE, not `{shorten(pair, 60)}`.", flag="--param")
        if name in pairs:
            raise errors.Usage(f"The parameter {name} is given twice.", flag="--param")
        pairs[name] = value
    return list(pairs.items())


def _json_or_text(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
