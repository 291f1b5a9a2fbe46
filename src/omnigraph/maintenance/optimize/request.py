"""What a caller may ask of `optimize`; the defaults need no thought."""

from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineChoice
from omnigraph.errors import Usage
from omnigraph.manifest.commits import MAIN_BRANCH, check_message

CONCURRENCY_VARIABLE = "OMNIGRAPH_MAINTENANCE_CONCURRENCY"
_CONCURRENCY_DEFAULT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeRequest:
    """How far a run goes and what it aims at, whoever asks for it."""

    branch: str = MAIN_BRANCH
    target_rows: int = 1 << 20
    """Live rows of a full fragment."""
    max_bytes_per_file: int = 1 << 30
    """Bytes of a full fragment, whatever its rows."""
    deleted_ratio: float = 0.10
    """A fragment with a larger share of deleted rows is rewritten even when it is large."""
    tables: tuple[str, ...] = ()
    """Table keys that the run is limited to; none means all of them."""
    reindex: bool = True
    verify: bool = False
    max_seconds: float | None = None
    max_bytes: int | None = None
    max_memory: int = 1 << 30
    """Bytes that one worker may use for the rows it rewrites."""
    dry_run: bool = False
    message: str | None = None
    """What the commit is to say about itself."""
    wait_seconds: float = 0.0
    engine: EngineChoice = EngineChoice()

    def check(self) -> None:
        """Raise `Usage` for a value that could not work."""
        check_message(self.message)
        if self.target_rows < 1:
            raise Usage("--target-rows must be at least 1.", flag="--target-rows")
        if self.max_bytes_per_file < 1:
            raise Usage("--max-bytes-per-file must be at least 1.", flag="--max-bytes-per-file")
        if not 0 <= self.deleted_ratio <= 1:
            raise Usage("--deleted-ratio is a share between 0 and 1.", flag="--deleted-ratio")
        if self.max_seconds is not None and not self.max_seconds >= 0:  # that way a NaN is refused as well
            raise Usage(f"--max-seconds is {self.max_seconds:g}; it must be 0 or more.", flag="--max-seconds")
        if self.max_bytes is not None and self.max_bytes < 0:
            raise Usage(f"--max-bytes is {self.max_bytes}; it must be 0 or more.", flag="--max-bytes")
        if self.max_memory < 1 << 20:
            raise Usage("--max-memory must be at least 1MiB.", flag="--max-memory")


def concurrency_from(environ: Mapping[str, str]) -> int:
    """Read how many tables may be in flight at once."""
    text = (environ.get(CONCURRENCY_VARIABLE) or "").strip()
    if not text:
        return _CONCURRENCY_DEFAULT
    if not text.isdecimal() or int(text) < 1:
        raise Usage(f"${CONCURRENCY_VARIABLE} is `{text}`; it must be a whole number of at least 1.")
    return int(text)
