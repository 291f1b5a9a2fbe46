"""What a verification found: problems in words for people, and what was looked at to find none."""

from collections.abc import Sequence
from enum import StrEnum

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass


class ProblemKind(StrEnum):
    """What is wrong, for programs."""

    FILE_LOST = "file_lost"
    """A file that some graph version needs is missing, or has another size than the table's manifest gives."""
    FILE_CHANGED = "file_changed"
    """The bytes of a file are not those that were written."""
    TABLE_REPLACED = "table_replaced"
    """A table is not the one that `__manifest` means."""
    TABLE_UNREADABLE = "table_unreadable"
    """A pinned state cannot be opened or read."""
    ROWS_DIFFER = "rows_differ"
    """A table has another number of rows than the graph recorded."""
    BRANCH_UNREADABLE = "branch_unreadable"
    """The manifest of a branch, or its schema, cannot be read."""
    LOG_INCOMPLETE = "log_incomplete"
    """The commit log and the graph versions do not agree."""
    INDEX_LOST = "index_lost"
    """Files of an index are missing; rows are not affected."""
    INDEX_WRONG = "index_wrong"
    """An index answers otherwise than a scan."""
    CONSTRAINT_BROKEN = "constraint_broken"
    """Stored rows break a declared rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    kind: ProblemKind
    message: str
    """What is wrong, and with what."""
    lost: str | None = None
    """What cannot be read because of it, and what still can."""
    remedy: str | None = None
    """What settles it, if anything can."""
    table_key: str | None = None
    branch: str | None = None
    """The branch that owns what is damaged; None for the main line and for what belongs to no branch."""
    versions: tuple[int, ...] = ()
    """The Lance versions of the table that are affected."""
    file: str | None = None
    """Relative to the graph's root."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VerifyReport(Shown):
    """The outcome of one verification."""

    uri: str
    deep: bool
    branches: tuple[str, ...]
    graph_versions: int
    """Graph versions whose states were looked at."""
    tables: int
    versions: int
    """Table versions that some graph version pins and that are there."""
    versions_reclaimed: int
    """Table versions that older graph versions pin and that cleanup has removed."""
    files: int
    bytes: int
    """Of these files."""
    bytes_read: int
    rows_read: int
    files_without_checksum: int
    """Files that could be read, but not compared byte for byte: who wrote them recorded no checksum."""
    engine: str
    duration_ms: int
    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def spell_numbers(numbers: Sequence[int]) -> str:
    """Spell ascending numbers with their gaps: `1-4, 7`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
