"""How a graph comes into being: a claim, its schema and empty tables, then one commit that makes it a graph.

Before the commit that creates `__manifest` there is no graph; after it there is one, whole. An error in between takes
back what was made; a crash leaves files that nothing refers to and a claim that says who was at it.
"""

from omnigraph.base import clock, faults, ids
from omnigraph.base.endings import tell
from omnigraph.base.events import Events, Published, Warned, ignore_events
from omnigraph.base.logs import about, logger_of
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import new_table_schema
from omnigraph.catalog.compile import compile_shape
from omnigraph.catalog.migration import hints_without_graph
from omnigraph.catalog.model import Catalog
from omnigraph.catalog.numbering import number_shape
from omnigraph.errors import (
    AlreadyInitialized,
    GraphNotFound,
    InitCommitted,
    InitIndeterminate,
    OmniError,
    StorageError,
)
from omnigraph.manifest.claim import (
    CLAIM,
    InitClaim,
    complete_birth,
    read_claim,
    refuse_unless_breakable,
    release_claim,
    take_claim,
)
from omnigraph.manifest.commits import MAIN_BRANCH, MESSAGE, Commit, CommitId, CommitKind, check_actor, check_message
from omnigraph.manifest.publish import ManifestChanges, PinMove, TableRegistration, manifest_rows
from omnigraph.manifest.rows import MANIFEST, MANIFEST_SCHEMA, location_of, rows_to_table
from omnigraph.manifest.schemas import IR_COPY, SOURCE_COPY, STATE_COPY, SchemaStore
from omnigraph.manifest.snapshot import SchemaRef
from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION, ROOT_KEY, STAMP_KEY
from omnigraph.manifest.state import ManifestReader
from omnigraph.storage.keyed import create_keyed_table
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.transactions import create_table

_LEFTOVER_PREFIXES = ("nodes/", "edges/", "_schemas/")
_SCHEMA_COPIES = (SOURCE_COPY, IR_COPY, STATE_COPY)

