"""What an export may be asked for; the defaults need no thought."""

from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import InvalidTarget
from omnigraph.manifest.commits import MAIN_BRANCH


class ExportFormat(StrEnum):
    """What the files of an export are; how each is written stands in `parts.py`."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    LANCE = "lance"

    @classmethod
    def named(cls, word: str) -> "ExportFormat":
        """Read the word for a format."""
        try:
            return cls(word)
        except ValueError as error:
            raise InvalidTarget(f"{word!r} is not a format of exports; use {', '.join(cls)}.") from error


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
