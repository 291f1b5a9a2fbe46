"""Decide: from a schema text to the steps that lead there from what the graph has. Reads the schema, never data."""

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.catalog.compile import compile_shape
from omnigraph.catalog.migration import MigrationPlan, MigrationStep, plan_migration, resolve
from omnigraph.catalog.model import Catalog
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaText:
    """The schema that a graph is to have; `source` names the text in messages."""

    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRequest:
    """What a change of the schema may be asked for, by `schema plan` and `schema apply` alike."""

    schema: str
    schema_source: str = "<schema>"
    allow_data_loss: bool = False
    """Whether what is dropped goes from the past as well; a plan shows it so."""
    actor: str | None = None
    message: str | None = None

    @property
    def desired(self) -> SchemaText:
        """The schema that the graph is to have."""
        return SchemaText(text=self.schema, source=self.schema_source)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SchemaPlan(Shown):
    """What `schema apply` would do."""

    uri: str
    steps: tuple[MigrationStep, ...]
    supported: bool
    warnings: tuple[str, ...]
    """Rename hints without effect, and a readable copy of the schema that somebody has edited."""


def plan_schema(context: GraphContext, request: SchemaRequest) -> SchemaPlan:
    """Plan a schema change of `main`; writes nothing. With `allow_data_loss` every drop is hard."""
    desired = request.desired
    state = context.manifest.load(MAIN_BRANCH)
    accepted = context.schemas.catalog(state.snapshot.schema)
    plan = plan_from(accepted, desired, allow_data_loss=request.allow_data_loss)
    warnings = [str(hint) for hint in plan.diagnostics]
    if has_foreign_edit(context, desired):
        warnings.append(FOREIGN_EDIT)
    return SchemaPlan(uri=context.store.uri, steps=plan.steps, supported=plan.supported, warnings=tuple(warnings))


def plan_from(accepted: Catalog, desired: SchemaText, *, allow_data_loss: bool) -> MigrationPlan:
    """Plan the way from an accepted schema to a text."""
    shape = compile_shape(desired.text, source=desired.source)
    return plan_migration(accepted, resolve(accepted, shape), allow_data_loss=allow_data_loss)


FOREIGN_EDIT = (
    "_schema.pg was edited by hand and is no schema that this graph has accepted. Editing it changes nothing: restore "
    "the text that `omnigraph schema show` prints, or pass the file itself as the new schema."
)


def has_foreign_edit(context: GraphContext, desired: SchemaText) -> bool:
    """Whether the readable copy holds a text that was neither accepted nor is the one to be applied."""
    accepted = context.manifest.load(MAIN_BRANCH).accepted_sources()
    return context.schemas.edited_copy(accepted) not in (None, desired.text)
