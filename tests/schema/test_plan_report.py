"""What users and programs read of a plan."""

import json
from typing import get_args

import pytest

from omnigraph.catalog.migration import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCode,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationStep,
    RenameProperty,
    RenameType,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    describe_step,
    step_document,
)
from omnigraph.catalog.model import Annotation, Index, PropertyType, Scalar

ON_JOB = {"type_kind": "node", "type_name": "Job"}
NOTE = Annotation(name="description", value="why", kwargs=(("lang", "en"),))

CASES = [
    (
        AddType(type_kind="interface", name="Named"),
        {"kind": "add_type", "type_kind": "interface", "name": "Named"},
        "add interface 'Named'",
    ),
    (
        RenameType(type_kind="node", from_name="Job", to_name="Task"),
        {"kind": "rename_type", "type_kind": "node", "from": "Job", "to": "Task"},
        "rename node 'Job' to 'Task'",
    ),
    (
        AddProperty(
            **ON_JOB, property_name="cost", property_type=PropertyType(scalar=Scalar.F64, nullable=True), default=None
        ),
        {
            "kind": "add_property",
            **ON_JOB,
            "property_name": "cost",
            "property_type": {"scalar": "F64", "dim": None, "list": False, "nullable": True, "enum_values": None},
            "default": None,
        },
        "add property 'Job.cost' (F64?) on node 'Job'",
    ),
    (
        AddProperty(
            **ON_JOB,
            property_name="mood",
            property_type=PropertyType(scalar=Scalar.STRING, enum_values=("bad", "good")),
            default="good",
        ),
        {
            "kind": "add_property",
            **ON_JOB,
            "property_name": "mood",
            "property_type": {
                "scalar": "String",
                "dim": None,
                "list": False,
                "nullable": False,
                "enum_values": ["bad", "good"],
            },
            "default": "good",
        },
        "add property 'Job.mood' (enum(bad, good)) on node 'Job' with default \"good\"",
    ),
    (
        RenameProperty(**ON_JOB, from_name="state", to_name="phase"),
        {"kind": "rename_property", **ON_JOB, "from": "state", "to": "phase"},
        "rename property 'Job.state' to 'Job.phase' on node 'Job'",
    ),
    (
        ExtendEnum(**ON_JOB, property_name="state", added_values=("held", "late")),
        {"kind": "extend_enum", **ON_JOB, "property_name": "state", "added_values": ["held", "late"]},
        "extend enum 'Job.state' (+held, +late) on node 'Job'",
    ),
    (
        AddConstraint(**ON_JOB, constraint=Index(properties=("note", "state"))),
        {"kind": "add_constraint", **ON_JOB, "constraint": {"kind": "index", "properties": ["note", "state"]}},
        "add constraint @index(note, state) on node 'Job'",
    ),
    (
        UpdateTypeMetadata(type_kind="edge", name="Needs", annotations=(NOTE,)),
        {
            "kind": "update_type_metadata",
            "type_kind": "edge",
            "name": "Needs",
            "annotations": [{"name": "description", "value": "why", "kwargs": {"lang": "en"}}],
        },
        "update metadata of edge 'Needs'",
    ),
    (
        UpdatePropertyMetadata(**ON_JOB, property_name="cost", annotations=(), default=1.5),
        {"kind": "update_property_metadata", **ON_JOB, "property_name": "cost", "annotations": [], "default": 1.5},
        "update metadata of property 'Job.cost' on node 'Job'",
    ),
    (
        DropProperty(**ON_JOB, property_name="note", mode=DropMode.SOFT, code=ChangeCode.PROPERTY_DROPPED),
        {"kind": "drop_property", **ON_JOB, "property_name": "note", "mode": "soft", "code": "OG-DS-104"},
        "drop property 'Job.note' of node 'Job' (soft mode)",
    ),
    (
        DropType(type_kind="node", name="Job", mode=DropMode.HARD, code=ChangeCode.NODE_DROPPED),
        {"kind": "drop_type", "type_kind": "node", "name": "Job", "mode": "hard", "code": "OG-DS-102"},
        "drop node 'Job' (hard mode)",
    ),
    (
        UnsupportedChange(entity="node:Job.cost", reason="why not", code=ChangeCode.REQUIRED_PROPERTY_ADDED),
        {"kind": "unsupported_change", "entity": "node:Job.cost", "reason": "why not", "code": "OG-MF-103"},
        "unsupported change on node:Job.cost [OG-MF-103, validated]: why not",
    ),
]


@pytest.mark.parametrize(("step", "document", "line"), CASES, ids=[line for _, _, line in CASES])
def test_a_step_is_told_in_json_and_in_one_line(step, document, line):
    assert json.loads(json.dumps(step_document(step))) == document
    assert describe_step(step) == line


def test_every_kind_of_step_is_covered():
    assert {type(step) for step, _, _ in CASES} == set(get_args(MigrationStep))
