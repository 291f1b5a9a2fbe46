"""Schema changes on an existing graph: who is who, what has to be done, and how to say it.

`resolve` gives the desired schema its identities, `plan_migration` compares it with the accepted one. Both are pure;
applying a plan is the business of higher layers.
"""

from omnigraph.catalog.migration.codes import ChangeCode
from omnigraph.catalog.migration.hints import UnusedHint
from omnigraph.catalog.migration.plan import MigrationPlan, plan_migration
from omnigraph.catalog.migration.report import describe_step, step_document
from omnigraph.catalog.migration.resolve import Resolution, hints_without_graph, resolve
from omnigraph.catalog.migration.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationStep,
    RenameProperty,
    RenameType,
    Tier,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)

__all__ = [
    "AddConstraint",
    "AddProperty",
    "AddType",
    "ChangeCode",
    "DropMode",
    "DropProperty",
    "DropType",
    "ExtendEnum",
    "MigrationPlan",
    "MigrationStep",
    "RenameProperty",
    "RenameType",
    "Resolution",
    "Tier",
    "UnsupportedChange",
    "UnusedHint",
    "UpdatePropertyMetadata",
    "UpdateTypeMetadata",
    "describe_step",
    "hints_without_graph",
    "plan_migration",
    "resolve",
    "step_document",
]
