"""Losing a lock that was held."""

from omnigraph.errors import Effect, StorageError


class LeaseLost(StorageError):
    """The lease has run out, is about to, or is somebody else's: stop before the next effect.

    What was durable by then only the writer knows; it translates this error when it does.
    """

    def __init__(self, *, name: str, seconds_left: float, uri: str) -> None:
        state = f"has only {seconds_left:.1f} seconds left" if seconds_left > 0 else "has run out or was taken over"
        super().__init__(
            f"The lease on {name} {state}, too little to go on safely. "
            "Look at what is published before repeating the operation.",
            storage_kind="transient",
            uri=uri,
            effect=Effect.UNKNOWN,
        )
