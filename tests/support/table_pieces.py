"""Loading tables in pieces, however small they are."""

from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.pipeline.load import inputs

SCHEMA = """
node Port { code: String @key  mail: String? @unique  depth: I32? }
edge Route: Port -> Port { note: String? }
"""


def in_pieces(graph: Graph, data: Path, *, mode: str, engine: str = "local", **options: object) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "IN_MEMORY_BYTES_MAX", -1)
        return graph.load(data, mode=mode, engine=engine, **options)


def content(graph: Graph) -> list[str]:
    found = []
    for type_name in ("Port", "Route"):
        rows = graph.snapshot().table(type_name).to_arrow()
        found += sorted(repr(row) for row in rows.drop_columns(["id"]).to_pylist())
    return found
