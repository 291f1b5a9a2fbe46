"""What verifying may be asked for."""

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import InvalidTarget
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """One run, whoever asks for it."""

    deep: bool = False
    """Whether every byte is read."""
    branch: str | None = None
    all_branches: bool = False
    engine: EngineChoice = EngineChoice()

    def branches(self, context: GraphContext) -> list[str]:
        """Return the branches to look at, by default only `main`."""
        if self.branch is not None and self.all_branches:
            raise InvalidTarget("branch names one branch and all_branches means all of them; choose one.")
        return [MAIN_BRANCH, *context.manifest.branch_names()] if self.all_branches else [self.branch or MAIN_BRANCH]
