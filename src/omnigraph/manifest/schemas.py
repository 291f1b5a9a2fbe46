"""The accepted schema: immutable objects named by their content, and readable copies that are no authority.

The `schema` row of `__manifest` names the objects in `_schemas/`; they are written before the publish that names
them. `_schema.pg`, `_schema.ir.json` and `__schema_state.json` are for people and tools.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Final

from omnigraph.catalog.ir import catalog_from_ir, ir_bytes, ir_hash, schema_hash
from omnigraph.catalog.model import Catalog
from omnigraph.errors import GraphCorrupt, SchemaContractMissing
from omnigraph.manifest.snapshot import SchemaRef
from omnigraph.storage.objects import ControlStore, ObjectExists

SOURCE_COPY: Final = "_schema.pg"
IR_COPY: Final = "_schema.ir.json"
STATE_COPY: Final = "__schema_state.json"


class SchemaStore:
    """Reads and writes schema objects of one graph; compiled schemas are kept by hash."""

    def __init__(self, objects: ControlStore) -> None:
        self._objects = objects
        self._catalogs: dict[str, Catalog] = {}
        self._sources: dict[str, str] = {}

    def save(self, catalog: Catalog, source: str) -> SchemaRef:
        """Write the immutable objects of a schema and return the reference that a publish can accept."""
        reference = schema_reference(catalog, source)
        self._create_immutable(_source_path(reference), source.encode())
        self._create_immutable(_ir_path(reference), ir_bytes(catalog))
        return reference

    def keep(self, catalog: Catalog, source: str) -> None:
        """Serve a schema from memory whose objects are not on disk: that of a graph that has not been migrated."""
        reference = schema_reference(catalog, source)
        self._catalogs[reference.ir_hash] = catalog
        self._sources[reference.source_sha256] = source

    def catalog(self, reference: SchemaRef) -> Catalog:
        """Load the compiled schema that a snapshot names."""
        if reference.ir_hash not in self._catalogs:
            catalog = catalog_from_ir(json.loads(self._read(_ir_path(reference))))
            if ir_hash(catalog) != reference.ir_hash:
                raise GraphCorrupt(f"{_ir_path(reference)} does not have the content its name says.")
            self._catalogs[reference.ir_hash] = catalog
        return self._catalogs[reference.ir_hash]

    def source(self, reference: SchemaRef) -> str:
        """Load the schema source that a snapshot names."""
        if reference.source_sha256 in self._sources:
            return self._sources[reference.source_sha256]
        content = self._read(_source_path(reference))
        if hashlib.sha256(content).hexdigest() != reference.source_sha256:
            raise GraphCorrupt(f"{_source_path(reference)} does not have the content its name says.")
        return content.decode()

    def holds(self, reference: SchemaRef) -> bool:
        """Whether the objects that a reference names are there and have the content that their names say."""
        try:
            self.catalog(reference)
            self.source(reference)
        except (SchemaContractMissing, GraphCorrupt):
            return False
        return True

    def edited_copy(self, accepted_sources: Collection[str]) -> str | None:
        """Return the readable copy of the source if somebody has edited it: no accepted schema has that text."""
        stored = self._objects.read(SOURCE_COPY)
        if stored is None or hashlib.sha256(stored.content).hexdigest() in accepted_sources:
            return None
        return bytes(stored.content).decode(errors="replace")

    def source_copy(self) -> str:
        """Return the readable copy of the schema source, which is the only one that an old graph has."""
        return self._read(SOURCE_COPY).decode()

    def write_copies(self, reference: SchemaRef) -> None:
        """Refresh the readable copies from the accepted objects."""
        state = {
            "schema_hash": reference.schema_hash,
            "ir_hash": reference.ir_hash,
            "source_sha256": reference.source_sha256,
        }
        self._objects.put(SOURCE_COPY, self._read(_source_path(reference)))
        self._objects.put(IR_COPY, self._read(_ir_path(reference)))
        self._objects.put(STATE_COPY, (json.dumps(state, indent=2) + "\n").encode())

    def copies_are_fresh(self, reference: SchemaRef) -> bool:
        """Whether the state copy names this schema."""
        stored = self._objects.read(STATE_COPY)
        try:
            return stored is not None and json.loads(stored.content)["ir_hash"] == reference.ir_hash
        except (ValueError, KeyError, TypeError):
            return False

    def _read(self, path: str) -> bytes:
        stored = self._objects.read(path)
        if stored is None:
            raise SchemaContractMissing(
                f"The schema object {path} is missing although the graph depends on it. Restore it from a backup.",
                missing=path,
            )
        return bytes(stored.content)

    def _create_immutable(self, path: str, content: bytes) -> None:
        try:
            self._objects.create(path, content)
        except ObjectExists:
            existing = self._objects.read(path)
            if existing is None or existing.content != content:
                raise GraphCorrupt(f"{path} exists with other content than its name says.") from None


def schema_reference(catalog: Catalog, source: str) -> SchemaRef:
    """Name a schema by what it contains."""
    return SchemaRef(
        schema_hash=schema_hash(catalog),
        ir_hash=ir_hash(catalog),
        source_sha256=hashlib.sha256(source.encode()).hexdigest(),
        identity_domain=catalog.identity_domain,
    )


def _source_path(reference: SchemaRef) -> str:
    return f"_schemas/{reference.source_sha256}.pg"


def _ir_path(reference: SchemaRef) -> str:
    return f"_schemas/{reference.ir_hash}.ir.json"
