"""From text to syntax tree, by recursive descent.

Written by hand and not by a parser generator, as the schema language is: the grammar is one of ordered choices, a
query is parsed while somebody waits (some tens of microseconds, where a generated parser takes a millisecond), and the
shell command that runs one query must not load a generator first. A syntax error does not end the reading: parsing
resumes at the next query, so that one run shows every mistake.
"""

import re
from typing import Final

from omnigraph.language.literals import integer_value, string_value
from omnigraph.language.problems import Problems
from omnigraph.language.query.clauses import read_clauses, read_comparison, read_type_name
from omnigraph.language.query.expressions import read_expression, read_property_name, read_value, read_variable
from omnigraph.language.query.syntax import (
    BARE_NAME,
    AssignmentSyntax,
    CallSyntax,
    DeleteSyntax,
    InsertSyntax,
    LiteralSyntax,
    MutationSyntax,
    NullSyntax,
    OrderingSyntax,
    ParameterSyntax,
    ParameterTypeSyntax,
    PredicateSyntax,
    ProjectionSyntax,
    QueryFileSyntax,
    QuerySyntax,
    ReadSyntax,
    StatementSyntax,
    UpdateSyntax,
    ValueSyntax,
    VariableSyntax,
)
from omnigraph.language.query.tokens import END, INTEGER, STRING, VARIABLE, WORD, Cursor, StoppedError
from omnigraph.language.source import Name, Span, read_source

_STATEMENTS: Final = ("`delete`", "`insert`", "`update`")
_ANNOTATIONS: Final = ("description", "instruction")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_queries(text: str, *, source: str) -> QueryFileSyntax:
    """Parse a query file, or one bare read; `source` is the name that messages show, usually a path.

    Raises `ParseError` with every syntax error of the text, in order. The tree is well formed, not yet checked against
    a schema.
    """
    source_text = read_source(text, name=source)
    problems = Problems(source_text)
    if not source_text.text.isascii():
        for half in _SURROGATE.finditer(source_text.text):
            problems.add(Span(start=half.start(), end=half.end()), "half of a surrogate pair is not a character")
    queries = _read_file(Cursor(source_text, problems))
    _refuse_repeated_names(queries, problems)
    problems.raise_if_any()
    return QueryFileSyntax(queries=tuple(queries), source=source_text)


def _read_file(cursor: Cursor) -> list[QuerySyntax]:
    queries: list[QuerySyntax] = []
    while cursor.kind is not END:
        started = cursor.at
        try:
            if not queries and cursor.is_word("match"):
                queries.append(_read_bare(cursor))
            else:
                queries.append(_read_query(cursor))
        except StoppedError:
            _skip_to_next_query(cursor, started)
    return queries


def _skip_to_next_query(cursor: Cursor, started: int) -> None:
    """Go to the next `query name(`, which is nothing else even inside another query."""
    tokens = cursor.tokens
    at = max(cursor.at, started + 1)
    # The mistake may be that a query starts where the one before has not ended.
    while at < len(tokens) - 1:
        if tokens[at][:2] == (WORD, "query") and tokens[at + 1][0] is WORD:
            break
        at += 1
    cursor.move_to(min(at, len(tokens) - 1))


def _refuse_repeated_names(queries: list[QuerySyntax], problems: Problems) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.name.text in seen:
            problems.add(query.name.span, f"there are two queries called `{query.name}`")
        seen.add(query.name.text)


def _read_bare(cursor: Cursor) -> QuerySyntax:
    start, end = cursor.start, cursor.end
    body = _read_read(cursor)
    if cursor.kind is not END:
        expected = [] if body.limit is not None else ["`limit`"] if body.orderings else ["`limit`", "`order`"]
        cursor.fail(*expected, "the end of the text")
    name = Name(text=BARE_NAME, span=Span(start=start, end=end))
    return QuerySyntax(name=name, parameters=(), body=body, is_bare=True, span=cursor.span_from(start))


