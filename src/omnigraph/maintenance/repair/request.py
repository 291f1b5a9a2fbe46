"""What a repair may be asked for, and how far its operator vouches for what is found."""

from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.errors import InvalidTarget

SAMPLES_SHOWN = 20


class Consent(StrEnum):
    """How far the operator vouches for what is found."""

    PREVIEW = "preview"
    VERIFIED = "verified"
    """Publish what provably changed no row."""
    ANYTHING = "anything"
    """Publish also what was reviewed by other means."""
    DISCARD = "discard"
    """Publish nothing of it: bring every drifted table back to its pin."""

    @classmethod
    def given(cls, *, confirm: bool, force: bool, discard: bool) -> "Consent":
        """Read the consent of a caller, who says it with up to two of three words."""
        if (force or discard) and not confirm:
            raise InvalidTarget("force and discard change what readers may see; pass confirm=True with them.")
        if force and discard:
            raise InvalidTarget("force publishes drift and discard takes it back; choose one.")
        if not confirm:
            return cls.PREVIEW
        return cls.DISCARD if discard else cls.ANYTHING if force else cls.VERIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """One repair, whoever asks for it."""

    consent: Consent = Consent.PREVIEW
    branch: str | None = None
    """The only branch to look at; without one, all of them."""
    tables: tuple[str, ...] = ()
    review_limit: int | None = None
    """With how many samples to say what publishing changes and which rules that breaks; None says neither."""
    message: str | None = None
    sample_limit: int = SAMPLES_SHOWN
    """How many samples to show where drift is published that nobody can vouch for."""
    wait_seconds: float = 0.0
