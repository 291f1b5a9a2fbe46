"""The syntax tree of a query file: what was written, before anything is known to be right.

Spans take no part in comparisons, so two trees are equal when they say the same thing. Comments are not kept.
"""

from dataclasses import field
from typing import Literal

from omnigraph.base.values import dataclass
from omnigraph.language.source import Name, SourceText, Span

AggregateFunction = Literal["count", "sum", "avg", "min", "max"]
SearchFunction = Literal["nearest", "search", "fuzzy", "match_text", "bm25", "rrf"]
Comparison = Literal[">=", "<=", "!=", ">", "<", "="]
Operator = Comparison | Literal["contains", "starts_with"]
Direction = Literal["asc", "desc"]

ANONYMOUS = "_"
BARE_NAME = "_"
"""What a read is called that was written without `query name() { }` around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableSyntax:
    """`$name`; each `$_` is another one."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralSyntax:
    """A quoted string, number or boolean."""

    value: str | int | float | bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentSyntax:
    """`date("…")` or `datetime("…")`; the text may still be no date."""

    kind: Literal["date", "datetime"]
    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSyntax:
    """`[…]`; that its items fit together is not known yet."""

    items: "tuple[ConstantSyntax, ...]"
    span: Span = field(compare=False, repr=False)


ConstantSyntax = LiteralSyntax | MomentSyntax | ListSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class NowSyntax:
    """`now()`."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NullSyntax:
    """`null`, which may only be assigned."""

    span: Span = field(compare=False, repr=False)


ValueSyntax = ConstantSyntax | VariableSyntax | NowSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSyntax:
    """`$variable.property`."""

    variable: VariableSyntax
    property: Name
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSyntax:
    """A bare name, which stands for a column that `as` gave it."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSyntax:
    """A search function and what it was given; the number of arguments is right, their types may not be."""

    function: SearchFunction
    arguments: "tuple[ExpressionSyntax, ...]"
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateSyntax:
    """`count(…)`, `sum(…)`, `avg(…)`, `min(…)` or `max(…)`."""

    function: AggregateFunction
    argument: "ExpressionSyntax"
    span: Span = field(compare=False, repr=False)


ExpressionSyntax = (
    ConstantSyntax | VariableSyntax | NowSyntax | AccessSyntax | AliasSyntax | CallSyntax | AggregateSyntax
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSyntax:
    """`property: value` inside a binding."""

    property: Name
    value: ValueSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingSyntax:
    """`$variable: Type { … }`; no braces and empty ones are the same."""

    variable: VariableSyntax
    type_name: Name
    matches: tuple[MatchSyntax, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HopsSyntax:
    """`{low,high}`; without `high` the end is open."""

    low: int
    high: int | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalSyntax:
    """`$left edge $right`, with or without a variable for the edge, `shortest`, angle brackets and hop bounds."""

    left: VariableSyntax
    edge_variable: VariableSyntax | None
    is_shortest: bool
    edge: Name
    is_undirected: bool
    hops: HopsSyntax | None
    right: VariableSyntax
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSyntax:
    """`left operator right`."""

    left: ExpressionSyntax
    operator: Operator
    right: ExpressionSyntax
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextClauseSyntax:
    """`search(…)`, `fuzzy(…)` or `match_text(…)` that stands alone and must be true."""

    call: CallSyntax
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NegationSyntax:
    """`not { … }`."""

    clauses: "tuple[ClauseSyntax, ...]"
    span: Span = field(compare=False, repr=False)


ClauseSyntax = NegationSyntax | BindingSyntax | TraversalSyntax | FilterSyntax | TextClauseSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionSyntax:
    """One column of `return`."""

    expression: ExpressionSyntax
    alias: Name | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingSyntax:
    """One key of `order`; no direction is the default of its expression."""

    expression: ExpressionSyntax
    direction: Direction | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSyntax:
    """`match … return … order … limit …`; the spans are those of the four words."""

    clauses: tuple[ClauseSyntax, ...]
    projections: tuple[ProjectionSyntax, ...]
    orderings: tuple[OrderingSyntax, ...]
    limit: LiteralSyntax | VariableSyntax | None
    section_spans: tuple[Span, ...] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSyntax:
    """`property: value` in an insert or update."""

    property: Name
    value: ValueSyntax | NullSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateSyntax:
    """`property operator value` behind `where`."""

    property: Name
    operator: Comparison
    value: ValueSyntax
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertSyntax:
    """`insert Type { … }`."""

    type_name: Name
    assignments: tuple[AssignmentSyntax, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSyntax:
    """`update Type set { … } where …`."""

    type_name: Name
    assignments: tuple[AssignmentSyntax, ...]
    predicate: PredicateSyntax
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSyntax:
    """`delete Type where …`."""

    type_name: Name
    predicate: PredicateSyntax
    span: Span = field(compare=False, repr=False)


StatementSyntax = InsertSyntax | UpdateSyntax | DeleteSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationSyntax:
    """One or more statements that commit together."""

    statements: tuple[StatementSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterTypeSyntax:
    """The declared type of a parameter; `scalar` is the word written, whether or not there is such a type."""

    scalar: str
    dimension: int | None = None
    is_list: bool = False
    nullable: bool = False
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSyntax:
    """`$name: type`."""

    variable: VariableSyntax
    type: ParameterTypeSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySyntax:
    """One query; `is_bare` where the body alone was written."""

    name: Name
    parameters: tuple[ParameterSyntax, ...]
    body: ReadSyntax | MutationSyntax
    description: str | None = None
    instruction: str | None = None
    is_bare: bool = False
    span: Span = field(compare=False, repr=False)
    annotation_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFileSyntax:
    """All queries of a text in the order they were written, with the text that their spans point into."""

    queries: tuple[QuerySyntax, ...]
    source: SourceText = field(compare=False, repr=False)
