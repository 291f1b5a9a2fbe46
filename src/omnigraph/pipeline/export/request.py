"""What an export may be asked for."""

from pathlib import Path
from typing import BinaryIO

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.pipeline.export.parts import ExportFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """One export, whoever asks for it."""

    out: str | Path | BinaryIO
    branch: str = MAIN_BRANCH
    snapshot: str | None = None
    """The address of an older state, which has a branch of its own."""
    types: tuple[str, ...] = ()
    format: ExportFormat = ExportFormat.JSONL
    overwrite: bool = False
    engine: EngineChoice = EngineChoice()
    """Whose workers write the files of a directory."""

    @property
    def address(self) -> str:
        """The state that is to be exported."""
        return self.branch if self.snapshot is None else self.snapshot
