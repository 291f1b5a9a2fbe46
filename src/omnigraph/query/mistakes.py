"""What all checks of one query share: the schema, the parameters, and how a mistake is refused."""

from enum import StrEnum
from typing import Any, NoReturn

from omnigraph.catalog.model import Catalog
from omnigraph.errors import MixedMutation, QueryTypeError
from omnigraph.language.problems import excerpt, span_document
from omnigraph.language.source import SourceText, Span
from omnigraph.query.typed import Parameter


class QueryCode(StrEnum):
    """The codes of queries that do not fit the schema; stable, for programs to rely on."""

    UNKNOWN_NODE_TYPE = "T1"
    UNKNOWN_MATCH_PROPERTY = "T2"
    WRONG_LITERAL = "T3"
    UNKNOWN_EDGE = "T4"
    WRONG_ENDPOINT = "T5"
    UNKNOWN_NAME = "T6"
    INCOMPATIBLE = "T7"
    WRONG_AGGREGATE = "T8"
    NOT_GROUPED = "T9"
    UNKNOWN_MUTATED_TYPE = "T10"
    UNKNOWN_MUTATED_PROPERTY = "T11"
    MISSING_PROPERTY = "T12"
    ASSIGNED_TWICE = "T13"
    NOT_A_PARAMETER = "T14"
    WRONG_HOPS_OR_VECTOR = "T15"
    EDGE_UPDATE = "T16"
    NEAREST_WITHOUT_LIMIT = "T17"
    ALIAS_BESIDE_NEAREST = "T18"
    WRONG_SEARCH = "T19"
    WRONG_TEXT_RANKING = "T20"
    WRONG_FUSION = "T21"
    UNDIRECTED_BETWEEN_TYPES = "T22"
    EDGE_VARIABLE = "T23"
    BLOB = "T24"
    REBOUND = "T25"
    WRONG_PARAMETER = "T26"
    MIXED_LIST = "T27"
    REPEATED_COLUMN = "T28"
    NOT_SORTABLE = "T29"
    MIXED_MUTATION = "T30"
    KEY_UPDATE = "T31"


class Checking:
    """One query on its way from syntax to meaning."""

    def __init__(self, catalog: Catalog, source: SourceText, query_name: str) -> None:
        self.catalog = catalog
        self.query_name = query_name
        self.parameters: dict[str, Parameter] = {}
        self._source = source
        self._anonymous = 0

    def fresh_variable(self) -> str:
        """Name another `$_`, in a way that no source can."""
        self._anonymous += 1
        return f"_#{self._anonymous}"

    def refuse(self, code: QueryCode, span: Span, message: str) -> NoReturn:
        """Raise the error of a query that does not fit; its message starts with the code and ends with the place."""
        place = self._source.position(span)
        where = f"  at {self._source.name}:{place.line}:{place.column}\n{excerpt(self._source, span, place)}"
        details: dict[str, Any] = {
            "code": code.value,
            "query": self.query_name,
            "source": self._source.name,
            "line": place.line,
            "column": place.column,
            "span": span_document(place),
        }
        kind = MixedMutation if code is QueryCode.MIXED_MUTATION else QueryTypeError
        raise kind(f"{code}: {message}\n{where}", **details)
