"""What a cleanup may be asked for."""

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.maintenance.cleanup.policy import CleanupPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRequest:
    """One cleanup, whoever asks for it."""

    policy: CleanupPolicy
    confirm: bool = False
    """Whether anything is removed; without it, a run says what would go."""
    wait_seconds: float = 0.0
    engine: EngineChoice = EngineChoice()
