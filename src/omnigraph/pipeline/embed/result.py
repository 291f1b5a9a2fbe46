"""What an embed run did, over files or over a graph."""

from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.manifest.commits import Commit, CommitResult


class EmbedMode(StrEnum):
    """Which of the selected records get a new vector, or lose theirs."""

    FILL_MISSING = "fill_missing"
    REEMBED_SELECTED = "reembed_selected"
    REEMBED_ALL = "reembed_all"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EmbedResult(CommitResult):
    """Counts of one run; over a graph, records are the rows of the chosen types and the others count vectors."""

    input: str
    output: str
    records: int
    selected_records: int
    embedded_records: int
    cleaned_records: int
    mode: EmbedMode
    dimension: int | None
    """None when the vectors of the chosen types differ in width."""
    model: str
    engine: str
    engine_reason: str
    is_graph: bool = False
    commit: Commit | None = None
    """Over a graph: the commit, None when there was nothing to embed."""
