"""Which trace the work of this moment belongs to, for calls that leave the process on its behalf."""

from contextvars import ContextVar

trace_parent: ContextVar[str | None] = ContextVar("omnigraph.trace_parent", default=None)
"""A `traceparent` as the W3C has it, checked by who sets it; threads that work for somebody else copy the context."""