_log = logger_of(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    """What making a graph may be asked for."""

    schema: str
    schema_source: str = "<schema>"
    """What messages call the schema."""
    force: bool = False
    """Whether what an interrupted run left is cleared."""
    consent: bool = False
    """Whether the claim of another process may be taken over, on an object store."""
    actor: str | None = None
    message: str | None = None


def create_graph(store: GraphStore, request: InitRequest, *, events: Events = ignore_events) -> None:
    """Create a graph with an empty table per type, or raise and leave no graph behind."""
    schema, message = request.schema, request.message
    check_actor(request.actor)
    check_message(message)
    shape = compile_shape(schema, source=request.schema_source)
    catalog = number_shape(shape, identity_domain=ids.new_ulid())
    claim = _claim_root(store, request)
    genesis = Commit(
        graph_commit_id=CommitId(claim.ulid),
        parent_commit_id=None,
        graph_branch=MAIN_BRANCH,
        graph_version=1,
        kind=CommitKind.GENESIS,
        actor_id=request.actor,
        created_at_us=clock.now_us(),
        metadata={} if message is None else {MESSAGE: message},
    )
    try:
        faults.reach("init.after_claim")
        reference = SchemaStore(store.objects).save(catalog, schema)
        faults.reach("init.after_schemas")
        changes = _create_tables(store, catalog, reference)
    except BaseException:
        _take_back(store, claim)
        raise
    _create_manifest(store, changes, genesis, claim)
    with about(graph=store.uri):
        _log.info("created the graph with commit %s", genesis.graph_commit_id)
    tell(
        events,
        Published(
            what=f"the new graph {store.uri} with commit {genesis.graph_commit_id}", commit_id=genesis.graph_commit_id
        ),
    )
    try:
        faults.reach("init.after_manifest")
        complete_birth(store, genesis, reference)
    except (OmniError, OSError) as error:
        raise InitCommitted(
            f"{store.uri} is a graph now, but a step after its birth failed: {error}. Delete nothing; the next time "
            "it is opened for writing, the rest is completed.",
            uri=store.uri,
        ) from error
    for hint in hints_without_graph(shape):
        tell(events, Warned(message=str(hint)))


def _claim_root(store: GraphStore, request: InitRequest) -> InitClaim:
    """Claim a root without a graph, cleared of what an interrupted init left; a refusal writes nothing."""
    _refuse_existing_graph(store)
    standing = read_claim(store)
    if standing is not None:
        refuse_unless_breakable(store, standing.claim, force=request.force, has_consent=request.consent)
    leftovers = _leftovers(store)
    if leftovers and not request.force:
        raise AlreadyInitialized(
            f"{store.uri} holds parts of a graph ({leftovers[0]}, …) but no __manifest. If an earlier init was "
            "interrupted, run init with --force to clear what it left; an existing graph is never touched by it.",
            uri=store.uri,
        )
    store.objects.probe()
    claim = take_claim(store, over=standing)
    try:
        # Somebody may have finished between our first look and our claim.
        _refuse_existing_graph(store)
    except AlreadyInitialized:
        release_claim(store)
        raise
    if request.force:
        _clear(store)
    return claim


def _refuse_existing_graph(store: GraphStore) -> None:
    if store.tables.head(MANIFEST) is not None:
        raise AlreadyInitialized(
            f"{store.uri} is a graph already; nothing was changed. --force clears the remains of an interrupted init, "
            "never a graph.",
            uri=store.uri,
        )


def _leftovers(store: GraphStore) -> list[str]:
    found = [path for prefix in _LEFTOVER_PREFIXES for path in store.objects.list(prefix)]
    found += [path for path in _SCHEMA_COPIES if store.objects.read(path) is not None]
    return sorted(found)


def _clear(store: GraphStore) -> None:
    for path in _leftovers(store):
        store.objects.delete(path)


def _take_back(store: GraphStore, claim: InitClaim) -> None:
    """Remove what this attempt made, its claim last: while that stands, nobody else can have made any of it.

    Only for use before the birth was attempted. If the store fails here too, the claim stays, as after a crash.
    """
    try:
        standing = read_claim(store)
        if standing is not None and standing.claim == claim:
            _clear(store)
            release_claim(store)
    except OmniError as error:
        _log.warning("the remains of a failed init at %s were not removed: %s", store.uri, error)


def _create_tables(store: GraphStore, catalog: Catalog, reference: SchemaRef) -> ManifestChanges:
    pins, registrations = [], []
    for table_key, entity in catalog.type_by_table_key.items():
        location = location_of(table_key, entity.identity)
        uuid = ids.new_uuid()
        table = create_table(
            store.tables,
            TableAddress(location),
            new_table_schema(entity, catalog.identity_domain),
            uuid=uuid,
            properties={"omnigraph.kind": "init"},
        )
        faults.reach("init.after_each_table")
        registrations.append(TableRegistration(table_key=table_key, identity=entity.identity, location=location))
        pins.append(PinMove.to(table, table_key=table_key, identity=entity.identity, transaction_uuid=uuid))
    return ManifestChanges(pins=tuple(pins), registrations=tuple(registrations), schema=reference)


def _create_manifest(store: GraphStore, changes: ManifestChanges, genesis: Commit, claim: InitClaim) -> None:
    """Commit the birth; after an unclear error look whether it happened, and never clean up on a guess."""
    schema = MANIFEST_SCHEMA.with_metadata({STAMP_KEY: str(INTERNAL_SCHEMA_VERSION), ROOT_KEY: store.root.uri})
    try:
        create_keyed_table(store.tables, MANIFEST, schema, rows_to_table(manifest_rows(changes, genesis), schema))
        faults.reach("init.manifest_ack_lost")
    except (StorageError, OSError) as error:
        try:
            head = ManifestReader(store.tables, SchemaStore(store.objects), uri=store.uri).load(MAIN_BRANCH).head
        except (OmniError, OSError) as second:
            if isinstance(second, GraphNotFound) and store.root.is_local:
                # On a local disk nothing is still under way. A put that an object store did not answer may yet land.
                _take_back(store, claim)
                raise error from None
            raise InitIndeterminate(
                f"Whether {store.uri} became a graph is unknown: creating it failed ({error}), and so did looking for "
                f"it ({second}). Everything was left as it is, {CLAIM} included; inspect it before you try again.",
                uri=store.uri,
            ) from error
        if head.graph_commit_id != genesis.graph_commit_id:
            raise AlreadyInitialized(f"{store.uri} became a graph through another init.", uri=store.uri) from error
