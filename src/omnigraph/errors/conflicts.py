"""Conflicts with the current state of a graph.

StateConflict                    409, exit 5, nothing was written
  StaleView                      somebody published between capture and publish
    ReadSetConflict              … and moved the head, the schema or the branch
    ManifestConflict             … and moved one table's pin
  DriftNeedsRepair, KeyConflict, AlreadyInitialized, InitClaimed, …
PublishContended, BranchBusy, RecoveryRequired     503: a passing or pending condition
"""

from typing import Any, ClassVar

from omnigraph.errors.base import Effect, OmniError, Retry


class StateConflict(OmniError):
    """The request was fine; the graph is in another state than it expects."""

    http_status: ClassVar[int | None] = 409
    code: ClassVar[str | None] = "conflict"
    exit_code = 5


class StaleView(StateConflict):
    """The state that a strict write was prepared against has moved; read again and decide again."""

    retry = Retry.AFTER_REREAD


class ReadSetConflict(StaleView):
    """Head, schema or branch incarnation moved; details have `member`, `expected`, `actual`."""

    kind = "read_set_conflict"


class ManifestConflict(StaleView):
    """One table's pin moved; details have `table_key`, `expected`, `actual`."""

    kind = "manifest_conflict"


class DriftNeedsRepair(StateConflict):
    """A table's HEAD is ahead of its pin and no sidecar explains it."""

    kind = "drift_needs_repair"
    retry = Retry.AFTER_CHANGE


class KeyConflict(StateConflict):
    """A strict insert met an existing id; it never turns into an update."""

    kind = "key_conflict"


class PreconditionFailed(StateConflict):
    """The caller's expected head is not the head."""

    kind = "precondition_failed"
    http_status = 412
    code = None
    exit_code = 4
    retry = Retry.AFTER_REREAD
    member = "precondition_failure"


class StreamDiverged(StateConflict):
    """A stream brings other rows under the number of a batch that is written; details have `query_id`, `batch_id`."""

    kind = "stream_diverged"
    retry = Retry.AFTER_CHANGE


class MergeConflicts(StateConflict):
    """Both sides of a merge changed the same things, or together break a rule; lists what a person has to decide."""

    kind = "merge_conflicts"

    def document(self) -> dict[str, Any]:
        """Return the error document; the list and its total stand beside each other, not below one member."""
        return self.answered or {"error": self.message, "kind": self.kind, "code": self.code, **self.details}


class SchemaDiverged(StateConflict):
    """Two branches have different schemas and cannot be merged."""

    kind = "schema_diverged"


class NoCommonAncestor(StateConflict):
    """The histories of two branches share no commit."""

    kind = "no_common_ancestor"


class BranchExists(StateConflict):
    """A branch of this name is alive."""

    kind = "branch_exists"


class BranchNameOverlap(BranchExists):
    """A live branch's name lies inside the new one, or the new one inside it."""

    kind = "branch_name_overlap"


class BranchHasDependents(StateConflict):
    """Other branches were created from this one or still read its tables."""

    kind = "branch_has_dependents"


class AlreadyInitialized(StateConflict):
    """`init` found a graph, or parts of one, at its target."""

    kind = "already_initialized"


class InitClaimed(StateConflict):
    """Another `init` holds the claim."""

    kind = "init_claimed"
    retry = Retry.LATER


class InitIndeterminate(StateConflict):
    """The birth commit of a graph may or may not have landed; everything was left as it is."""

    kind = "init_indeterminate"
    exit_code = 1
    default_effect = Effect.UNKNOWN


class GraphTooNew(StateConflict):
    """The graph's internal schema stamp is higher than this program knows."""

    kind = "graph_too_new"
    exit_code = 1


class ClusterManaged(StateConflict):
    """The path belongs to a declared cluster; `cluster apply` owns it."""

    kind = "cluster_managed"
    exit_code = 1


class SchemaDrift(StateConflict):
    """The readable schema copy was edited and matches no accepted schema."""

    kind = "schema_drift"


class SchemaApplyBlocked(StateConflict):
    """Other branches are alive (`OG-NL-101`); details have `branches`."""

    kind = "schema_apply_blocked"
    retry = Retry.AFTER_CHANGE


class SchemaApplyLocked(StateConflict):
    """Another process is applying a schema (`OG-LK-101`)."""

    kind = "schema_apply_locked"
    retry = Retry.LATER


class PublishContended(StateConflict):
    """Publication lost every attempt."""

    kind = "publish_contended"
    http_status = 503
    code = None
    exit_code = 8
    retry = Retry.LATER


class BranchBusy(StateConflict):
    """Another process held the branch's write lock for too long."""

    kind = "branch_busy"
    http_status = 503
    code = None
    exit_code = 8
    retry = Retry.LATER


class RecoveryRequired(StateConflict):
    """An interrupted write overlaps this one and must be settled first."""

    kind = "recovery_required"
    http_status = 503
    code = None
    exit_code = 7
    retry = Retry.AFTER_RECOVERY


class GraphCorrupt(OmniError):
    """The contents of `__manifest` contradict themselves or the tables; names the rows."""

    kind = "graph_corrupt"


class TableReplaced(GraphCorrupt):
    """The directory of a table holds another one: swapped, copied in or of another graph; has `expected`, `found`."""

    kind = "table_replaced"


class TableDamaged(GraphCorrupt):
    """A table has lost files that its rows need, so that nothing is written to it; `files` lists them."""

    kind = "table_damaged"


class InitCommitted(OmniError):
    """The graph exists, but a step after its birth failed; inspect it, delete nothing."""

    kind = "init_committed"
    default_effect = Effect.PUBLISHED
