"""Files that a write had staged go before it commits: it stages them again or fails, and names none that is gone."""

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.storage.file_references import files_of_version, lost_files
from omnigraph.storage.tables import TableAddress
from support import harbor
from support.writer_child import BRANCH_KINDS, EMBED_RECORDS, EMBED_SCHEMA
from support.writers import paused_child, resume

STRICT = {"mutation", "schema_apply", "load_overwrite", "branch_merge", "branch_merge_bulk"}
"""Writes that are decided on what was read: they are refused and repeated by whoever decides."""


def graph_for(kind: str, uri: str) -> Graph:
    """Make a graph that a writer of this kind has something to do on, for all of its tables on files of its own."""
    if kind == "embed":
        graph = omnigraph.init(uri, EMBED_SCHEMA)
        graph.load(harbor.lines(EMBED_RECORDS), mode="append")
        return graph
    graph = harbor.new_graph(uri)
    if kind == "optimize":
        for number in range(3):
            graph.load(harbor.lines([harbor.sailor(f"x{number}"), harbor.ship(f"y{number}")]), mode="append")
    if kind.startswith("branch_"):
        graph.branches.create("review")
        if kind == "branch_load":  # some of its tables are written on the branch already, others for the first time
            graph.load(harbor.lines([harbor.sailor("Zoe")]), mode="append", branch="review")
        else:
            BRANCH_KINDS["branch_load"](graph)
    return graph


def tables_of(graph: Graph) -> dict[TableAddress, list[int]]:
    """Return every ref of every data table with its versions."""
    found: dict[TableAddress, list[int]] = {}
    for branch in ("main", *(branch.name for branch in graph.branches.list() if branch.name != "main")):
        for pin in graph.snapshot(branch).tables:
            address = TableAddress(pin.location, pin.ref)
            head = graph._context.store.tables.head(address)
            assert head is not None
            found[address] = head.versions()
    return found


def lose_staged_files(graph: Graph) -> int:
    """Remove every data, deletion and index file that no version refers to; return how many there were."""
    objects = graph._context.store.objects
    referred = {
        file.path
        for address, versions in tables_of(graph).items()
        for version in versions
        for file in files_of_version(objects, address, version)
    }
    staged = [
        path
        for location in {address.location for address in tables_of(graph)}
        for path in objects.list(f"{location}/")
        if any(f"/{part}/" in path for part in ("data", "_deletions", "_indices")) and path not in referred
    ]
    for path in staged:
        objects.delete(path)
    return len(staged)


def expect_whole(graph: Graph) -> None:
    """Every version of every table has its files, and every row can be read."""
    objects = graph._context.store.objects
    for address, versions in tables_of(graph).items():
        assert lost_files(objects, address, versions, objects.sizes(f"{address.location}/")) == {}
    harbor.content(graph)


@pytest.mark.parametrize(
    ("kind", "point"),
    [
        ("load_append", "write.after_stage"),
        ("load_merge", "write.after_stage"),
        ("load_overwrite", "write.after_stage"),
        ("bulk_load", "write.after_stage"),
        ("mutation", "write.after_stage"),
        ("schema_apply", "write.after_stage"),
        ("embed", "write.after_stage"),
        ("branch_load", "write.after_stage"),
        ("branch_merge", "write.after_stage"),
        ("branch_merge_bulk", "write.after_stage"),
        ("optimize", "optimize.after_rewrite_tasks"),
    ],
)
def test_a_write_whose_staged_files_are_gone_never_publishes_their_names(
    store_root: str, kind: str, point: str
) -> None:
    graph = graph_for(kind, store_root)
    before = graph.snapshot().commit_id

    with paused_child(store_root, kind, point) as waiting:
        assert lose_staged_files(graph) > 0
        said = resume(waiting)

    after = harbor.open_with_short_leases(store_root)
    if kind in STRICT:
        assert (said["ok"], said["error"]) == (False, "read_set_conflict"), said
        assert after.snapshot().commit_id == before
    else:
        assert said["ok"] is True, said
        assert after.snapshot("review" if kind == "branch_load" else "main").commit_id == said["commit"] != before
    expect_whole(after)


def test_a_write_whose_files_go_each_time_gives_up_without_a_trace(local_root: str) -> None:
    graph = harbor.new_graph(local_root)
    before = harbor.content(graph)

    class Vanishing:
        """A store whose new files are never found."""

        def __init__(self) -> None:
            self.asked = 0

        def __call__(self, paths: object) -> dict[str, int]:
            del paths
            self.asked += 1
            return {}

    vanishing = Vanishing()
    objects = graph._context.store.objects
    objects.sizes_of = vanishing  # type: ignore[method-assign, assignment]

    with pytest.raises(omnigraph.errors.ReadSetConflict) as refused:
        graph.load(harbor.lines([harbor.sailor("Di")]), mode="merge")

    assert vanishing.asked == 5
    assert refused.value.details["member"] == "staged_files"
    assert harbor.content(graph) == before
    assert harbor.pending(graph) == []
