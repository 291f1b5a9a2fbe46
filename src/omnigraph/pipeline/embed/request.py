"""What embedding may be asked for: over a graph's rows, or over load files."""

from collections.abc import Callable
from pathlib import Path

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import Usage
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.pipeline.embed.result import EmbedMode
from omnigraph.pipeline.embed.spec import EmbedSpec
from omnigraph.providers.config import EmbedConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """One run over a graph's rows, whoever asks for it."""

    config: EmbedConfig
    types: tuple[str, ...] = ()
    """Node types; none means all of them."""
    branch: str = MAIN_BRANCH
    reembed_all: bool = False
    """Whether vectors that exist are made again."""
    actor: str | None = None
    message: str | None = None
    engine: EngineChoice = EngineChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedFilesRequest:
    """One run over load files."""

    input: str | Path
    output: str | Path
    spec: EmbedSpec
    config: Callable[[], EmbedConfig]
    """Asked only when a record needs a vector."""
    reembed_all: bool = False
    clean: bool = False
    types: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    engine: EngineChoice = EngineChoice()

    @property
    def mode(self) -> EmbedMode:
        """Which records get a vector, or lose it."""
        if self.reembed_all and self.clean:
            raise Usage("--reembed-all and --clean exclude each other.", flag="--clean")
        if self.clean:
            return EmbedMode.CLEAN
        if self.reembed_all:
            return EmbedMode.REEMBED_ALL
        return EmbedMode.REEMBED_SELECTED if self.select else EmbedMode.FILL_MISSING
