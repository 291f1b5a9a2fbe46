"""A schema change as the write protocol sees it."""

from dataclasses import field

from omnigraph.base import faults
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import new_table_schema
from omnigraph.catalog.migration import MigrationPlan
from omnigraph.errors import SchemaApplyBlocked
from omnigraph.evolution.changes import SchemaChange, schema_change
from omnigraph.evolution.plan import SchemaText, plan_from
from omnigraph.graphs.capture import Capture
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, CommitKind
from omnigraph.storage.columns import stage_reshape
from omnigraph.storage.transactions import stage_creation
from omnigraph.writes.chains import prepare_staged
from omnigraph.writes.creation import NewTable
from omnigraph.writes.prepared import PreparedTable, PreparedWrite, WriteIdentity
from omnigraph.writes.sidecar import SidecarKind


@dataclass(kw_only=True)
class SchemaWriter:
    """The description of a schema change; `plan` is what the last preparation came to."""

    desired: SchemaText
    allow_data_loss: bool
    actor_id: str | None
    branch: str = MAIN_BRANCH
    expected_head: str | None = None
    kind: SidecarKind = SidecarKind.SCHEMA_APPLY
    commit_kind: CommitKind = CommitKind.SCHEMA_APPLY
    plan: MigrationPlan | None = field(default=None, init=False)

    @property
    def is_strict(self) -> bool:
        """A schema change was decided on the graph as it was; the caller decides again when it has moved."""
        return True

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Plan the change, store the new schema's objects and stage every table."""
        plan = plan_from(capture.catalog, self.desired, allow_data_loss=self.allow_data_loss)
        self.plan = plan
        plan.require_supported()
        if not plan.steps:
            return None
        reference = capture.context.schemas.save(plan.catalog, self.desired.text)
        faults.reach("schema.after_objects")
        change = schema_change(capture.snapshot, capture.catalog, plan.catalog, reference, is_hard=self.allow_data_loss)
        return PreparedWrite(
            tables=tuple(_stage_tables(capture, change, identity)),
            created=tuple(
                NewTable(
                    registration=registration,
                    creation=stage_creation(
                        new_table_schema(entity, plan.catalog.identity_domain),
                        properties=identity.transaction_properties,
                    ),
                )
                for registration, entity in change.created
            ),
            manifest=change.manifest,
            purges=change.purges,
            metadata={"step_count": len(plan.steps)},
            last_check=lambda: refuse_other_branches(capture.context),
        )


def refuse_other_branches(context: GraphContext) -> None:
    """Raise `SchemaApplyBlocked` while a branch besides `main` lives: it would keep the schema it has."""
    branches = context.manifest.branch_names()
    if branches:
        raise SchemaApplyBlocked(
            f"[OG-NL-101] {context.store.uri} has other branches than main ({', '.join(branches)}), and a schema "
            "change would leave them behind; nothing was changed. Merge or delete them first.",
            branches=branches,
        )


def _stage_tables(capture: Capture, change: SchemaChange, identity: WriteIdentity) -> list[PreparedTable]:
    prepared = []
    for pin, entity, reshape in sorted(change.reshaped, key=lambda item: item[0].table_key):
        table = capture.table(pin.table_key)
        properties = identity.transaction_properties
        staged = stage_reshape(capture.context.store.tables, table, reshape, properties=properties)
        renamed_to = entity.table_key if entity.table_key != pin.table_key else None
        prepared.append(prepare_staged(capture, identity, pin.table_key, staged, renamed_to=renamed_to))
    return prepared
