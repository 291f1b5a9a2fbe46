"""Things that are not there: graphs, branches, commits, versions that cleanup took."""

from typing import ClassVar

from omnigraph.errors.base import OmniError


class MissingError(OmniError):
    """Asked for something that does not exist."""

    http_status: ClassVar[int | None] = 404
    code: ClassVar[str | None] = "not_found"


class GraphNotFound(MissingError):
    """There is no `__manifest` at the address."""

    kind = "graph_not_found"


class SchemaContractMissing(MissingError):
    """`__manifest` exists but the schema objects it names do not."""

    kind = "schema_contract_missing"


class BranchNotFound(MissingError):
    """No live branch has this name."""

    kind = "branch_not_found"


class SnapshotNotFound(MissingError):
    """No graph version answers to this address."""

    kind = "snapshot_not_found"


class CommitNotFound(MissingError):
    """No log knows this commit."""

    kind = "commit_not_found"


class EntityNotFound(MissingError):
    """No type, entity or value answers to this selector."""

    kind = "entity_not_found"


class HistoricalVersionReclaimed(MissingError):
    """Cleanup removed a version that this read needs."""

    kind = "version_reclaimed"
    http_status = 410
    code = None


class GraphNotApplied(MissingError):
    """The cluster's ledger does not have this graph; details have `graph_id` and `applied`."""

    kind = "graph_not_applied"
    http_status = None
    code = None


class ClusterStateMissing(MissingError):
    """The cluster has no ledger: nothing was ever applied."""

    kind = "cluster_state_missing"
    http_status = None
    code = None
