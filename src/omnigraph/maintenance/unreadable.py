"""What cannot be read, as maintenance meets it: a fact about one table, never a reason to leave the others undone."""

from omnigraph.errors import OmniError, StorageError

UNREADABLE = (OmniError, OSError, ValueError, RuntimeError)
"""What reading a damaged file raises: translated errors of the store, and what parsers say about its content."""


def refuse_unreachable(error: BaseException) -> None:
    """Raise a failure that says nothing about the graph: a store that does not answer is not a damaged graph."""
    if isinstance(error, StorageError) and error.is_transient:
        raise error


def problem_of(message: str) -> str:
    """Spell a failure in one line without a full stop, to stand inside a message."""
    return (message.splitlines() or [""])[0].strip().rstrip(".") or "no reason given"
