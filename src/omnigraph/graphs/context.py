"""The open parts of one graph that writers, readers and recovery share."""

from collections.abc import Mapping
from dataclasses import field

from omnigraph.base.values import dataclass
from omnigraph.catalog.admitting import FindBlobBases, no_blob_bases
from omnigraph.engine.interface import Engine
from omnigraph.graphs.authorizing import Anybody, Authorizer, authorizer_of
from omnigraph.graphs.whole_tables import WholeTables
from omnigraph.manifest.addresses import Addresses
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.publish import Publisher
from omnigraph.manifest.schemas import SchemaStore
from omnigraph.manifest.state import ManifestReader
from omnigraph.storage.store import GraphStore


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphContext:
    """One opened graph; no decisions, only what they are made with."""

    store: GraphStore
    manifest: ManifestReader
    log: CommitLog
    publisher: Publisher
    addresses: Addresses
    schemas: SchemaStore
    engine: Engine
    whole_tables: WholeTables = field(default_factory=WholeTables)
    authorizer: Authorizer = field(default_factory=Anybody)
    """Who is asked before somebody writes."""
    embed_environ: Mapping[str, str] | None = None
    """Where queries find the settings of their embedding provider; None for the environment of the process."""
    find_blob_bases: FindBlobBases = no_blob_bases
    """Says below which bases objects lie that blobs may refer to."""

    @classmethod
    def over(
        cls,
        store: GraphStore,
        engine: Engine,
        authorizer: Authorizer | None = None,
        embed_environ: Mapping[str, str] | None = None,
        find_blob_bases: FindBlobBases = no_blob_bases,
    ) -> "GraphContext":
        """Compose the parts over one store."""
        schemas = SchemaStore(store.objects)
        manifest = ManifestReader(store.tables, schemas, uri=store.uri)
        log = CommitLog(store.tables)
        return cls(
            store=store,
            manifest=manifest,
            log=log,
            publisher=Publisher(store.tables, manifest, log),
            addresses=Addresses(manifest, log),
            schemas=schemas,
            engine=engine,
            authorizer=authorizer_of(authorizer),
            embed_environ=embed_environ,
            find_blob_bases=find_blob_bases,
        )
