"""The parameters of a query as fields of a form: what each takes, and what was typed as values."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.scalars import SCALARS
from omnigraph.errors import ParamError
from omnigraph.language.query.spelling import spell_parameter_type

if TYPE_CHECKING:
    from omnigraph.client.values import StoredParameterInfo
    from omnigraph.language.query.syntax import ParameterSyntax

_TEXT_SCALARS = frozenset(scalar.value for scalar, traits in SCALARS.items() if traits.is_text_in_json)
_TEXT_KINDS = frozenset({"string", "date", "datetime", "blob"})
_EXAMPLES = {
    "Date": "2024-05-31",
    "DateTime": "2024-05-31T12:00:00Z",
    "date": "2024-05-31",
    "datetime": "2024-05-31T12:00:00Z",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One parameter; what is typed stands for itself, or is JSON."""

    name: str
    type_text: str
    is_text: bool
    is_nullable: bool
    is_yes_or_no: bool = False
    example: str = ""


def declared_field(parameter: "ParameterSyntax") -> FormField:
    """Return the field of a parameter that a query declares."""
    declared = parameter.type
    is_single = not declared.is_list and declared.dimension is None
    return FormField(
        name=parameter.variable.name,
        type_text=spell_parameter_type(declared),
        is_text=is_single and declared.scalar in _TEXT_SCALARS,
        is_nullable=declared.nullable,
        is_yes_or_no=is_single and declared.scalar == "Bool",
        example=_EXAMPLES.get(declared.scalar, "") if is_single else "a JSON array such as [1, 2]",
    )


def stored_field(parameter: "StoredParameterInfo") -> FormField:
    """Return the field of a parameter of a stored query."""
    is_single = parameter.kind not in {"list", "vector"}
    words = {
        "list": f"list of {parameter.item_kind}",
        "vector": f"vector of length {parameter.vector_dim}",
        "bool": "yes or no",
        "string": "text",
        "int": "whole number",
        "bigint": "whole number",
        "float": "number",
    }
    return FormField(
        name=parameter.name,
        type_text=words.get(parameter.kind, parameter.kind),
        is_text=parameter.kind in _TEXT_KINDS,
        is_nullable=parameter.nullable,
        is_yes_or_no=parameter.kind == "bool",
        example=_EXAMPLES.get(parameter.kind, "") if is_single else "a JSON array such as [1, 2]",
    )


def given_texts(fields: Sequence[FormField], typed: Mapping[str, str]) -> dict[str, str]:
    """Return what is given of what was typed: an empty field that needs no value gives none."""
    return {
        field.name: typed.get(field.name, "")
        for field in fields
        if typed.get(field.name, "") or (field.is_text and not field.is_nullable)
    }


def given_values(fields: Sequence[FormField], typed: Mapping[str, str]) -> dict[str, object]:
    """Return the values that the fields give; raises `ParamError` for what is no JSON where JSON is needed."""
    by_name = {field.name: field for field in fields}
    return {name: _value(by_name[name], text) for name, text in given_texts(fields, typed).items()}


def _value(field: FormField, text: str) -> object:
    if field.is_text:
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParamError(
            f"The parameter `${field.name}` got {shorten(text, 60)!r}, which is not {field.example or 'a JSON value'}.",
            param=field.name,
            expected=field.type_text,
        ) from error
    return value
