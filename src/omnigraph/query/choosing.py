"""Which query of a text is meant, whether it is the right kind of query, and what `name=value` gives its parameters."""

import json
from collections.abc import Iterable
from typing import Literal

from omnigraph.base.nearest import nearest
from omnigraph.base.units import counted, shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import SCALARS
from omnigraph.errors import ParamError, QueryNotFound, QuerySelection, WrongVerb
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import MutationSyntax, ParameterTypeSyntax, QueryFileSyntax, QuerySyntax
from omnigraph.language.source import SourceText

_WRITTEN_AS_TEXT = frozenset(scalar.value for scalar, traits in SCALARS.items() if traits.is_text_in_json)


Verb = Literal["query", "mutate"]
"""What somebody wants to do with a query: the words of the commands."""

_KIND_BY_VERB: dict[Verb, str] = {"query": "read", "mutate": "mutation"}
_HOW_TO_RUN: dict[Verb, str] = {
    "query": "run it with `omnigraph query`, or from Python with `graph.query`",
    "mutate": "run it with `omnigraph mutate`, or from Python with `graph.mutate`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenQuery:
    """One query, parsed and not yet checked, with the text that its spans point into."""

    syntax: QuerySyntax
    source: SourceText

    @property
    def name(self) -> str:
        """What the query is called; `_` for a read that was written without a name."""
        return self.syntax.name.text

    @property
    def verb(self) -> Verb:
        """What can be done with it."""
        return "mutate" if isinstance(self.syntax.body, MutationSyntax) else "query"


def choose_query(text: str, *, name: str | None = None, verb: Verb, source: str = "<query>") -> ChosenQuery:
    """Return the query of a text that is called `name`, or the only one, as far as `verb` can run it.

    Raises `ParseError`, `QuerySelection` when several or none could be meant, `QueryNotFound` for an unknown name, and
    `WrongVerb` for a read that is to change something, or the reverse. `source` names the text in messages.
    """
    file = parse_queries(text, source=source)
    chosen = ChosenQuery(syntax=query_named(file, name), source=file.source)
    if chosen.verb != verb:
        kind = _KIND_BY_VERB[chosen.verb]
        raise WrongVerb(
            f"The query `{chosen.name}` is a {kind}: {_HOW_TO_RUN[chosen.verb]}.",
            query=chosen.name,
            actual=kind,
        )
    return chosen


def written_values(query: QuerySyntax, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Read values that were written as bare text: as JSON, and as themselves where the parameter takes text.

    So `name=Ana` needs no quotes and `tags=["ice"]` is a list. What does not fit is found where all values are.
    """
    types = {parameter.variable.name: parameter.type for parameter in query.parameters}
    return {name: _written(name, text, types.get(name)) for name, text in pairs}


def query_named(file: QueryFileSyntax, name: str | None) -> QuerySyntax:
    """Return the query of a file that is called so, or its only one."""
    names = [query.name.text for query in file.queries]
    if name is None:
        if len(names) == 1:
            return file.queries[0]
        held = f"{counted(len(names), 'query')}: {', '.join(names)}. Say which one by its name" if names else "no query"
        raise QuerySelection(f"{file.source.name} holds {held}.", names=names)
    for query in file.queries:
        if query.name.text == name:
            return query
    meant = nearest(name, names)
    hint = f"did you mean {meant}?" if meant else f"it holds {', '.join(names)}" if names else "it holds none"
    raise QueryNotFound(
        f"The query `{shorten(name)}` was not found in {file.source.name}; {hint}", query=name, names=names
    )


def _written(name: str, text: str, declared: ParameterTypeSyntax | None) -> object:
    if declared is None or (declared.scalar in _WRITTEN_AS_TEXT and not declared.is_list):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        form = "a JSON array such as [1, 2]" if declared.is_list or declared.dimension else "a JSON value"
        raise ParamError(
            f"The parameter `${name}` got {shorten(text, 60)!r}, which is not {form}.",
            param=name,
            expected=declared.scalar,
        ) from error
