"""From a parsed query to its meaning against a schema, or to the first reason why it has none."""

from omnigraph.base.nearest import nearest
from omnigraph.catalog.model import Catalog, PropertyType, Scalar
from omnigraph.catalog.scalars import traits_of
from omnigraph.language.query.spelling import spell_parameter_type
from omnigraph.language.query.syntax import (
    ANONYMOUS,
    ParameterSyntax,
    ParameterTypeSyntax,
    QueryFileSyntax,
    QuerySyntax,
    ReadSyntax,
)
from omnigraph.language.source import SourceText
from omnigraph.query.mistakes import Checking, QueryCode
from omnigraph.query.mutations import check_mutation
from omnigraph.query.reads import check_read
from omnigraph.query.typed import CheckedQuery, Parameter

_RESERVED = "__"
_DIMENSION_MAX = 2**31 - 1


def check_queries(file: QueryFileSyntax, catalog: Catalog) -> tuple[CheckedQuery, ...]:
    """Check all queries of a file; raises at the first that does not fit."""
    return tuple(check_query(query, catalog, source=file.source) for query in file.queries)


def check_query(query: QuerySyntax, catalog: Catalog, *, source: SourceText) -> CheckedQuery:
    """Check one query; reads no data.

    Raises `QueryTypeError` or `MixedMutation` for the first mistake, with its code, its place and what would fit.
    """
    checking = Checking(catalog, source, query.name.text)
    for parameter in query.parameters:
        _declare(checking, parameter)
    if isinstance(query.body, ReadSyntax):
        return check_read(checking, query.body)
    return check_mutation(checking, query.body)


def _declare(checking: Checking, written: ParameterSyntax) -> None:
    name = written.variable.name
    if name == ANONYMOUS:
        reason = "a parameter needs a name other than `$_`"
    elif name.startswith(_RESERVED):
        reason = f"the parameter `${name}` cannot be declared: names that start with `__` are reserved"
    elif name in checking.parameters:
        reason = f"the parameter `${name}` is declared twice"
    else:
        checking.parameters[name] = Parameter(name=name, type=_type(checking, name, written.type))
        return
    checking.refuse(QueryCode.WRONG_PARAMETER, written.variable.span, reason)


def _type(checking: Checking, name: str, written: ParameterTypeSyntax) -> PropertyType:
    scalar = Scalar(written.scalar) if written.scalar in _SCALARS else None
    if scalar is Scalar.VECTOR and written.dimension is None:
        reason: str | None = "a list holds scalar values; one vector is Vector(N)"
    elif scalar is None:
        meant = nearest(written.scalar, _SCALARS)
        hint = f"; did you mean {meant}?" if meant else f"; the types are {', '.join(_SCALARS)}"
        reason = f"there is no type {written.scalar}{hint}"
    elif written.is_list and not traits_of(scalar).fits_in_lists:
        reason = f"a list cannot hold {scalar} values"
    elif written.dimension is not None and not 1 <= written.dimension <= _DIMENSION_MAX:
        reason = f"a Vector dimension is from 1 to {_DIMENSION_MAX}"
    else:
        reason = None
    if reason is not None or scalar is None:
        checking.refuse(
            QueryCode.WRONG_PARAMETER,
            written.span,
            f"the parameter `${name}` cannot be {spell_parameter_type(written)}: {reason}",
        )
    return PropertyType(scalar=scalar, is_list=written.is_list, dimension=written.dimension, nullable=written.nullable)


_SCALARS = tuple(scalar.value for scalar in Scalar)
