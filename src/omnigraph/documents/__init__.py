"""Results as JSON documents: the form in which programs get them, whoever asked and over whichever door.

Keys stand in the order of the documented contract. Nothing here knows a command line or prints; text for people is made
elsewhere. Names are found on first use, and a module is imported when its document is made.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.documents.answers import Answer, explanation_document, query_document
    from omnigraph.documents.blobs import ShownBlob, blob_document
    from omnigraph.documents.branches import (
        branches_document,
        conflicts_document,
        created_branch_document,
        deleted_branch_document,
        merge_document,
    )
    from omnigraph.documents.changes import (
        changes_document,
        commit_changes_document,
        diff_counts_document,
        diff_document,
        feed_document,
        feed_page_document,
    )
    from omnigraph.documents.cluster import (
        applied_cluster_document,
        approval_document,
        checked_queries_document,
        cluster_plan_document,
        cluster_status_document,
        cluster_validation_document,
        observed_cluster_document,
        removed_lock_document,
        stored_queries_document,
    )
    from omnigraph.documents.commits import ShownCommits, commit_document, commits_document, one_commit_document
    from omnigraph.documents.data import (
        baseline_document,
        embed_document,
        export_document,
        init_document,
        load_document,
        mutation_document,
        snapshot_document,
    )
    from omnigraph.documents.health import health_document
    from omnigraph.documents.linting import Linted, lint_document
    from omnigraph.documents.maintenance import (
        cleanup_document,
        maintain_document,
        maintain_journal_document,
        optimize_document,
        optimize_runs_document,
        repair_document,
        verify_document,
    )
    from omnigraph.documents.policies import (
        ExplainedDecision,
        LookedAtBundle,
        bundles_document,
        decision_document,
        policy_tests_document,
    )
    from omnigraph.documents.recovery import Recoveries, pending_document, recoveries_document, sweep_document
    from omnigraph.documents.rows import answers_document, rows_document
    from omnigraph.documents.schema import applied_schema_document, schema_document, schema_plan_document

_HOMES = {
    "answers": ("Answer", "explanation_document", "query_document"),
    "blobs": ("ShownBlob", "blob_document"),
    "branches": (
        "branches_document",
        "conflicts_document",
        "created_branch_document",
        "deleted_branch_document",
        "merge_document",
    ),
    "changes": (
        "changes_document",
        "commit_changes_document",
        "diff_counts_document",
        "diff_document",
        "feed_document",
        "feed_page_document",
    ),
    "cluster": (
        "applied_cluster_document",
        "approval_document",
        "checked_queries_document",
        "cluster_plan_document",
        "cluster_status_document",
        "cluster_validation_document",
        "observed_cluster_document",
        "removed_lock_document",
        "stored_queries_document",
    ),
    "commits": ("ShownCommits", "commit_document", "commits_document", "one_commit_document"),
    "data": (
        "baseline_document",
        "embed_document",
        "export_document",
        "init_document",
        "load_document",
        "mutation_document",
        "snapshot_document",
    ),
    "health": ("health_document",),
    "linting": ("Linted", "lint_document"),
    "maintenance": (
        "cleanup_document",
        "maintain_document",
        "maintain_journal_document",
        "optimize_document",
        "optimize_runs_document",
        "repair_document",
        "verify_document",
    ),
    "policies": (
        "ExplainedDecision",
        "LookedAtBundle",
        "bundles_document",
        "decision_document",
        "policy_tests_document",
    ),
    "recovery": ("Recoveries", "pending_document", "recoveries_document", "sweep_document"),
    "rows": ("answers_document", "rows_document"),
    "schema": ("applied_schema_document", "schema_document", "schema_plan_document"),
}
_HOME_BY_NAME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "ExplainedDecision",
    "Linted",
    "LookedAtBundle",
    "Recoveries",
    "ShownBlob",
    "ShownCommits",
    "answers_document",
    "applied_cluster_document",
    "applied_schema_document",
    "approval_document",
    "baseline_document",
    "blob_document",
    "branches_document",
    "bundles_document",
    "changes_document",
    "checked_queries_document",
    "cleanup_document",
    "cluster_plan_document",
    "cluster_status_document",
    "cluster_validation_document",
    "commit_changes_document",
    "commit_document",
    "commits_document",
    "conflicts_document",
    "created_branch_document",
    "decision_document",
    "deleted_branch_document",
    "diff_counts_document",
    "diff_document",
    "embed_document",
    "explanation_document",
    "export_document",
    "feed_document",
    "feed_page_document",
    "health_document",
    "init_document",
    "lint_document",
    "load_document",
    "maintain_document",
    "maintain_journal_document",
    "merge_document",
    "mutation_document",
    "observed_cluster_document",
    "one_commit_document",
    "optimize_document",
    "optimize_runs_document",
    "pending_document",
    "policy_tests_document",
    "query_document",
    "recoveries_document",
    "removed_lock_document",
    "repair_document",
    "rows_document",
    "schema_document",
    "schema_plan_document",
    "snapshot_document",
    "stored_queries_document",
    "sweep_document",
    "verify_document",
]


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise take any misspelled name for a document.

    def __getattr__(name: str) -> Any:
        if name not in _HOME_BY_NAME:
            raise AttributeError(f"module 'omnigraph.documents' has no attribute {name!r}")
        # A command names its document whether or not somebody asked for JSON; what makes it comes with the first call.
        return partial(_make, name) if name.endswith("_document") else _found(name)


def _make(name: str, *results: Any, **facts: Any) -> Any:
    return _found(name)(*results, **facts)


def _found(name: str) -> Any:
    return getattr(import_module(f"omnigraph.documents.{_HOME_BY_NAME[name]}"), name)
