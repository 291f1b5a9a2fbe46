"""Failures that lie in the request: an invocation, a schema, a record or a constraint that must change first."""

from omnigraph.errors.base import OmniError, Retry


class RequestError(OmniError):
    """The same request gets the same answer."""

    http_status = 400
    code = "bad_request"


class Usage(RequestError):
    """Words or flags of the command line do not fit together."""

    kind = "usage"
    exit_code = 2


class Addressing(RequestError):
    """A flag addresses something the command does not work on, or nothing was addressed."""

    kind = "addressing"
    exit_code = 2


class OperatorConfig(RequestError):
    """The operator's configuration file cannot be used; names the path."""

    kind = "operator_config"
    exit_code = 2


class CredentialsPermissions(RequestError):
    """The file of tokens is open to others than its owner; names the path and its mode."""

    kind = "credentials_permissions"


class NotConfirmed(RequestError):
    """A destructive command on a non-local target lacks consent; nothing was done."""

    kind = "not_confirmed"
    exit_code = 3
    retry = Retry.AFTER_CHANGE


class EngineUnavailable(RequestError):
    """The chosen engine cannot run here; the message says what is missing and how to get it."""

    kind = "engine_unavailable"
    retry = Retry.AFTER_CHANGE


class SparkJobFailed(OmniError):
    """A job on the Spark engine failed or was lost; nothing was committed."""

    kind = "spark_job_failed"
    retry = Retry.LATER


class MissingPackage(RequestError):
    """An optional package is not installed; details have `package` and the `extra` of omnigraph that brings it."""

    kind = "missing_package"
    retry = Retry.AFTER_CHANGE


class QueryFailed(RequestError):
    """A SQL query over a snapshot cannot be answered; the message is that of the database."""

    kind = "query_failed"


class ParseError(RequestError):
    """Schema or query text is wrong; the message shows the place, details have `source`, `line`, `column`, `span`."""

    kind = "parse_error"


class QueryTypeError(RequestError):
    """A query does not fit the schema; the message starts with its code (`T1` to `T31`) and shows the place."""

    kind = "type_error"


class ParamError(RequestError):
    """A parameter of a query is missing, unknown or of another type; details have `param` and the `expected` type."""

    kind = "param_error"


class QuerySelection(RequestError):
    """A text holds several queries, or none, and nobody said which one is meant; details have their `names`."""

    kind = "query_selection"
    exit_code = 2


class QueryNotFound(RequestError):
    """A text holds no query of that name; details have the `query` and the `names` that there are."""

    kind = "query_not_found"


class WrongVerb(RequestError):
    """A mutation was given to a read, or the reverse; details have the `query` and what it `actual`ly is."""

    kind = "wrong_verb"


class QueryExecution(RequestError):
    """A query fits the schema and cannot be carried out with these values; the message starts with `query:`."""

    kind = "query_execution"


class ExternalBlobDenied(RequestError):
    """A mutation assigns a reference to an external object, which this graph does not allow."""

    kind = "external_blob_denied"


class MixedMutation(RequestError):
    """One query inserts or updates and also deletes; run two queries, or use a branch and merge it."""

    kind = "mixed_mutation"
    retry = Retry.AFTER_CHANGE


class InvalidRecord(RequestError):
    """Records of a load are wrong; nothing was loaded."""

    kind = "invalid_record"


class ConstraintViolation(RequestError):
    """The state a write would produce breaks a declared rule; nothing was written."""

    kind = "constraint_violation"


class InvalidName(RequestError):
    """A branch, graph id, actor or message is misspelled, reserved, or no plain text."""

    kind = "invalid_name"
    exit_code = 2


class InvalidTarget(RequestError):
    """The target of a read or write contradicts itself."""

    kind = "invalid_target"


class UnsupportedSchemaChange(RequestError):
    """A schema change that cannot be applied to existing data; `rule` is its `OG-…` code."""

    kind = "unsupported_schema_change"
    retry = Retry.AFTER_CHANGE


class ResourceLimit(RequestError):
    """A request is larger than a limit; nothing durable happened."""

    kind = "resource_limit"
    http_status = 413
    retry = Retry.AFTER_CHANGE


class RangeNotSatisfiable(RequestError):
    """A range of bytes begins behind the end of a blob; details have `start`, `end` and the `length` of the value."""

    kind = "range_not_satisfiable"
    http_status = 416
    retry = Retry.AFTER_CHANGE
    member = "blob_range"