def _read_query(cursor: Cursor) -> QuerySyntax:
    start = cursor.start
    cursor.expect_word("query", *(() if cursor.at else ("`match`",)))
    name = cursor.expect_name("the name of the query")
    parameters = _read_parameters(cursor)
    annotations, annotation_spans = _read_annotations(cursor, name)
    cursor.expect("{", *(("`@description`", "`@instruction`") if len(annotations) < len(_ANNOTATIONS) else ()))
    rest: tuple[str, ...] = _STATEMENTS
    body: ReadSyntax | MutationSyntax
    if cursor.is_word("match"):
        body = read = _read_read(cursor)
        rest = () if read.limit is not None else ("`limit`",) if read.orderings else ("`order`", "`limit`")
    else:
        body = _read_mutation(cursor)
    cursor.expect("}", *rest)
    return QuerySyntax(
        name=name,
        parameters=parameters,
        body=body,
        description=annotations.get("description"),
        instruction=annotations.get("instruction"),
        span=cursor.span_from(start),
        annotation_spans=annotation_spans,
    )


def _read_annotations(cursor: Cursor, query: Name) -> tuple[dict[str, str], tuple[Span, ...]]:
    found: dict[str, str] = {}
    spans: list[Span] = []
    while cursor.kind == "@":
        _, _, start, _ = cursor.advance()
        if not cursor.is_word(*_ANNOTATIONS):
            cursor.fail(*(f"`{name}`" for name in _ANNOTATIONS))
        _, name, _, _ = cursor.advance()
        cursor.expect("(")
        _, written, text_start, text_end = cursor.expect(STRING)
        value = string_value(written, Span(start=text_start, end=text_end), cursor.problems)
        cursor.expect(")")
        span = cursor.span_from(start)
        if name in found:
            cursor.problems.add(span, f"query `{query}` has more than one @{name}")
        found[name] = value
        spans.append(span)
    return found, tuple(spans)


def _read_parameters(cursor: Cursor) -> tuple[ParameterSyntax, ...]:
    cursor.expect("(")
    parameters: list[ParameterSyntax] = []
    while cursor.kind != ")" or parameters:
        if cursor.kind is not VARIABLE:
            cursor.fail("a parameter such as `$name`", *(() if parameters else ("`)`",)))
        variable = read_variable(cursor)
        cursor.expect(":")
        parameters.append(ParameterSyntax(variable=variable, type=_read_parameter_type(cursor)))
        if not cursor.accept(","):
            break
    cursor.expect(")", *(("`,`",) if parameters else ()))
    return tuple(parameters)


def _read_parameter_type(cursor: Cursor) -> ParameterTypeSyntax:
    start = cursor.start
    is_list = cursor.accept("[")
    word = cursor.expect_name("a scalar type" if is_list else "a type").text
    dimension = None
    if is_list:
        cursor.expect("]")
    elif word == "Vector":
        cursor.expect("(")
        _, written, number_start, number_end = cursor.expect(INTEGER)
        dimension = integer_value(written, Span(start=number_start, end=number_end), cursor.problems)
        cursor.expect(")")
    elif word == "enum" and cursor.kind == "(":
        cursor.fail("`)`", "`,`", "`?`", hint="; a parameter for an enum property is a `String`")
    nullable = cursor.accept("?")
    return ParameterTypeSyntax(
        scalar=word, dimension=dimension, is_list=is_list, nullable=nullable, span=cursor.span_from(start)
    )


def _read_read(cursor: Cursor) -> ReadSyntax:
    sections = [_word_span(cursor, "match")]
    clauses = read_clauses(cursor)
    sections.append(_word_span(cursor, "return"))
    cursor.expect("{")
    projections = [_read_projection(cursor)]
    while cursor.kind != "}":
        projections.append(_read_projection(cursor, "`}`"))
    cursor.advance()
    orderings: list[OrderingSyntax] = []
    if cursor.is_word("order"):
        sections.append(_word_span(cursor, "order"))
        cursor.expect("{")
        orderings.append(_read_ordering(cursor))
        while cursor.accept(","):
            orderings.append(_read_ordering(cursor))
        cursor.expect("}", "`,`")
    limit = None
    if cursor.is_word("limit"):
        sections.append(_word_span(cursor, "limit"))
        limit = _read_limit(cursor)
    return ReadSyntax(
        clauses=clauses,
        projections=tuple(projections),
        orderings=tuple(orderings),
        limit=limit,
        section_spans=tuple(sections),
    )


