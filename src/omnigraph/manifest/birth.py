"""How a graph comes into being: a claim, its schema and empty tables, then one commit that makes it a graph.

Before the commit that creates `__manifest` there is no graph; after it there is one, whole. Whatever breaks in
between leaves files that nothing refers to and a claim that says who was at it.
"""

import json
import os
import socket
from dataclasses import asdict, dataclass

from omnigraph.base import clock, faults, ids, processes
from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from omnigraph.errors import (
    AlreadyInitialized,
    InitClaimed,
    InitIndeterminate,
    NotConfirmed,
    OmniError,
    StorageError,
)
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId, CommitKind
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.publish import ManifestChanges, PinMove, TableRegistration, manifest_rows
from omnigraph.manifest.rows import MANIFEST, MANIFEST_SCHEMA, location_of, rows_to_table
from omnigraph.manifest.schemas import IR_COPY, SOURCE_COPY, STATE_COPY, SchemaStore
from omnigraph.manifest.snapshot import SchemaRef
from omnigraph.manifest.stamp import INTERNAL_SCHEMA_VERSION, ROOT_KEY, STAMP_KEY
from omnigraph.manifest.state import ManifestReader
from omnigraph.storage.keyed import create_keyed_table
from omnigraph.storage.objects import ObjectExists
from omnigraph.storage.staging import create_table
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableAddress

CLAIM = "__init_claim.json"
_CLAIM_AGE_SECONDS_MIN = 600
_LEFTOVER_PREFIXES = ("nodes/", "edges/", "_schemas/")
_SCHEMA_COPIES = (SOURCE_COPY, IR_COPY, STATE_COPY)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitClaim:
    """Who is creating a graph here; `ulid` is the id of the genesis commit."""

    ulid: str
    host: str
    pid: int
    pid_scope: str | None
    started_at: int

    @property
    def is_provably_dead(self) -> bool:
        """Whether the claiming process ran on this host and is gone."""
        return processes.is_provably_dead(host=self.host, pid=self.pid, scope=self.pid_scope)

    @property
    def age_seconds(self) -> float:
        """How long ago the claim was made, by the local clock."""
        return (clock.now_us() - self.started_at) / 1_000_000


def create_graph(
    store: GraphStore, schema: str, *, schema_source: str, force: bool, has_consent: bool, actor_id: str | None
) -> None:
    """Create a graph with an empty table per type, or raise and leave no graph behind."""
    catalog = compile_schema(schema, source=schema_source, identity_domain=ids.new_ulid())
    store.objects.probe()
    claim = _take_claim(store, force=force, has_consent=has_consent)
    faults.reach("init.after_claim")
    schemas = SchemaStore(store.objects)
    reference = schemas.save(catalog, schema)
    faults.reach("init.after_schemas")
    genesis = Commit(
        graph_commit_id=CommitId(claim.ulid),
        parent_commit_id=None,
        graph_branch=MAIN_BRANCH,
        graph_version=1,
        kind=CommitKind.GENESIS,
        actor_id=actor_id,
        created_at_us=clock.now_us(),
    )
    changes = _create_tables(store, catalog, reference)
    _create_manifest(store, changes, genesis)
    faults.reach("init.after_manifest")
    complete_birth(store, genesis, reference)


def complete_birth(store: GraphStore, genesis: Commit, reference: SchemaRef) -> None:
    """Write what follows the birth: readable copies, the log entry, and the end of the claim. Harmless to repeat."""
    SchemaStore(store.objects).write_copies(reference)
    CommitLog(store.tables).add(genesis)
    store.objects.delete(CLAIM)


def read_claim(store: GraphStore) -> InitClaim | None:
    """Return the claim at this root, if there is one."""
    stored = store.objects.read(CLAIM)
    return None if stored is None else InitClaim(**json.loads(stored.content))


