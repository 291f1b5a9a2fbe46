"""One row while it is being made: what went so far, what stays and why, and what failed on the way."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from omnigraph.base.events import Events, Warned
from omnigraph.maintenance.cleanup.report import CleanupRow
from omnigraph.maintenance.unreadable import UNREADABLE
from omnigraph.storage.retention import Removal


class Tally:
    """Counts for one row. A step that fails is written down and warned about, and the next one is tried."""

    def __init__(
        self, table_key: str, *, branch: str | None = None, dropped: bool = False, executes: bool, events: Events
    ) -> None:
        self._about = CleanupRow(table_key=table_key, branch=branch, dropped=dropped, removed=Removal())
        self._executes = executes
        self._events = events
        self._removed = Removal()
        self._refs: list[str] = []
        self._trees: list[str] = []
        self._kept: list[str] = []
        self._errors: list[str] = []

    @contextmanager
    def step(self, about: str | None = None, *, is_moot: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Try one step; `about` names what it is about if not the table, `is_moot` whether its failure matters."""
        try:
            yield
        except UNREADABLE as failure:
            if not is_moot():
                self.fail(str(failure), about)

    def fail(self, message: str, about: str | None = None) -> None:
        """Write down a failure and warn about it."""
        # One line: warnings are read line by line.
        reason = " ".join(message.split())
        doing = "cleaning" if self._executes else "looking at"
        of = f"{about} of " if about is not None else ""
        self._events(Warned(message=f"{doing} {of}{self._about.name} failed: {reason}"))
        self._errors.append(reason if about is None else f"{about} stays: {reason}")

    @property
    def name(self) -> str:
        """What the row is about."""
        return self._about.name

    @property
    def has_failed(self) -> bool:
        """Whether something went wrong so far."""
        return bool(self._errors)

    def remove(self, removal: Removal) -> None:
        """Count what went."""
        self._removed += removal

    def reclaim_ref(self, name: str, removal: Removal | None) -> None:
        """Count a ref that went; None is one that stayed."""
        if removal is not None:
            self._refs.append(name)
            self._removed += removal

    def reclaim_tree(self, name: str, removal: Removal | None) -> None:
        """Count a tree that went; None is one that stayed."""
        if removal is not None:
            self._trees.append(name)
            self._removed += removal

    def keep(self, reasons: Iterable[str]) -> None:
        """Write down why something stays."""
        self._kept += reasons

    def row(self) -> CleanupRow:
        """Return the row as it stands."""
        return CleanupRow(
            table_key=self._about.table_key,
            branch=self._about.branch,
            dropped=self._about.dropped,
            removed=self._removed,
            branches_reclaimed=tuple(self._refs),
            trees_reclaimed=tuple(self._trees),
            kept_because=tuple(dict.fromkeys(self._kept)),
            error="; ".join(self._errors) or None,
        )