def _word_span(cursor: Cursor, word: str) -> Span:
    _, _, start, end = cursor.expect_word(word)
    return Span(start=start, end=end)


def _read_projection(cursor: Cursor, *others: str) -> ProjectionSyntax:
    start = cursor.start
    expression = read_expression(cursor, *others)
    alias = None
    if cursor.is_word("as") and cursor.peek()[0] is WORD:
        cursor.advance()
        alias = cursor.expect_name("a column name")
    span = cursor.span_from(start)
    cursor.accept(",")
    return ProjectionSyntax(expression=expression, alias=alias, span=span)


def _read_ordering(cursor: Cursor) -> OrderingSyntax:
    start = cursor.start
    expression = read_expression(cursor)
    if not cursor.is_word("asc", "desc"):
        return OrderingSyntax(expression=expression, direction=None, span=cursor.span_from(start))
    if isinstance(expression, CallSyntax) and expression.function == "nearest":
        cursor.fail("`,`", "`}`", hint="; `nearest` always puts the smallest distance first")
    _, word, _, _ = cursor.advance()
    direction: Final = "asc" if word == "asc" else "desc"
    return OrderingSyntax(expression=expression, direction=direction, span=cursor.span_from(start))


def _read_limit(cursor: Cursor) -> LiteralSyntax | VariableSyntax:
    if cursor.kind is VARIABLE:
        return read_variable(cursor)
    if cursor.kind is not INTEGER or cursor.text[0] == "-":
        cursor.fail("a whole number without a sign", "a parameter")
    _, written, start, end = cursor.advance()
    span = Span(start=start, end=end)
    return LiteralSyntax(value=integer_value(written, span, cursor.problems), span=span)


def _read_mutation(cursor: Cursor) -> MutationSyntax:
    statements = [_read_statement(cursor, "`match`")]
    while cursor.kind is WORD:
        statements.append(_read_statement(cursor, "`}`"))
    return MutationSyntax(statements=tuple(statements))


def _read_statement(cursor: Cursor, *others: str) -> StatementSyntax:
    if not cursor.is_word("insert", "update", "delete"):
        cursor.fail(*_STATEMENTS, *others)
    _, verb, start, _ = cursor.advance()
    type_name = read_type_name(cursor)
    if verb == "insert":
        assignments = _read_assignments(cursor, count_min=0)
        return InsertSyntax(type_name=type_name, assignments=assignments, span=cursor.span_from(start))
    if verb == "delete":
        return DeleteSyntax(type_name=type_name, predicate=_read_where(cursor), span=cursor.span_from(start))
    cursor.expect_word("set")
    assignments = _read_assignments(cursor, count_min=1)
    return UpdateSyntax(
        type_name=type_name, assignments=assignments, predicate=_read_where(cursor), span=cursor.span_from(start)
    )


def _read_assignments(cursor: Cursor, *, count_min: int) -> tuple[AssignmentSyntax, ...]:
    cursor.expect("{")
    assignments: list[AssignmentSyntax] = []
    while cursor.kind != "}" or len(assignments) < count_min:
        name = read_property_name(cursor, *(("`}`",) if len(assignments) >= count_min else ()))
        cursor.expect(":")
        assignments.append(AssignmentSyntax(property=name, value=_read_assigned(cursor)))
        cursor.accept(",")
    cursor.advance()
    return tuple(assignments)


def _read_assigned(cursor: Cursor) -> NullSyntax | ValueSyntax:
    if cursor.is_word("null"):
        _, _, start, end = cursor.advance()
        return NullSyntax(span=Span(start=start, end=end))
    return read_value(cursor, "`null`")


def _read_where(cursor: Cursor) -> PredicateSyntax:
    cursor.expect_word("where")
    name = read_property_name(cursor)
    operator = read_comparison(cursor)
    value = read_value(cursor)
    return PredicateSyntax(property=name, operator=operator, value=value, span=cursor.span_from(name.span.start))
