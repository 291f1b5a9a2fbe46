"""What the control plane finds, as values: a code for programs, a place, and a sentence for people.

Every code that a cluster command can report stands in `DiagnosticCode`, so that a test can ask for each of them.
"""

from collections.abc import Iterable
from enum import StrEnum

from omnigraph.base.values import Json, dataclass
from omnigraph.errors import ClusterDiagnostics


class DiagnosticSeverity(StrEnum):
    """Whether a finding makes a command fail."""

    ERROR = "error"
    WARNING = "warning"


class DiagnosticCode(StrEnum):
    """The codes of findings; programs match on them."""

    CONFIG_DIR_NOT_FOUND = "config_dir_not_found"
    CLUSTER_CONFIG_READ_ERROR = "cluster_config_read_error"
    INVALID_CLUSTER_YAML = "invalid_cluster_yaml"
    DUPLICATE_YAML_KEY = "duplicate_yaml_key"
    FUTURE_PHASE_FIELD = "future_phase_field"
    UNSUPPORTED_CLUSTER_CONFIG_VERSION = "unsupported_cluster_config_version"
    EMPTY_METADATA_NAME = "empty_metadata_name"
    UNSUPPORTED_STATE_BACKEND = "unsupported_state_backend"
    INVALID_STORAGE_ROOT = "invalid_storage_root"
    STORAGE_ROOT_INVALID = "storage_root_invalid"
    INVALID_RESOURCE_ID = "invalid_resource_id"
    SCHEMA_FILE_MISSING = "schema_file_missing"
    SCHEMA_PARSE_ERROR = "schema_parse_error"
    SCHEMA_CATALOG_ERROR = "schema_catalog_error"
    QUERY_DIR_UNREADABLE = "query_dir_unreadable"
    QUERY_DIR_EMPTY = "query_dir_empty"
    QUERY_FILE_MISSING = "query_file_missing"
    QUERY_PARSE_ERROR = "query_parse_error"
    DUPLICATE_QUERY_NAME = "duplicate_query_name"
    QUERY_KEY_MISMATCH = "query_key_mismatch"
    QUERY_TYPECHECK_ERROR = "query_typecheck_error"
    QUERY_TYPECHECK_SKIPPED = "query_typecheck_skipped"
    POLICY_FILE_MISSING = "policy_file_missing"
    POLICY_INVALID = "policy_invalid"
    POLICY_MISSING_APPLIES_TO = "policy_missing_applies_to"
    POLICY_MIXED_BINDING_KINDS = "policy_mixed_binding_kinds"
    DUPLICATE_POLICY_BINDING = "duplicate_policy_binding"
    DANGLING_GRAPH_REFERENCE = "dangling_graph_reference"
    DANGLING_EMBEDDING_PROVIDER_REFERENCE = "dangling_embedding_provider_reference"
    WRONG_KIND_REFERENCE = "wrong_kind_reference"
    INVALID_EMBEDDING_PROVIDER = "invalid_embedding_provider"
    EMBEDDING_API_KEY_INLINE = "embedding_api_key_inline"
    EMBEDDING_API_KEY_REQUIRED = "embedding_api_key_required"
    INVALID_EXTERNAL_BLOB_BASE = "invalid_external_blob_base"
    INVALID_EXTERNAL_BLOB_POLICY = "invalid_external_blob_policy"
    EXTERNAL_BLOB_INGRESS_DEFAULT_DENY = "external_blob_ingress_default_deny"
    INVALID_MAINTENANCE_SETTINGS = "invalid_maintenance_settings"

    STATE_MISSING = "state_missing"
    STATE_ALREADY_EXISTS = "state_already_exists"
    STATE_READ_ERROR = "state_read_error"
    STATE_WRITE_ERROR = "state_write_error"
    STATE_CAS_MISMATCH = "state_cas_mismatch"
    INVALID_STATE_JSON = "invalid_state_json"
    UNSUPPORTED_STATE_VERSION = "unsupported_state_version"
    CONFLICTING_GRAPH_MANIFEST_OBSERVATION = "conflicting_graph_manifest_observation"
    STATE_LOCK_HELD = "state_lock_held"
    STATE_LOCK_ERROR = "state_lock_error"
    STATE_LOCK_READ_ERROR = "state_lock_read_error"
    STATE_LOCK_MISSING = "state_lock_missing"
    STATE_LOCK_ID_MISMATCH = "state_lock_id_mismatch"
    INVALID_STATE_LOCK = "invalid_state_lock"
    UNSUPPORTED_STATE_LOCK_VERSION = "unsupported_state_lock_version"
    STATE_LOCK_DISABLED = "state_lock_disabled"
    STORAGE_CONDITIONAL_WRITES_UNSUPPORTED = "storage_conditional_writes_unsupported"

    SCHEMA_PREVIEW_UNAVAILABLE = "schema_preview_unavailable"
    RESOURCE_CONTENT_CHANGED = "resource_content_changed"
    RESOURCE_PAYLOAD_WRITE_ERROR = "resource_payload_write_error"
    GRAPH_CREATE_FAILED = "graph_create_failed"
    GRAPH_CREATE_SKIPPED = "graph_create_skipped"
    SCHEMA_APPLY_FAILED = "schema_apply_failed"
    SCHEMA_APPLY_SKIPPED = "schema_apply_skipped"
    GRAPH_DELETE_FAILED = "graph_delete_failed"
    GRAPH_DELETE_SKIPPED = "graph_delete_skipped"
    APPLY_UNSUPPORTED_CHANGE = "apply_unsupported_change"
    APPLY_DEPENDENCY_BLOCKED = "apply_dependency_blocked"
    APPLY_APPROVAL_INVARIANT_VIOLATION = "apply_approval_invariant_violation"
    RECOVERY_SIDECAR_CLEANUP_FAILED = "recovery_sidecar_cleanup_failed"

    APPROVAL_NOT_REQUIRED = "approval_not_required"
    APPROVAL_STALE = "approval_stale"
    APPROVAL_WRITE_ERROR = "approval_write_error"
    APPROVAL_READ_ERROR = "approval_read_error"
    INVALID_APPROVAL_ARTIFACT = "invalid_approval_artifact"
    UNSUPPORTED_APPROVAL_VERSION = "unsupported_approval_version"

    CLUSTER_RECOVERY_PENDING = "cluster_recovery_pending"
    CLUSTER_RECOVERY_ROLLED_FORWARD = "cluster_recovery_rolled_forward"
    GRAPH_CREATE_INCOMPLETE = "graph_create_incomplete"
    GRAPH_DELETE_INCOMPLETE = "graph_delete_incomplete"
    RECOVERY_SIDECAR_WRITE_ERROR = "recovery_sidecar_write_error"
    RECOVERY_SIDECAR_READ_ERROR = "recovery_sidecar_read_error"
    INVALID_RECOVERY_SIDECAR = "invalid_recovery_sidecar"
    UNSUPPORTED_RECOVERY_SIDECAR_VERSION = "unsupported_recovery_sidecar_version"
    CATALOG_PAYLOAD_MISSING = "catalog_payload_missing"
    CATALOG_PAYLOAD_MISMATCH = "catalog_payload_mismatch"
    CATALOG_PAYLOAD_READ_ERROR = "catalog_payload_read_error"
    GRAPH_OBSERVATION_ERROR = "graph_observation_error"
    EXTERNAL_BLOB_POLICY_DIGEST_MISMATCH = "external_blob_policy_digest_mismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding; `path` is a key of the config, an address, or a stored file."""

    code: str
    severity: DiagnosticSeverity
    path: str
    message: str

    def document(self) -> dict[str, Json]:
        """Spell the finding as JSON."""
        return {"code": str(self.code), "severity": self.severity.value, "path": self.path, "message": self.message}


