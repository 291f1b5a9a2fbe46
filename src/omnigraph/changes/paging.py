"""How much of a diff or feed travels at once."""

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.changes.entities import EntityChange
from omnigraph.changes.position import Position
from omnigraph.errors import ResourceLimit

CHANGES_MAX = 8_192
BYTES_MAX = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """How much one page holds; a single change above the byte limit comes alone."""

    changes: int = 1_000
    size_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        """Refuse what no page may be."""
        check_limit("change_page_changes", self.changes, CHANGES_MAX)
        check_limit("change_page_bytes", self.size_bytes, BYTES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSlice:
    """Some changes in order, and where the rest begins; None when there is no rest."""

    changes: tuple[EntityChange, ...]
    position: Position | None

    @property
    def size_bytes(self) -> int:
        """How much of a page the changes take."""
        return sum(change.size_bytes for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChangePage(Shown):
    """Some changes in order; without a token these were the last."""

    changes: tuple[EntityChange, ...]
    next_page_token: str | None


def check_limit(resource: str, asked: int, most: int) -> None:
    """Raise `ResourceLimit` for a limit outside of 1 to `most`."""
    if not 1 <= asked <= most:
        raise ResourceLimit(
            f"{resource} is {asked}; it must be between 1 and {most}.", resource=resource, limit=most, actual=asked
        )
