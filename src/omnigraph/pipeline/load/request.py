"""What loads may be asked for; the defaults need no thought."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.manifest.commits import MAIN_BRANCH

LoadMode = Literal["overwrite", "append", "merge"]

if TYPE_CHECKING:
    from omnigraph.pipeline.load.inputs import HeldInput, TableInput
    from omnigraph.records.arrow_rows import ArrowRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """One load, whoever asks for it."""

    data: "str | Path | BinaryIO | ArrowRows | TableInput | HeldInput"
    """Where the input is, the rows themselves, or input that was found already."""
    mode: LoadMode
    type: str | None = None
    """The type of the rows; None for records, which say it themselves."""
    map: Mapping[str, str | None] = field(default_factory=dict)
    """What columns are called in the graph; None leaves one out."""
    branch: str = MAIN_BRANCH
    from_branch: str | None = None
    """What a branch that does not exist yet is created from."""
    actor: str | None = None
    message: str | None = None
    max_errors: int = 20
    engine: EngineChoice = EngineChoice()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLoadRequest:
    """One load of a frame that others compute, in processes of their own."""

    mode: LoadMode
    type: str | None = None
    """The type of the rows; None for a frame of whole records."""
    branch: str = MAIN_BRANCH
    actor: str | None = None
    message: str | None = None
    max_errors: int = 20
    newest_by: str | None = None
    """Of all records with one id, a merge takes the one in which this property is the greatest."""
    sets_aside: bool = False
    """Whether records that cannot be loaded are written down instead of rejecting the load."""
