"""A plan for people and for programs: one line and one JSON object per step."""

from dataclasses import fields
from enum import StrEnum
from typing import Any

from omnigraph.catalog.canonical import CONSTRAINT_KINDS, annotation_document, canonical_json
from omnigraph.catalog.ir.document import type_document
from omnigraph.catalog.migration.constraints import spell_constraint
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationStep,
    RenameProperty,
    RenameType,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.catalog.model import Annotation, Index, PropertyType

Document = dict[str, Any]

STEP_KINDS: dict[type[MigrationStep], str] = {
    AddConstraint: "add_constraint",
    AddProperty: "add_property",
    AddType: "add_type",
    DropProperty: "drop_property",
    DropType: "drop_type",
    ExtendEnum: "extend_enum",
    RenameProperty: "rename_property",
    RenameType: "rename_type",
    UnsupportedChange: "unsupported_change",
    UpdatePropertyMetadata: "update_property_metadata",
    UpdateTypeMetadata: "update_type_metadata",
}
# `from` is a word of Python's own.
_MEMBER_NAMES = {"from_name": "from", "to_name": "to"}

_OnProperty = AddProperty | ExtendEnum | UpdatePropertyMetadata | DropProperty
_OnType = _OnProperty | RenameProperty | AddConstraint


def step_document(step: MigrationStep) -> Document:
    """Return the JSON object of a step: its `kind`, then its fields."""
    members = {field.name: _json_value(getattr(step, field.name)) for field in fields(step)}
    return {"kind": STEP_KINDS[type(step)]} | {_MEMBER_NAMES.get(name, name): members[name] for name in members}


def _json_value(value: object) -> object:
    match value:
        case PropertyType():
            return type_document(value)
        case Index():
            return {"kind": CONSTRAINT_KINDS[Index], "properties": list(value.properties)}
        case Annotation():
            return annotation_document(value)
        case tuple():
            return [_json_value(item) for item in value]
        case StrEnum():
            return value.value
        case _:
            return value


def describe_step(step: MigrationStep) -> str:  # noqa: C901 — a table: one line per kind of step
    """Say a step in one line, without a bullet."""
    match step:
        case AddType():
            return f"add {step.type_kind} '{step.name}'"
        case RenameType():
            return f"rename {step.type_kind} '{step.from_name}' to '{step.to_name}'"
        case AddProperty():
            default = "" if step.default is None else f" with default {canonical_json(step.default)}"
            return f"add property {_property(step)} ({step.property_type}) on {_owner(step)}{default}"
        case RenameProperty():
            names = f"'{step.type_name}.{step.from_name}' to '{step.type_name}.{step.to_name}'"
            return f"rename property {names} on {_owner(step)}"
        case ExtendEnum():
            added = ", ".join(f"+{value}" for value in step.added_values)
            return f"extend enum {_property(step)} ({added}) on {_owner(step)}"
        case AddConstraint():
            return f"add constraint {spell_constraint(step.constraint)} on {_owner(step)}"
        case UpdateTypeMetadata():
            return f"update metadata of {step.type_kind} '{step.name}'"
        case UpdatePropertyMetadata():
            return f"update metadata of property {_property(step)} on {_owner(step)}"
        case DropProperty():
            return f"drop property {_property(step)} of {_owner(step)} ({step.mode} mode)"
        case DropType():
            return f"drop {step.type_kind} '{step.name}' ({step.mode} mode)"
        case UnsupportedChange():
            return f"unsupported change on {step.entity} [{step.code}, {step.tier}]: {step.reason}"


def _property(step: _OnProperty) -> str:
    return f"'{step.type_name}.{step.property_name}'"


def _owner(step: _OnType) -> str:
    return f"{step.type_kind} '{step.type_name}'"
