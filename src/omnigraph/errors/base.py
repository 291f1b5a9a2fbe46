"""The base of every error a user can meet.

A class declares what is true of its kind (exit code, HTTP status, whether repeating may help); an instance carries
the message, the details that programs may rely on, and the effect: what already happened when it was raised.
"""

from enum import StrEnum
from typing import Any, ClassVar


class Retry(StrEnum):
    """Who may repeat the operation, and when."""

    NEVER = "never"
    AFTER_CHANGE = "after_change"
    AFTER_REREAD = "after_reread"
    LATER = "later"
    AFTER_RECOVERY = "after_recovery"


class Effect(StrEnum):
    """What was durable when the error was raised."""

    NONE = "none"
    PUBLISHED = "published"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, *commits: object) -> "Effect":
        """Return the effect of an operation that ended with these commits, None standing for no commit."""
        return cls.PUBLISHED if any(commit is not None for commit in commits) else cls.NONE


class OmniError(Exception):
    """Base of all errors raised on purpose; `str(error)` is the message for people."""

    kind: ClassVar[str] = "internal"
    http_status: ClassVar[int | None] = 500
    code: ClassVar[str | None] = "internal"
    exit_code: int = 1
    retry: Retry = Retry.NEVER
    default_effect: ClassVar[Effect] = Effect.NONE
    member: ClassVar[str | None] = None
    answered: dict[str, Any] | None = None
    """The document of the server that this error comes from, which is passed on as it is."""

    def __init__(self, message: str, *, effect: Effect | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details
        self.effect = effect or self.default_effect

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the constructor, whose arguments differ from class to class: errors travel from workers."""
        return _restored, (type(self), self.args, self.__dict__)

    @property
    def request_id(self) -> str | None:
        """What the server that raised the error calls the request in its log; None where no server did."""
        return None if self.answered is None else self.answered.get("request_id")

    def document(self) -> dict[str, Any]:
        """Return the error document that HTTP bodies and `--json` failures share."""
        if self.answered is not None:
            return self.answered
        document: dict[str, Any] = {"error": self.message, "kind": self.kind}
        if self.code is not None:
            document["code"] = self.code
        if self.details:
            document[self.member or self.kind] = self.details
        return document


def _restored(cls: type[OmniError], args: tuple[Any, ...], state: dict[str, Any]) -> OmniError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class Internal(OmniError):
    """A broken belief about our own state, or an unexpected exception at the outermost boundary."""

    kind = "internal"


class Io(OmniError):
    """A local file could not be read or written; names the path."""

    kind = "io"


class StorageError(OmniError):
    """The store answered with something that is not about graphs; `storage_kind` says what it was."""

    kind = "storage"

    def __init__(self, message: str, *, storage_kind: str, uri: str, effect: Effect | None = None) -> None:
        super().__init__(message, effect=effect, storage_kind=storage_kind, uri=uri)
        if self.is_transient:
            self.exit_code = 8
            self.retry = Retry.LATER

    @property
    def is_transient(self) -> bool:
        """Whether the cause may pass by itself; says nothing about whether repeating is safe."""
        return bool(self.details["storage_kind"] == "transient")
