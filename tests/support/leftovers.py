"""What a graph has on disk that nothing refers to: files, refs and trees of branches that are gone."""

from collections.abc import Iterator
from pathlib import Path

import lance

from omnigraph.graph import Graph
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from support.ages import age

_DEPTHS = {"_indices": 2, "data": 2}
"""How far above a file its tree is where Lance makes directories of its own: for an index, and for blobs."""


def clean_up(graph: Graph) -> None:
    """Remove everything that nobody needs, as if a week had passed: younger files might belong to a running write."""
    age(graph.uri)
    report = graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True)
    assert report.failed == ()


def find_leftovers(graph: Graph) -> list[str]:
    """Name what is on disk of branches that do not exist, and every file of a table that no version refers to."""
    root = Path(graph.uri)
    manifests = {path.parent.parent for path in root.rglob("_versions/*.manifest")}
    refs = [str(path.relative_to(root)) for path in root.rglob("_refs/branches/*") if path.is_file()]
    found = [f"ref {path}" for path in refs]
    found += [f"tree {tree}" for tree in _trees(root)]
    for table in sorted(path for path in manifests if "tree" not in path.relative_to(root).parts):
        referenced = set(_referenced(table))
        on_disk = {
            str(path.relative_to(table))
            for kind in ("data", "_deletions", "_indices")
            for path in (table / kind).rglob("*")
            if path.is_file()
        }
        found += [
            f"file {table.relative_to(root)}/{path}"
            for path in sorted(on_disk)
            if not any(path == named or path.startswith(f"{named}/") for named in referenced)
        ]
    return found


def _trees(root: Path) -> list[str]:
    """Name the directories of refs that hold a file, also if it is only one that a first write has staged."""
    files = (path.relative_to(root) for path in root.rglob("tree/**/*") if path.is_file())
    return sorted({str(path.parents[_DEPTHS.get(path.parent.parent.name, 1)]) for path in files})


def _referenced(table: Path) -> Iterator[str]:
    """Yield the files of all versions that there are, and the directories of their indexes."""
    for version in [entry["version"] for entry in lance.dataset(str(table)).versions()]:
        dataset = lance.dataset(str(table), version=version)
        for fragment in dataset.get_fragments():
            for file in fragment.data_files():
                yield f"data/{file.path}"
                yield f"data/{Path(file.path).stem}"  # blobs of a data file lie in a directory of its name
            deletions = fragment.metadata.deletion_file
            if deletions is not None:
                yield from (
                    f"_deletions/{fragment.fragment_id}-{deletions.read_version}-{deletions.id}.{kind}"
                    for kind in ("arrow", "bin")
                )
        for index in dataset.describe_indices():
            for segment in index.segments:
                yield f"_indices/{segment.uuid}"
