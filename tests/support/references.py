"""Graphs whose blobs may refer to objects elsewhere: what they hold, told by what each value is."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import omnigraph
from omnigraph import Graph
from omnigraph.catalog.blob_cells import reference_cell
from omnigraph.cluster.resources import BlobScope
from support import harbor
from support.served import Declared, make_cluster

SCHEMA = (
    "node Photo { name: String @key\n content: Blob?\n year: I32? }\n"
    "edge Shows: Photo -> Photo { mask: Blob?\n note: String? }\n"
)
SCANS = "s3://museum-scans/originals/"
CONTENTS: Mapping[str, bytes | None] = {
    "null": None,
    "empty": b"",
    "small": b"ten bytes.",
    "large": b"L" * 100_000,
    "like a reference": reference_cell("s3://museum-scans/originals/no.jpg"),
}
"""Everything that a reference must not be mixed up with."""

Value = bytes | str | None
"""A reference is a text here."""


def spelled(value: Value) -> str | None:
    return f"base64:{base64.b64encode(value).decode()}" if isinstance(value, bytes) else value


def photo(name: str, value: Value, **more: object) -> dict[str, object]:
    return {"type": "Photo", "data": {"name": name, "content": spelled(value), **more}}


def shows(source: str, target: str, value: Value, **more: object) -> dict[str, object]:
    data = {"id": f"{source}-{target}", "mask": spelled(value), **more}
    return {"edge": "Shows", "from": source, "to": target, "data": data}


def gallery(
    root: str,
    folder: Path,
    graph_ids: tuple[str, ...] = ("art",),
    *,
    policies: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
) -> None:
    """Make a cluster whose graphs may refer to objects of a bucket and, for who has the storage, to files."""
    folder.mkdir(parents=True, exist_ok=True)
    declared = Declared(
        schema=SCHEMA,
        seed="",
        queries=None,
        blob_bases={SCANS: BlobScope.SERVER_SAFE, f"{folder.as_uri()}/": BlobScope.EMBEDDED_ONLY},
    )
    make_cluster(root, dict.fromkeys(graph_ids, declared), policies=policies)


def opened(root: str, graph_id: str = "art") -> Graph:
    return omnigraph.open(f"{root}/graphs/{graph_id}.omni")


def references(folder: Path) -> dict[str, Value]:
    """Return references: in a bucket that does not exist, to a file that does not, and to one that somebody could read.

    Whoever opens the first two fails, and whoever copies the third gives it away.
    """
    here = folder / "here.bin"
    here.write_bytes(b"bytes that belong to somebody else")
    return {"bucket": f"{SCANS}a%20b.jpg", "missing": (folder / "missing.bin").as_uri(), "here": here.as_uri()}


def filled(
    root: str, folder: Path, *, policies: Mapping[str, tuple[str, tuple[str, ...]]] | None = None
) -> tuple[Graph, dict[str, Value]]:
    """Make a gallery with a photo of every kind, in more than one commit, and return what its photos hold."""
    gallery(root, folder, policies=policies)
    graph = opened(root)
    values = {**CONTENTS, **references(folder)}
    graph.load(harbor.lines([photo(name, value) for name, value in CONTENTS.items()]), mode="merge")
    for name, value in references(folder).items():
        graph.load(harbor.lines([photo(name, value)]), mode="append")
    graph.load(harbor.lines([shows("here", "small", values["here"]), shows("small", "here", b"m")]), mode="append")
    return graph, values


def held(graph: Graph, *, branch: str = "main", column: str = "content") -> dict[str, Value]:
    """Return what the photos of a branch hold, each asked for on its own."""
    names = graph.snapshot(branch=branch).table("Photo").to_arrow(["name"])["name"].to_pylist()
    return {name: value_of(graph, "Photo", name, column, branch=branch) for name in names}


def value_of(graph: Graph, type_name: str, entity_id: str, column: str, *, branch: str = "main") -> Value:
    try:
        blob = graph.blob(type_name, entity_id, column, branch=branch)
    except omnigraph.errors.EntityNotFound:
        return None
    return blob.uri if blob.kind == "external" else blob.read()


def exported(graph: Graph) -> list[dict[str, object]]:
    import io

    out = io.BytesIO()
    graph.export(out)
    return [json.loads(line) for line in out.getvalue().splitlines()]
