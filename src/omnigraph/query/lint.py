"""Looking at a whole query file: whether every query parses and fits the schema, and what looks forgotten."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EdgeType, EntityKind, EntityType, NodeType
from omnigraph.errors import MixedMutation, ParseError, QueryTypeError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import QueryFileSyntax, QuerySyntax, ReadSyntax
from omnigraph.query.check import check_query
from omnigraph.query.columns import ColumnKind, column_kind
from omnigraph.query.typed import CheckedMutation, CheckedQuery, CheckedRead, Delete, Insert, Pattern, Update

SYNTAX_CODE = "Q000"
UNCOVERED_CODE = "L201"
NO_PARAMETERS = "mutation declares no params; hardcoded mutations are easy to miss"


class LintSeverity(StrEnum):
    """How much a finding matters; only errors make a lint fail."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """Something about the file as a whole."""

    severity: LintSeverity
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeUse:
    """A type that a query reads or writes."""

    kind: EntityKind
    type_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a query that fits the schema does."""

    result: tuple[ColumnKind, ...]
    reads: tuple[TypeUse, ...]
    writes: tuple[TypeUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedQuery:
    """One query: what it does, or why it does not fit."""

    name: str
    kind: Literal["read", "mutation"]
    operation: Operation | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All about one query file."""

    query_path: str
    results: tuple[LintedQuery, ...]
    findings: tuple[LintFinding, ...]

    @property
    def errors(self) -> int:
        """How many queries and findings are errors."""
        return sum(result.error is not None for result in self.results) + self._count(LintSeverity.ERROR)

    @property
    def warnings(self) -> int:
        """How many warnings queries and findings have."""
        return sum(len(result.warnings) for result in self.results) + self._count(LintSeverity.WARNING)

    @property
    def infos(self) -> int:
        """How many findings are there to be known only."""
        return self._count(LintSeverity.INFO)

    @property
    def is_ok(self) -> bool:
        """Whether nothing is an error."""
        return self.errors == 0

    def _count(self, severity: LintSeverity) -> int:
        return sum(finding.severity is severity for finding in self.findings)


def lint_queries(text: str, catalog: Catalog, *, source: str) -> LintReport:
    """Look at all queries of a text; a syntax error anywhere is one finding, and there are no results then."""
    try:
        file = parse_queries(text, source=source)
    except ParseError as error:
        finding = LintFinding(severity=LintSeverity.ERROR, code=SYNTAX_CODE, message=error.message)
        return LintReport(query_path=source, results=(), findings=(finding,))
    return lint_file(file, catalog)


def lint_file(file: QueryFileSyntax, catalog: Catalog) -> LintReport:
    """Look at all queries of a parsed file."""
    checked = [(query, _checked(query, catalog, file)) for query in file.queries]
    results = tuple(_result(query, outcome, catalog) for query, outcome in checked)
    valid = [outcome for _, outcome in checked if isinstance(outcome, CheckedMutation)]
    findings = tuple(
        sorted(
            _uncovered(valid),
            key=lambda finding: (
                list(LintSeverity).index(finding.severity),
                finding.type_name or "",
                finding.property or "",
                finding.message,
            ),
        )
    )
    return LintReport(query_path=file.source.name, results=results, findings=findings)


def _checked(query: QuerySyntax, catalog: Catalog, file: QueryFileSyntax) -> CheckedQuery | str:
    try:
        return check_query(query, catalog, source=file.source)
    except (QueryTypeError, MixedMutation) as error:
        return error.message


def _result(query: QuerySyntax, outcome: CheckedQuery | str, catalog: Catalog) -> LintedQuery:
    is_read = isinstance(query.body, ReadSyntax)
    return LintedQuery(
        name=query.name.text,
        kind="read" if is_read else "mutation",
        operation=None if isinstance(outcome, str) else _operation(outcome, catalog),
        error=outcome if isinstance(outcome, str) else None,
        warnings=() if is_read or query.parameters else (NO_PARAMETERS,),
    )


def _operation(query: CheckedQuery, catalog: Catalog) -> Operation:
    if isinstance(query, CheckedRead):
        result = tuple(map(column_kind, query.columns))
        return Operation(result=result, reads=_uses(_types_read(query.pattern, catalog)), writes=())
    reads: list[EntityType] = []
    writes: list[EntityType] = []
    for statement in query.statements:
        touched = [statement.entity]
        if isinstance(statement, Delete) and isinstance(statement.entity, NodeType):
            touched += catalog.edges_touching(statement.entity.name)
        reads += touched
        writes += touched
        if isinstance(statement, Insert) and isinstance(statement.entity, EdgeType):
            reads += _ends(statement.entity, catalog)
    return Operation(result=(), reads=_uses(reads), writes=_uses(writes))


def _types_read(pattern: Pattern, catalog: Catalog) -> Iterable[EntityType]:
    yield from pattern.nodes.values()
    for traversal in pattern.traversals:
        yield traversal.edge
        yield from _ends(traversal.edge, catalog)
    for negation in pattern.negations:
        yield from _types_read(negation, catalog)


def _ends(edge: EdgeType, catalog: Catalog) -> list[EntityType]:
    return [catalog.node_by_name[name] for name in (edge.from_type, edge.to_type)]


def _uses(entities: Iterable[EntityType]) -> tuple[TypeUse, ...]:
    uses = {TypeUse(kind=entity.kind, type_name=entity.name) for entity in entities}
    return tuple(sorted(uses, key=lambda use: (use.kind != "node", use.type_name)))


def _uncovered(mutations: list[CheckedMutation]) -> Iterable[LintFinding]:
    """Find nullable properties of updated types that no update sets: somebody may have forgotten them."""
    updates = [
        (mutation.name, statement)
        for mutation in mutations
        for statement in mutation.statements
        if isinstance(statement, Update)
    ]
    for entity in {update.entity.name: update.entity for _, update in updates}.values():
        of_type = [(name, update) for name, update in updates if update.entity is entity]
        covered = {assignment.property for _, update in of_type for assignment in update.assignments}
        key = entity.key.properties if entity.key is not None else ()
        for declared in entity.properties:
            if not declared.type.nullable or declared.embed is not None or declared.name in {*covered, *key}:
                continue
            yield LintFinding(
                severity=LintSeverity.WARNING,
                code=UNCOVERED_CODE,
                message=f"{entity.name}.{declared.name} exists in schema but no update query sets it",
                type_name=entity.name,
                property=declared.name,
                query_names=tuple(sorted({name for name, _ in of_type})),
            )
