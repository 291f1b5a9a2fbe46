"""A writer in a process of its own: `python -m support.writer_child <uri> <kind>`; prints one JSON line at the end."""

import json
import sys
from unittest.mock import patch

import omnigraph
from omnigraph.base import clock
from omnigraph.base.events import Event, Warned
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import OmniError, RecoveryRequired
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.pipeline.load import inputs
from omnigraph.pipeline.load.bulk import pieces
from omnigraph.providers.config import EmbedConfig
from omnigraph.storage import commit_steps, folding
from support import harbor

CHANGES = [
    harbor.sailor("Bo", "captain", age=35),
    harbor.sailor("Di", "deckhand", age=22),
    harbor.ship("S3", "Old Tub"),
    harbor.edge("Mentors", "Bo", "Di", id="m3", since="2021-05-05"),
    harbor.edge("ServesOn", "Di", "S3", id="s3"),
]
ADDITIONS = [record for record in CHANGES if record.get("data", {}).get("name") != "Bo"]
REPLACEMENT = [
    harbor.sailor("Ana", "captain", age=51),
    harbor.sailor("Eve"),
    harbor.ship("S1", "Northern Star II"),
    harbor.edge("Mentors", "Ana", "Eve", id="m9"),
    harbor.edge("ServesOn", "Eve", "S1", id="s9"),
]

WARNINGS: list[str] = []


def collect(event: Event) -> None:
    if isinstance(event, Warned):
        WARNINGS.append(event.message)


def mutate(graph: omnigraph.Graph) -> object:
    with graph.write(actor="act-test", events=collect) as batch:
        batch.upsert("Sailor", [{"name": "Di", "rank": "deckhand", "age": 22}])
        batch.update("Sailor", {"age": 36}, ids=["Bo"])
        batch.upsert("Mentors", [{"id": "m3", "from": "Bo", "to": "Di"}])
        batch.delete("Ship", ids=["S1"])
    return batch.result.commit


def mutate_by_query(graph: omnigraph.Graph) -> object:
    """Change all four tables without a new id in it, so that the outcome is always the same."""
    query = """
        query retire($name: String) {
            delete Sailor where name = $name
            delete ServesOn where berth >= 1
            delete Ship where hull != "S2"
        }
    """
    return graph.mutate(query, params={"name": "Cy"}, actor="act-test", events=collect).commit


EVOLVED = """
node Mariner @rename_from("Sailor") {
    name: String @key
    grade: enum(captain, deckhand, mate, pilot) @rename_from("rank")
    badge: String? @unique
    paid: Bool @default(false)
}
node Ship { hull: String @key  title: String @index  tons: F64?  flag: String? }
node Port { code: String @key }
edge Mentors: Mariner -> Mariner { since: Date? }
edge ServesOn: Mariner -> Ship @card(0..1) { berth: I32? }
edge CallsAt: Ship -> Port
"""
"""Makes two tables, changes the columns of two, renames one of them and drops one."""


def apply_schema(graph: omnigraph.Graph) -> object:
    return graph.apply_schema(EVOLVED, actor="act-test", events=collect).commit


def apply_schema_hard(graph: omnigraph.Graph) -> object:
    return graph.apply_schema(EVOLVED, allow_data_loss=True, actor="act-test", events=collect).commit


def describe_schema(graph: omnigraph.Graph) -> object:
    """Change the schema in a way that concerns no table."""
    described = harbor.SCHEMA.replace("node Note", 'node Note @description("for the log")')
    return graph.apply_schema(described, actor="act-test", events=collect).commit


KINDS = {
    "load_append": lambda graph: _load(graph, ADDITIONS, "append"),
    "load_merge": lambda graph: _load(graph, CHANGES, "merge"),
    "load_overwrite": lambda graph: _load(graph, REPLACEMENT, "overwrite"),
    "bulk_load": lambda graph: _load_in_pieces(graph, CHANGES, "merge"),
    "mutation": mutate,
    "mutate": mutate_by_query,
    "schema_apply": apply_schema,
}


def _load(graph: omnigraph.Graph, records: list[dict[str, object]], mode: str) -> object:
    return graph.load(harbor.lines(records), mode=mode, actor="act-test", events=collect).commit


def _load_in_pieces(graph: omnigraph.Graph, records: list[dict[str, object]], mode: str) -> object:
    """Load the way of large input: cut into pieces that tasks read, checked in buckets, rewritten by tasks."""
    with patch.object(inputs, "IN_MEMORY_BYTES_MAX", -1), patch.object(pieces, "PIECE_BYTES_MIN", 40):
        return _load(graph, records, mode)


def branch_mutate(graph: omnigraph.Graph) -> object:
    with graph.write(branch="review", actor="act-test", events=collect) as batch:
        batch.upsert("Sailor", [{"name": "Di", "rank": "deckhand", "age": 22}])
        batch.upsert("Mentors", [{"id": "m3", "from": "Bo", "to": "Di"}])
        batch.delete("Ship", ids=["S1"])
    return batch.result.commit


IN_BULK = EngineChoice(engine=EngineName.LOCAL, spark_min_bytes=0)
"""However little a merge has to do, it is done as a large one."""


