"""What a text in the editor is: its queries, what is wrong with it and where, and what it needs in order to run."""

from typing import TYPE_CHECKING, Any

from omnigraph.base.values import dataclass
from omnigraph.console.asking.fields import FormField, declared_field
from omnigraph.errors import OmniError, ParseError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import MutationSyntax, QuerySyntax
from omnigraph.query.check import check_query
from omnigraph.query.typed import CheckedRead

if TYPE_CHECKING:
    from omnigraph.catalog.model import Catalog

SOURCE = "<query>"
_PROBLEMS_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TextProblem:
    """One mistake: where it is, in characters, and what to tell about it."""

    start: int
    end: int
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A text as far as it is understood without running it."""

    names: tuple[str, ...] = ()
    """The queries of the text; one that has no name is `_`."""
    chosen: str | None = None
    is_mutation: bool = False
    fields: tuple[FormField, ...] = ()
    problems: tuple[TextProblem, ...] = ()
    read: CheckedRead | None = None
    """The chosen query, if it reads and fits the schema."""


def look_at(text: str, name: str | None, catalog: "Catalog | None") -> LookedAt:
    """Parse and check a text; without a schema it is parsed only."""
    if not text.strip():
        return LookedAt()
    try:
        file = parse_queries(text, source=SOURCE)
    except ParseError as error:
        found = tuple(_problem(text, each) for each in error.details["errors"][:_PROBLEMS_SHOWN_MAX])
        return LookedAt(problems=found)
    names = tuple(query.name.text for query in file.queries)
    chosen = next((query for query in file.queries if query.name.text == name), None)
    if chosen is None and file.queries:
        chosen = file.queries[0]
    problems, read = [], None
    for query in file.queries if catalog is not None else ():
        assert catalog is not None
        try:
            checked = check_query(query, catalog, source=file.source)
        except OmniError as error:
            problems.append(_problem(text, {**error.details, "message": _sentence(error)}))
            continue
        if query is chosen and isinstance(checked, CheckedRead):
            read = checked
    return LookedAt(
        names=names,
        chosen=None if chosen is None else chosen.name.text,
        is_mutation=_is_mutation(chosen),
        fields=() if chosen is None else tuple(map(declared_field, chosen.parameters)),
        problems=tuple(problems[:_PROBLEMS_SHOWN_MAX]),
        read=read,
    )


def underlined(text: str, problems: tuple[TextProblem, ...]) -> list[dict[str, Any]]:
    """Return the marks of an editor that underline mistakes; what is missing at the end underlines the last letter."""
    marks = []
    last = len(text.rstrip())
    for problem in problems:
        start = min(problem.start, max(last - 1, 0))
        end = min(max(problem.end, start + 1), last)
        if start < end:
            marks.append({"kind": "mark", "from": start, "to": end, "class": "og-gq-wrong"})
    return marks


def _sentence(error: OmniError) -> str:
    """Return what is wrong, with the code where nobody stumbles over it."""
    code, _, said = error.message.partition("\n")[0].partition(": ")
    return f"{said} ({code})"


def _is_mutation(query: QuerySyntax | None) -> bool:
    return query is not None and isinstance(query.body, MutationSyntax)


def _problem(text: str, details: dict[str, Any]) -> TextProblem:
    """Take a mistake as errors describe it, whose spans count bytes."""
    content = text.encode("utf-8", "surrogatepass")
    start, end = (len(content[: details["span"][word]].decode("utf-8", "surrogatepass")) for word in ("start", "end"))
    return TextProblem(start=start, end=end, line=details["line"], column=details["column"], message=details["message"])
