"""Results as text for people: the same facts as the documents, in lines and grids."""

from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us
from omnigraph.cli.output import Column, Grid, Text

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.manifest.commits import Commit
    from omnigraph.pipeline.embed.result import EmbedResult
    from omnigraph.pipeline.load.run import LoadResult
    from omnigraph.reads.snapshot import Snapshot


def load_text(result: "LoadResult") -> Text:
    """Say what was loaded, and whether anything changed."""
    kinds = [table.table_key.partition(":")[0] for table in result.tables]
    loaded = f"{result.total_rows} rows across {kinds.count('node')} node types and {kinds.count('edge')} edge types"
    lines = [f"loaded {result.uri} on branch {result.branch} with {result.mode}: {loaded}"]
    if result.branch_created:
        lines.append(f"branch {result.branch} created from {result.base_branch}")
    if result.commit is None:
        lines.append("nothing changed, so there is no new commit")
    return lines


def embed_text(result: "EmbedResult") -> Text:
    """Say how many records got a vector, and whether a graph changed."""
    extent = f"selected {result.selected_records}, cleaned {result.cleaned_records}"
    lines = [f"embedded {result.embedded_records} records ({extent})"]
    if result.is_graph and result.commit is None:
        lines.append("nothing changed, so there is no new commit")
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
                Column(title="table"),
                Column(title="rows", justify="right"),
                Column(title="version", justify="right"),
                Column(title="branch"),
                Column(title="path"),
            ),
            rows=tuple(
                (table.table_key, f"{table.row_count:,}", str(table.version), table.ref or "", table.location)
                for table in tables
            ),
            plain=tuple(
                f"{table.table_key} rows={table.row_count} version={table.version}"
                f"{f' branch={table.ref}' if table.ref else ''} path={table.location}"
                for table in tables
            ),
        ),
    ]


def commits_text(commits: "list[Commit]") -> Text:
    """List a history, one commit per line."""
    grid = Grid(
        columns=(
            Column(title="commit"),
            Column(title="kind"),
            Column(title="branch"),
            Column(title="version", justify="right"),
            Column(title="actor"),
            Column(title="made at (UTC)"),
        ),
        rows=tuple(
            (
                commit.graph_commit_id,
                commit.kind.value,
                commit.graph_branch,
                str(commit.graph_version),
                commit.actor_id or "",
                iso_from_us(commit.created_at_us),
            )
            for commit in commits
        ),
        plain=tuple(_commit_line(commit) for commit in commits),
    )
    return [grid]


def commit_text(commit: "Commit") -> Text:
    """Show one commit, one fact per line; facts it does not have are left out."""
    facts = {
        "commit": commit.graph_commit_id,
        "kind": commit.kind.value,
        "branch": commit.graph_branch,
        "version": str(commit.graph_version),
        "parent": commit.parent_commit_id,
        "merged parent": commit.merged_parent_commit_id,
        "actor": commit.actor_id,
        "made at": f"{iso_from_us(commit.created_at_us)} UTC",
        "message": commit.metadata.get("message"),
        "gained": _gained(commit),
    }
    return [f"{name}: {value}" for name, value in facts.items() if value is not None]


def _commit_line(commit: "Commit") -> str:
    actor = f" actor={commit.actor_id}" if commit.actor_id else ""
    return (
        f"{commit.graph_commit_id} {commit.kind.value} branch={commit.graph_branch} "
        f"version={commit.graph_version}{actor}"
    )


def _gained(commit: "Commit") -> str | None:
    """Say what a maintenance run came to; None of any other commit."""
    if commit.kind.value != "maintenance" or "tables" not in commit.metadata:
        return None
    tables = commit.metadata["tables"].values()
    removed, added = (sum(table.get(key, 0) for table in tables) for key in ("fragments_removed", "fragments_added"))
    took = commit.metadata.get("duration_ms")
    return f"{removed} → {added} fragments{'' if took is None else f', took {took / 1_000:.1f} s'}"