def _take_claim(store: GraphStore, *, force: bool, has_consent: bool) -> InitClaim:
    _refuse_existing_graph(store)
    existing = read_claim(store)
    if existing is not None:
        _refuse_or_break(store, existing, force=force, has_consent=has_consent)
    leftovers = _leftovers(store)
    if leftovers and not force:
        raise AlreadyInitialized(
            f"{store.uri} holds parts of a graph ({leftovers[0]}, …) but no __manifest. If an earlier init was "
            "interrupted, run init with --force to clear what it left; an existing graph is never touched by it.",
            uri=store.uri,
        )
    for path in leftovers:
        store.objects.delete(path)
    claim = InitClaim(
        ulid=ids.new_ulid(),
        host=socket.gethostname(),
        pid=os.getpid(),
        pid_scope=processes.pid_scope(),
        started_at=clock.now_us(),
    )
    try:
        store.objects.create(CLAIM, json.dumps(asdict(claim)).encode())
    except ObjectExists:
        raise _claimed(store, read_claim(store)) from None
    # Somebody may have finished between our first look and our claim.
    try:
        _refuse_existing_graph(store)
    except AlreadyInitialized:
        store.objects.delete(CLAIM)
        raise
    return claim


def _refuse_existing_graph(store: GraphStore) -> None:
    if store.tables.head(MANIFEST) is not None:
        raise AlreadyInitialized(
            f"{store.uri} is a graph already; nothing was changed. --force clears the remains of an interrupted init, "
            "never a graph.",
            uri=store.uri,
        )


def _refuse_or_break(store: GraphStore, claim: InitClaim, *, force: bool, has_consent: bool) -> None:
    if not force:
        raise _claimed(store, claim)
    if claim.is_provably_dead:
        store.objects.delete(CLAIM)
        return
    if store.root.is_local or claim.age_seconds < _CLAIM_AGE_SECONDS_MIN:
        raise _claimed(store, claim)
    if not has_consent:
        raise NotConfirmed(
            f"{store.uri} is not local: refusing destructive `init --force` over the claim of another process without "
            "consent (--yes)",
            command="init",
            target=store.uri,
        )
    store.objects.delete(CLAIM)


def _claimed(store: GraphStore, claim: InitClaim | None) -> InitClaimed:
    who = f"process {claim.pid} on {claim.host}, {claim.age_seconds:.0f} s ago" if claim else "another process"
    return InitClaimed(
        f"{store.uri} is being initialized by {who}. Wait for it; if it is dead, run init with --force.",
        uri=store.uri,
        holder=who,
    )


def _leftovers(store: GraphStore) -> list[str]:
    found = [path for prefix in _LEFTOVER_PREFIXES for path in store.objects.list(prefix)]
    found += [path for path in _SCHEMA_COPIES if store.objects.read(path) is not None]
    return sorted(found)


def _create_tables(store: GraphStore, catalog: Catalog, reference: SchemaRef) -> ManifestChanges:
    pins, registrations = [], []
    for table_key, entity in catalog.type_by_table_key.items():
        location = location_of(table_key, entity.identity)
        uuid = ids.new_uuid()
        table = create_table(
            store.tables, TableAddress(location), table_schema(entity), uuid=uuid, properties={"omnigraph.kind": "init"}
        )
        faults.reach("init.after_each_table")
        registrations.append(TableRegistration(table_key=table_key, identity=entity.identity, location=location))
        pins.append(
            PinMove(
                table_key=table_key,
                identity=entity.identity,
                ref=None,
                version=table.version,
                row_count=0,
                transaction_uuid=uuid,
            )
        )
    return ManifestChanges(pins=tuple(pins), registrations=tuple(registrations), schema=reference)


def _create_manifest(store: GraphStore, changes: ManifestChanges, genesis: Commit) -> None:
    """Commit the birth; after an unclear error look whether it happened, and never clean up on a guess."""
    schema = MANIFEST_SCHEMA.with_metadata({STAMP_KEY: str(INTERNAL_SCHEMA_VERSION), ROOT_KEY: store.root.uri})
    try:
        create_keyed_table(store.tables, MANIFEST, schema, rows_to_table(manifest_rows(changes, genesis), schema))
        faults.reach("init.manifest_ack_lost")
    except (StorageError, OSError) as error:
        try:
            head = ManifestReader(store.tables, SchemaStore(store.objects), uri=store.uri).load(MAIN_BRANCH).head
        except (OmniError, OSError) as second:
            raise InitIndeterminate(
                f"Whether {store.uri} became a graph is unknown: creating it failed ({error}), and so did looking for "
                f"it ({second}). Everything was left as it is, {CLAIM} included; inspect it before you try again.",
                uri=store.uri,
            ) from error
        if head.graph_commit_id != genesis.graph_commit_id:
            raise AlreadyInitialized(f"{store.uri} became a graph through another init.", uri=store.uri) from error
