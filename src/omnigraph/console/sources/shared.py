"""What both kinds of sources do alike."""

from collections.abc import Iterable

from omnigraph.base.ids import is_ulid
from omnigraph.errors import InvalidTarget
from omnigraph.manifest.commits import MAIN_BRANCH


def selection(at: str) -> tuple[str | None, str | None]:
    """Return how queries are told a state, as a branch and a snapshot, one of which is None."""
    return (None, at) if is_ulid(at) else (at, None)


def main_first(branches: Iterable[str]) -> list[str]:
    """Sort names of branches as pages list them."""
    return sorted(branches, key=lambda name: (name != MAIN_BRANCH, name))


def refuse_read_only(*, is_read_only: bool) -> None:
    """Refuse to change anything from a console that was opened for looking."""
    if is_read_only:
        raise InvalidTarget("This console was opened with --read-only: it changes nothing.")
