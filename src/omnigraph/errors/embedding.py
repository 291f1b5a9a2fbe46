"""Failures of embedding: a provider that is set up wrongly, and one that does not deliver."""

from omnigraph.errors.base import OmniError, Retry
from omnigraph.errors.requests import RequestError


class EmbeddingConfig(RequestError):
    """The embedding provider is unknown, lacks a key, or uses another model than the one the schema records."""

    kind = "embedding_config"


class EmbeddingProvider(OmniError):
    """The embedding provider failed after its own retries, or answered with something that is no vector."""

    kind = "embedding_provider"
    http_status = 502
    code = None
    exit_code = 8
    retry = Retry.LATER
