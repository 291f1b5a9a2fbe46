"""What a merge may be asked for."""

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.manifest.commits import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """One merge, whoever asks for it."""

    source: str
    into: str = MAIN_BRANCH
    delete_branch: bool = False
    """Whether the source goes once it is merged."""
    dry_run: bool = False
    message: str | None = None
    show_values: bool = False
    """Whether conflicts carry the entities."""
    actor: str | None = None
    engine: EngineChoice = EngineChoice()
    """Where large merges are worked out."""
