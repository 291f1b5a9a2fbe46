"""What a caller may ask of `maintain`, and the graphs that it is about."""

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import Usage
from omnigraph.maintenance.maintain.settings import GraphSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainRequest:
    """How far one run over all of its graphs goes."""

    dry_run: bool = False
    full: bool = False
    """Whether graphs in which nothing happened since they were last found in order are looked at all the same."""
    max_seconds: float | None = None
    max_bytes: int | None = None
    """Bytes to rewrite, all graphs together."""
    workers: int = 1
    """How many graphs are worked on at a time."""
    engine: EngineChoice = EngineChoice()

    def check(self) -> None:
        """Raise `Usage` for a value that could not work."""
        if self.max_seconds is not None and not self.max_seconds >= 0:  # that way a NaN is refused as well
            raise Usage(f"--max-seconds is {self.max_seconds:g}; it must be 0 or more.", flag="--max-seconds")
        if self.max_bytes is not None and self.max_bytes < 0:
            raise Usage(f"--max-bytes is {self.max_bytes}; it must be 0 or more.", flag="--max-bytes")
        if self.workers < 1:
            raise Usage(f"--workers is {self.workers}; it must be at least 1.", flag="--workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainedGraph:
    """One graph that a run is about; `name` is its id in a cluster, or the name of its storage."""

    name: str
    uri: str
    settings: GraphSettings = GraphSettings()
