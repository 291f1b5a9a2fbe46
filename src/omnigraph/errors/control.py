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
