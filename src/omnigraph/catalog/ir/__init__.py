"""The stored form of an accepted schema: one canonical JSON document, its hashes, and the way back."""

from omnigraph.catalog.ir.document import ir_bytes, ir_document, ir_hash, schema_hash
from omnigraph.catalog.ir.reader import catalog_from_ir

__all__ = ["catalog_from_ir", "ir_bytes", "ir_document", "ir_hash", "schema_hash"]
