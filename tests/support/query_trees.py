"""Syntax trees of queries for Hypothesis: every shape of the grammar, whether or not it means anything."""

from hypothesis import strategies as st

from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateSyntax,
    AliasSyntax,
    AssignmentSyntax,
    BindingSyntax,
    CallSyntax,
    DeleteSyntax,
    FilterSyntax,
    HopsSyntax,
    InsertSyntax,
    ListSyntax,
    LiteralSyntax,
    MatchSyntax,
    MomentSyntax,
    MutationSyntax,
    NegationSyntax,
    NowSyntax,
    NullSyntax,
    OrderingSyntax,
    ParameterSyntax,
    ParameterTypeSyntax,
    PredicateSyntax,
    ProjectionSyntax,
    QueryFileSyntax,
    QuerySyntax,
    ReadSyntax,
    TextClauseSyntax,
    TraversalSyntax,
    UpdateSyntax,
    VariableSyntax,
)
from omnigraph.language.source import Name

KEYWORDS = [
    "query",
    "match",
    "return",
    "order",
    "limit",
    "as",
    "asc",
    "count",
    "contains",
    "now",
    "date",
    "null",
    "set",
]
SCALARS = ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob"]
NO_SPAN = {"span": st.none()}


def tuples_of(items, *, min_size=0, max_size=2):
    return st.lists(items, min_size=min_size, max_size=max_size).map(tuple)


def named(words):
    return st.builds(Name, text=words, **NO_SPAN)


small_words = st.sampled_from(KEYWORDS) | st.from_regex(r"[a-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
any_words = small_words | st.from_regex(r"[A-Z][A-Za-z0-9_]{0,5}", fullmatch=True)
type_names = named(st.from_regex(r"[A-Z][A-Za-z0-9_]{0,5}", fullmatch=True))
properties = named(small_words)
variables = st.builds(VariableSyntax, name=small_words, **NO_SPAN)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
literals = st.builds(LiteralSyntax, value=texts | numbers | st.booleans(), **NO_SPAN)
moments = st.builds(MomentSyntax, kind=st.sampled_from(["date", "datetime"]), text=texts, **NO_SPAN)
constants = st.recursive(
    literals | moments, lambda inner: st.builds(ListSyntax, items=tuples_of(inner, max_size=3), **NO_SPAN), max_leaves=4
)
now = st.builds(NowSyntax, **NO_SPAN)
values = constants | variables | now
accesses = st.builds(AccessSyntax, variable=variables, property=properties, **NO_SPAN)
# `true` and `false` are literals, and an operator or a direction behind an expression is not taken for a name.
aliases = st.builds(
    AliasSyntax,
    name=any_words.filter(lambda word: word not in {"true", "false", "contains", "starts_with", "as", "asc", "desc"}),
    **NO_SPAN,
)


def calls(inner, functions=("nearest", "search", "match_text", "bm25")):
    two = st.builds(CallSyntax, function=st.sampled_from(functions), arguments=st.tuples(inner, inner), **NO_SPAN)
    with_third = [function for function in ("fuzzy", "rrf") if functions[0] != "search" or function == "fuzzy"]
    three = st.builds(
        CallSyntax,
        function=st.sampled_from(with_third),
        arguments=tuples_of(inner, min_size=2, max_size=3),
        **NO_SPAN,
    )
    return two | three


expressions = st.recursive(
    constants | variables | now | accesses | aliases,
    lambda inner: (
        calls(inner)
        | st.builds(
            AggregateSyntax, function=st.sampled_from(["count", "sum", "avg", "min", "max"]), argument=inner, **NO_SPAN
        )
    ),
    max_leaves=4,
)
matches = st.builds(MatchSyntax, property=properties, value=values)
bindings = st.builds(BindingSyntax, variable=variables, type_name=type_names, matches=tuples_of(matches), **NO_SPAN)
traversals = st.builds(
    TraversalSyntax,
    left=variables,
    edge_variable=st.none() | variables,
    is_shortest=st.booleans(),
    edge=named(small_words.filter(lambda word: word != "not")),
    is_undirected=st.booleans(),
    hops=st.none() | st.builds(HopsSyntax, low=st.integers(0, 9), high=st.none() | st.integers(0, 9), **NO_SPAN),
    right=variables,
    **NO_SPAN,
)
comparisons = st.sampled_from([">=", "<=", "!=", ">", "<", "="])
filters = st.builds(
    FilterSyntax,
    left=expressions,
    operator=comparisons | st.sampled_from(["contains", "starts_with"]),
    right=expressions,
    **NO_SPAN,
).filter(
    # A variable, `contains` and another variable is a traversal.
    lambda found: (
        not (
            isinstance(found.left, VariableSyntax)
            and isinstance(found.right, VariableSyntax)
            and found.operator in {"contains", "starts_with"}
        )
    )
)
text_clauses = st.builds(TextClauseSyntax, call=calls(expressions, ("search", "match_text")), **NO_SPAN)
clauses = st.recursive(
    bindings | traversals | filters | text_clauses,
    lambda inner: st.builds(NegationSyntax, clauses=tuples_of(inner, min_size=1), **NO_SPAN),
    max_leaves=3,
)
projections = st.builds(ProjectionSyntax, expression=expressions, alias=st.none() | named(any_words), **NO_SPAN)


def _is_nearest(expression):
    return isinstance(expression, CallSyntax) and expression.function == "nearest"


orderings = st.builds(
    OrderingSyntax, expression=expressions, direction=st.none() | st.sampled_from(["asc", "desc"]), **NO_SPAN
).filter(lambda key: key.direction is None or not _is_nearest(key.expression))
reads = st.builds(
    ReadSyntax,
    clauses=tuples_of(clauses, min_size=1, max_size=3),
    projections=tuples_of(projections, min_size=1),
    orderings=tuples_of(orderings),
    limit=st.none() | variables | st.builds(LiteralSyntax, value=st.integers(0, 2**64 - 1), **NO_SPAN),
    section_spans=st.just(()),
)
assignments = st.builds(AssignmentSyntax, property=properties, value=values | st.builds(NullSyntax, **NO_SPAN))
predicates = st.builds(PredicateSyntax, property=properties, operator=comparisons, value=values, **NO_SPAN)
statements = (
    st.builds(InsertSyntax, type_name=type_names, assignments=tuples_of(assignments), **NO_SPAN)
    | st.builds(
        UpdateSyntax,
        type_name=type_names,
        assignments=tuples_of(assignments, min_size=1),
        predicate=predicates,
        **NO_SPAN,
    )
    | st.builds(DeleteSyntax, type_name=type_names, predicate=predicates, **NO_SPAN)
)
parameter_types = st.builds(
    ParameterTypeSyntax, scalar=st.sampled_from(SCALARS), is_list=st.booleans(), nullable=st.booleans(), **NO_SPAN
) | st.builds(
    ParameterTypeSyntax, scalar=st.just("Vector"), dimension=st.integers(0, 9), nullable=st.booleans(), **NO_SPAN
)
queries = st.builds(
    QuerySyntax,
    name=named(any_words),
    parameters=tuples_of(st.builds(ParameterSyntax, variable=variables, type=parameter_types)),
    body=reads | st.builds(MutationSyntax, statements=tuples_of(statements, min_size=1)),
    description=st.none() | texts,
    instruction=st.none() | texts,
    **NO_SPAN,
)
files = st.builds(
    QueryFileSyntax,
    queries=st.lists(queries, max_size=2, unique_by=lambda query: query.name.text).map(tuple),
    source=st.none(),
)