class Diagnostics:
    """The findings of one run, in the order in which they were made."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def error(self, code: DiagnosticCode, path: str, message: str) -> None:
        """Add a finding that makes the command fail."""
        self._found.append(Diagnostic(code=code, severity=DiagnosticSeverity.ERROR, path=path, message=message))

    def warn(self, code: DiagnosticCode, path: str, message: str) -> None:
        """Add a finding that the command goes on with."""
        self._found.append(Diagnostic(code=code, severity=DiagnosticSeverity.WARNING, path=path, message=message))

    def extend(self, found: Iterable[Diagnostic]) -> None:
        """Add what somebody else found."""
        self._found.extend(found)

    @property
    def has_errors(self) -> bool:
        """Whether the command fails."""
        return any(found.severity is DiagnosticSeverity.ERROR for found in self._found)

    def all(self) -> tuple[Diagnostic, ...]:
        """Return what was found so far."""
        return tuple(self._found)


class Refused(ClusterDiagnostics):
    """A control object cannot be used; it carries the one finding that says why."""

    def __init__(self, code: DiagnosticCode, path: str, message: str) -> None:
        self.diagnostic = Diagnostic(code=code, severity=DiagnosticSeverity.ERROR, path=path, message=message)
        super().__init__(message, diagnostics=[self.diagnostic.document()])
