"""Moving one graph of a cluster: making it, giving it another schema, removing it. Each writes its intent first.

The engine's own protocols do the work; nothing here changes a graph in another way. A step raises, or returns the
intent that stays until the ledger says what became of it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from omnigraph.base import faults, ids, waits
from omnigraph.base.events import Events
from omnigraph.base.values import Json, dataclass
from omnigraph.branches.gates import hold_branches
from omnigraph.cluster.desired import DesiredCluster
from omnigraph.cluster.intents import GraphIntent, IntentKind, retire_intents, write_intent
from omnigraph.cluster.looking import LiveGraph, look_at_graph, open_context, preview_schema
from omnigraph.cluster.planning import migration_document, schema_request
from omnigraph.cluster.resources import schema_address
from omnigraph.cluster.session import ClusterSession, now_text
from omnigraph.errors import AlreadyInitialized, Effect, GraphNotFound, OmniError, SchemaDrift, StorageError
from omnigraph.evolution.plan import FOREIGN_EDIT, has_foreign_edit
from omnigraph.evolution.run import apply_schema
from omnigraph.evolution.writer import refuse_other_branches
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.admission import sole_maintainer
from omnigraph.manifest.birth import InitRequest, create_graph
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.whole_roots import erase_root


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMover:
    """Carries out the graph-moving steps of one run."""

    session: ClusterSession
    desired: DesiredCluster
    actor: str | None
    events: Events
    remember: Callable[[GraphIntent], None]
    """Told of every intent as soon as it is stored, so that whatever stops the step cannot hide it."""

    def create(self, graph_id: str) -> None:
        """Make a graph with its declared schema."""
        file = self.desired.files[schema_address(graph_id)]
        intent = self._intent(IntentKind.GRAPH_CREATE, graph_id)
        self._refuse_occupied(intent.graph_uri)
        context = open_context(intent.graph_uri)
        self._arm(intent)
        faults.reach("cluster_apply.before_graph_create")
        request = InitRequest(schema=file.content.decode(), schema_source=file.shown, actor=self.actor)
        create_graph(context.store, request, events=self.events)
        faults.reach("cluster_apply.after_graph_create")
        self._arm(replace(intent, expected_manifest_version=_version(context)))

    def _refuse_occupied(self, uri: str) -> None:
        """Refuse a root where something is, before an intent exists: the next sweep could not tell whose it is."""
        live = look_at_graph(uri)
        if live.is_open:
            raise AlreadyInitialized(
                f"{uri} is a graph already that the ledger does not know; run `omnigraph cluster refresh`, which takes "
                "it in.",
                uri=uri,
            )
        if live.exists:
            raise AlreadyInitialized(f"{uri} holds something that is no graph: {live.error} Move it away.", uri=uri)

    def change_schema(self, graph_id: str) -> dict[str, Json]:
        """Give a graph its declared schema; return the engine's plan. A refusal leaves no intent behind."""
        live = self._live(graph_id)
        context = live.context
        assert context is not None  # or `_live` has raised
        request = schema_request(self.desired, graph_id, actor=self.actor)
        plan = preview_schema(context, request)
        migration = migration_document(plan)
        if plan.supported and not plan.steps:
            return migration  # another text with the same meaning: the graph has nothing to do
        refuse_other_branches(context)
        if has_foreign_edit(context, request.desired):
            raise SchemaDrift(f"{live.uri}: {FOREIGN_EDIT} Nothing was changed.")
        if not plan.supported:
            # The engine refuses it with the rule that it breaks, before it changes anything.
            apply_schema(context, request, events=self.events)
        intent = replace(self._intent(IntentKind.SCHEMA_APPLY, graph_id), observed_manifest_version=live.version)
        self._arm(intent)
        faults.reach("cluster_apply.before_schema_apply")
        try:
            applied = apply_schema(context, request, events=self.events)
        except OmniError as refusal:
            if refusal.effect is Effect.NONE and self._live(graph_id).kept_its_schema_since(live.version):
                retire_intents(self.session.site, [intent], self.session.found)
            raise
        faults.reach("cluster_apply.after_schema_apply")
        self._arm(replace(intent, expected_manifest_version=applied.graph_version))
        return migration

    def delete(self, graph_id: str, *, approval_id: str) -> str:
        """Remove a graph with everything in it, alone among its writers; return the id of the operation."""
        intent = replace(self._intent(IntentKind.GRAPH_DELETE, graph_id), approval_id=approval_id)
        context = open_context(intent.graph_uri)
        self._arm(intent)
        # Before the locks: on an object store those of a process that dies live on for a while, and the next apply
        # would have to wait for them.
        faults.reach("cluster_apply.before_graph_delete")
        with ExitStack() as held:
            try:
                self._keep_writers_out(context, held)
            except OmniError:
                retire_intents(self.session.site, [intent], self.session.found)
                raise
            erase_root(context.store)
        # Giving the locks back may have left their files.
        erase_root(context.store)
        faults.reach("cluster_apply.after_graph_delete")
        return intent.operation_id

    def _keep_writers_out(self, context: GraphContext, held: ExitStack) -> None:
        try:
            context.manifest.load(MAIN_BRANCH)
            branches = [MAIN_BRANCH, *context.manifest.branch_names()]
        except OmniError as error:
            if isinstance(error, StorageError) and error.is_transient:
                raise
            return  # what an interrupted deletion left is no graph, and has no writers any more
        held.enter_context(sole_maintainer(context, "cluster apply", wait_seconds=waits.GATE_SECONDS))
        held.enter_context(hold_branches(context, branches, operation="cluster apply", events=self.events))

    def _live(self, graph_id: str) -> LiveGraph:
        live = look_at_graph(self.session.site.graph_uri(graph_id))
        if live.context is None:
            raise GraphNotFound(live.error or f"There is no graph at {live.uri}.", uri=live.uri)
        return live

    def _intent(self, kind: IntentKind, graph_id: str) -> GraphIntent:
        entry = self.desired.entries.get(schema_address(graph_id))
        return GraphIntent(
            operation_id=ids.new_ulid(),
            started_at=now_text(),
            actor=self.actor,
            kind=kind,
            graph_id=graph_id,
            graph_uri=self.session.site.graph_uri(graph_id),
            desired_schema_digest=entry.digest if entry else None,
            state_cas_base=self.session.stored.cas if self.session.stored else None,
        )

    def _arm(self, intent: GraphIntent) -> None:
        write_intent(self.session.site, intent)
        self.remember(intent)


def _version(context: GraphContext) -> int:
    return context.manifest.load(MAIN_BRANCH).head.graph_version