def merge_in_steps(graph: omnigraph.Graph, *, into: str) -> object:
    """Merge as if every single row were as much as one commit of a table may bring."""
    with patch.object(commit_steps, "REWRITTEN_ROWS_MAX", 1):
        return graph.branches.merge("review", into=into, actor="act-test", engine=IN_BULK, events=collect).commit


BRANCH_KINDS = {
    "branch_load": lambda graph: (
        graph.load(harbor.lines(CHANGES), mode="merge", branch="review", actor="act-test", events=collect).commit
    ),
    "branch_mutation": branch_mutate,
    "branch_merge": lambda graph: graph.branches.merge("review", actor="act-test", events=collect).commit,
    "branch_merge_bulk": lambda graph: (
        graph.branches.merge("review", actor="act-test", engine=IN_BULK, events=collect).commit
    ),
    "branch_merge_bulk_first_touch": lambda graph: (
        graph.branches.merge("review", into="trial", actor="act-test", engine=IN_BULK, events=collect).commit
    ),
    "branch_merge_steps": lambda graph: merge_in_steps(graph, into="main"),
    "branch_merge_steps_first_touch": lambda graph: merge_in_steps(graph, into="trial"),
    "branch_merge_first_touch": lambda graph: (
        graph.branches.merge("review", into="trial", actor="act-test", events=collect).commit
    ),
    "branch_merge_pointer": lambda graph: (
        graph.branches.merge("main", into="review", actor="act-test", events=collect).commit
    ),
    "branch_merge_delete": lambda graph: (
        graph.branches.merge("review", delete_branch=True, actor="act-test", events=collect).commit
    ),
    "branch_create": lambda graph: graph.branches.create("review"),
    "branch_delete": lambda graph: graph.branches.delete("review", events=collect),
}
"""Writers that need, make or remove the branch `review`."""


EMBED_SCHEMA = """
node Doc { slug: String @key  title: String  vec: Vector(4) @embed(title) }
node Page { slug: String @key  text: String  vec: Vector(8)? @embed(text) }
"""
EMBED_RECORDS = [
    {"type": kind, "data": {"slug": str(number), text: f"text {number}"}}
    for kind, text in (("Doc", "title"), ("Page", "text"))
    for number in range(5)
]
EMBED_KINDS = {
    "embed": lambda graph: (
        graph.embed(
            actor="act-test", config=EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}), events=collect
        ).commit
    ),
}
"""Writers that need the graph of `EMBED_SCHEMA`."""

SCHEMA_KINDS = {
    "schema_apply_hard": apply_schema_hard,
    "schema_describe": describe_schema,
}
"""Schema changes that do less or more than others."""


def foreseeing(graph: omnigraph.Graph, branch: str) -> object:
    """Build every BTREE on the rewritten files, as for a table that is too large to be folded under the gates."""
    with patch("omnigraph.maintenance.optimize.budget.FOLD_SECONDS_MAX", 0.0):
        return graph.optimize(branch=branch, events=collect).commit


MAINTENANCE_KINDS = {
    "optimize": lambda graph: graph.optimize(events=collect).commit,
    "foreseeing_optimize": lambda graph: foreseeing(graph, "main"),
    "foreseeing_branch_optimize": lambda graph: foreseeing(graph, "review"),
    "branch_optimize": lambda graph: graph.optimize(branch="review", events=collect).commit,
    "cleanup": lambda graph: graph.cleanup(CleanupPolicy(keep_versions=1), confirm=True, events=collect),
}
"""Runs that change no row; an optimize is rolled forward from wherever it stopped, a cleanup is run again."""


def tidying_mutate(graph: omnigraph.Graph) -> object:
    """Fold the graph's own tables in this very write, as a writer does after many."""
    with patch.object(folding, "FOLDED_AT_ONCE", 2), patch.object(folding, "fragments_to_fold", tuple):
        return mutate(graph)


TIDYING_KINDS = {"tidying_mutation": tidying_mutate}
"""A write that many have gone before."""


def recover(graph: omnigraph.Graph) -> object:
    """Settle everything; on S3 the lease of a dead writer has to run out first."""
    result = graph.recover()
    deadline = clock.monotonic_seconds() + (30 if graph.uri.startswith("s3://") else 0)
    while result.in_use and clock.monotonic_seconds() < deadline:
        clock.sleep_seconds(0.2)
        result = graph.recover()
    if result.blocked or result.in_use:
        raise RecoveryRequired("not everything could be settled")
    return None


def main() -> None:
    uri, kind = sys.argv[1:3]
    graph = harbor.open_with_short_leases(uri)
    try:
        writers = {**KINDS, **BRANCH_KINDS, **EMBED_KINDS, **SCHEMA_KINDS, **MAINTENANCE_KINDS, **TIDYING_KINDS}
        commit = recover(graph) if kind == "recover" else writers[kind](graph)
    except (OmniError, OSError) as error:
        print(json.dumps({"ok": False, "error": getattr(error, "kind", "oserror"), "message": str(error)}))
    else:
        print(json.dumps({"ok": True, "commit": getattr(commit, "graph_commit_id", None), "warnings": WARNINGS}))


if __name__ == "__main__":
    main()
