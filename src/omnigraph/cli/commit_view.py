"""Commits as text, with who completed or undid what was interrupted."""

import json
from typing import TYPE_CHECKING

from omnigraph.base.clock import iso_from_us, timestamp_from_us
from omnigraph.base.units import counted
from omnigraph.cli.output import Grid, Text, TextColumn

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.documents.commits import ShownCommits
    from omnigraph.manifest.commits import Commit
    from omnigraph.writes.recovery.audit import RecoveryRecord


def commits_text(shown: "ShownCommits") -> Text:
    """List a history, one commit per line."""
    branches = {commit.graph_branch for commit in shown.commits}
    columns = {
        "commit": TextColumn(title="commit", is_whole=True),
        "version": TextColumn(title="version", justify="right", is_whole=True),
        "branch": TextColumn(title="branch"),
        "made": TextColumn(title="made at (UTC)", is_whole=True),
        "kind": TextColumn(title="kind"),
        "actor": TextColumn(title="actor"),
        "message": TextColumn(title="message"),
    }
    rows = [_cells(commit, shown.recovery(commit)) for commit in shown.commits]
    kept = [name for name in columns if _tells_something(name, rows, branches)]
    return [
        Grid(
            columns=tuple(columns[name] for name in kept),
            rows=tuple(tuple(row[name] for name in kept) for row in rows),
            plain=tuple(_line(commit, shown.recovery(commit)) for commit in shown.commits),
        )
    ]


def one_commit_text(shown: "ShownCommits") -> Text:
    """Show one commit, one fact per line; facts it does not have are left out."""
    (commit,) = shown.commits
    recovery = shown.recovery(commit)
    facts = {
        "commit": commit.graph_commit_id,
        "kind": commit.kind.value,
        "branch": commit.graph_branch,
        "version": str(commit.graph_version),
        "parent": commit.parent_commit_id,
        "merged parent": commit.merged_parent_commit_id,
        "actor": commit.actor_id,
        "made at": f"{iso_from_us(commit.created_at_us)} UTC",
        "message": commit.message,
        "recovered": None if recovery is None else _recovered(recovery),
        "gained": _gained(commit),
    }
    return [f"{name}: {value}" for name, value in facts.items() if value is not None]


def _cells(commit: "Commit", recovery: "RecoveryRecord | None") -> dict[str, str]:
    said = [commit.message, None if recovery is None else f"({_recovered(recovery)})"]
    return {
        "commit": commit.graph_commit_id,
        "version": str(commit.graph_version),
        "branch": commit.graph_branch,
        "made": iso_from_us(commit.created_at_us),
        "kind": commit.kind.value,
        "actor": commit.actor_id or "",
        "message": " ".join(filter(None, said)),
    }


def _tells_something(name: str, rows: list[dict[str, str]], branches: set[str]) -> bool:
    """Leave out the branch that all share, and what no commit has: ids and times need the width."""
    return len(branches) > 1 if name == "branch" else any(row[name] for row in rows)


def _line(commit: "Commit", recovery: "RecoveryRecord | None") -> str:
    facts = {
        "branch": commit.graph_branch,
        "version": commit.graph_version,
        "made": timestamp_from_us(commit.created_at_us),
        "actor": commit.actor_id,
        "recovered": None if recovery is None else timestamp_from_us(recovery.created_at_us),
        "recovered_by": None if recovery is None else _by(recovery),
        # Last, because it is the only one with spaces in it.
        "message": commit.message,
    }
    spelled = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
    return f"{commit.graph_commit_id} {commit.kind.value} {spelled}"


def _recovered(recovery: "RecoveryRecord") -> str:
    done = "undone" if recovery.recovery_kind == "rolled_back" else "completed"
    return f"{done} {iso_from_us(recovery.created_at_us)} UTC by {_by(recovery)}"


def _by(recovery: "RecoveryRecord") -> str:
    writer = json.loads(recovery.recovered_by)
    return f"{writer.get('host', '?')}:{writer.get('pid', '?')}"


def _gained(commit: "Commit") -> str | None:
    """Say what a maintenance run came to; None of any other commit."""
    if commit.kind.value != "maintenance" or "tables" not in commit.metadata:
        return None
    tables = commit.metadata["tables"].values()
    removed, added = (sum(table.get(key, 0) for table in tables) for key in ("fragments_removed", "fragments_added"))
    took = commit.metadata.get("duration_ms")
    return f"{removed} → {counted(added, 'fragment')}{'' if took is None else f', took {took / 1_000:.1f} s'}"
