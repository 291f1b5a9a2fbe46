"""Failures whose findings a printed document carries: of maintenance, the control plane, queries and this machine."""

from omnigraph.errors.base import OmniError, Retry


class MaintenanceLocked(OmniError):
    """Another maintenance run holds the graph; `holder` and `since` say who and since when."""

    kind = "maintenance_locked"
    http_status = 503
    code = None
    exit_code = 8
    retry = Retry.LATER


class MaintenanceContention(OmniError):
    """An internal table lost every rebase against live writers; what the data tables published stands."""

    kind = "maintenance_contention"
    http_status = None
    code = None
    exit_code = 5
    retry = Retry.LATER


class OptimizePartial(OmniError):
    """Some tables failed and nothing of them was published; the rest was."""

    kind = "optimize_partial"
    http_status = None
    code = None


class MaintainFailed(OmniError):
    """Some graphs could not be maintained as planned; what was done stands, and the next run tries again."""

    kind = "maintain_failed"
    http_status = None
    code = None


class NeedsPerson(OmniError):
    """Some graphs have something that no maintenance settles by itself; the document has the command for each."""

    kind = "needs_person"
    http_status = None
    code = None
    exit_code = 10


class RepairRefused(OmniError):
    """Some drift was not published because nobody has vouched for it."""

    kind = "repair_refused"
    http_status = None
    code = None


class CleanupPartial(OmniError):
    """Some tables could not be cleaned; the rest was."""

    kind = "cleanup_partial"
    http_status = None
    code = None


class ClusterDiagnostics(OmniError):
    """A cluster's files cannot be used; `diagnostics` lists code, severity, path and message of each finding."""

    kind = "cluster_diagnostics"
    http_status = None
    code = None


class DoctorFailed(OmniError):
    """Some check of this machine is an error."""

    kind = "doctor_failed"
    http_status = None
    code = None


class LintFailed(OmniError):
    """Some query does not parse or does not fit the schema; the result lists each with its code."""

    kind = "lint_failed"
    http_status = None
    code = None


class PolicyTestsFailed(OmniError):
    """Some case of a file of policy tests got another decision than it expects; the result lists them all."""

    kind = "policy_tests_failed"
    http_status = None
    code = None


class QueriesInvalid(OmniError):
    """Some stored query of a cluster does not fit the schema of its graph; the result lists each."""

    kind = "queries_invalid"
    http_status = None
    code = None
