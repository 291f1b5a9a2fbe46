"""Results as text for people: the same facts as the documents, in lines and grids."""

from typing import TYPE_CHECKING

from omnigraph.base.units import counted
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.catalog.migration import MigrationStep
    from omnigraph.evolution.plan import SchemaPlan
    from omnigraph.evolution.run import AppliedSchema
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.query.mutate.run import MutationResult


def load_text(result: "LoadResult") -> Text:
    """Say what was loaded, and whether anything changed."""
    kinds = [table.table_key.partition(":")[0] for table in result.tables]
    loaded = (
        f"{counted(result.total_rows, 'row')} across {counted(kinds.count('node'), 'node type')} and "
        f"{counted(kinds.count('edge'), 'edge type')}"
    )
    lines = [f"loaded {result.uri} on branch {result.branch} with {result.mode}: {loaded}"]
    if result.branch_created:
        lines.append(f"branch {result.branch} created from {result.base_branch}")
    lines.append(outcome_line(result.commit))
    return lines


def mutation_text(result: "MutationResult") -> Text:
    """Say how many entities a mutation affected, who made it, and whether anything changed."""
    counts = f"{counted(result.affected_nodes, 'node')}, {counted(result.affected_edges, 'edge')}"
    lines = [f"changed {result.branch} via {result.query_name}: {counts}"]
    if result.actor_id is not None:
        lines.append(f"actor_id: {result.actor_id}")
    return [*lines, outcome_line(result.commit)]


def outcome_line(commit: "Commit | None") -> str:
    """Say which commit a write made, under which graph version it can be read again."""
    if commit is None:
        return "nothing changed, so there is no new commit"
    return f"commit {commit.graph_commit_id} (graph version {commit.graph_version})"


def embed_text(result: "EmbedResult") -> Text:
    """Say how many records got a vector, and whether a graph changed."""
    extent = f"selected {result.selected_records}, cleaned {result.cleaned_records}"
    lines = [f"embedded {counted(result.embedded_records, 'record')} ({extent})"]
    if result.is_graph:
        lines.append(outcome_line(result.commit))
    return lines


def snapshot_text(snapshot: "Snapshot") -> Text:
    """Say which graph version it is and what each table holds."""
    tables = snapshot.tables
    return [
        f"branch: {snapshot.branch}",
        f"manifest_version: {snapshot.graph_version}",
        f"internal_schema_version: {snapshot.internal_schema_version}",
        Grid(
            columns=(
                TextColumn(title="table", is_whole=True),
                TextColumn(title="rows", justify="right"),
                TextColumn(title="version", justify="right"),
                TextColumn(title="branch"),
                TextColumn(title="path"),
            ),
            rows=tuple(
                (table.table_key, f"{table.row_count:,}", str(table.version), table.ref or "", table.location)
                for table in tables
            ),
        ),
    ]


def plan_text(plan: "SchemaPlan") -> Text:
    """Say whether the plan can be applied, then one line per step."""
    return [f"supported: {'yes' if plan.supported else 'no'}", *_step_lines(plan.steps)]


def applied_text(result: "AppliedSchema") -> Text:
    """Say what was done, step by step."""
    if not result.applied:
        return ["nothing to apply: the graph has this schema already, so there is no new commit"]
    count = len(result.steps)
    return [
        f"applied {count} {'step' if count == 1 else 'steps'} as graph version {result.graph_version}",
        *_step_lines(result.steps),
    ]


def _step_lines(steps: "tuple[MigrationStep, ...]") -> list[str]:
    from omnigraph.catalog.migration import describe_step

    return [f"- {describe_step(step)}" for step in steps] or ["- nothing to do"]
