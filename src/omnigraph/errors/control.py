"""Failures whose findings a result document carries: the control plane, and this machine."""

from omnigraph.errors.base import OmniError


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
