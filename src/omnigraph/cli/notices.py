"""Everything for stderr: the target echo, notes, warnings and error lines."""

import sys
from contextlib import suppress
from dataclasses import field

from omnigraph.base.events import EngineChosen, Event, Noted, Published, Warned
from omnigraph.base.values import dataclass
from omnigraph.engine.choice import EngineName


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Lines beside the result; `quiet` hides everything but warnings and errors, `verbose` shows details, too."""

    is_quiet: bool
    is_verbose: bool = False
    published: list[Published] = field(default_factory=list)
    """What is durable by now, for whoever has to say that the rest went wrong."""

    def echo(self, line: str) -> None:
        """Print a line that says what is about to run, and where."""
        if not self.is_quiet:
            _write(line)

    def detail(self, line: str) -> None:
        """Print a line that only somebody who asked for more wants to read."""
        if self.is_verbose:
            self.echo(line)

    def note(self, message: str) -> None:
        """Print a fact worth knowing."""
        if not self.is_quiet:
            _write(f"note: {message}")

    def warn(self, message: str) -> None:
        """Print a line that somebody should look at."""
        _write(f"warning: {message}")

    def error(self, message: str) -> None:
        """Print the paragraph that says why the run failed."""
        _write(f"error: {message}")

    @property
    def in_force(self) -> str | None:
        """Name what is durable by now; None if nothing is."""
        return ", ".join(event.what for event in self.published) or None

    def done(self, what: str) -> None:
        """Remember what is durable now although no commit says so."""
        self.published.append(Published(what=what))

    def event(self, event: Event) -> None:
        """Print the events that are one line each; progress has its own receiver."""
        if isinstance(event, Published):
            self.published.append(event)
        elif isinstance(event, Warned):
            self.warn(event.message)
        elif isinstance(event, Noted):
            self.note(event.message)
        elif isinstance(event, EngineChosen):
            # Work in this process is what everybody expects; a cluster is worth a line.
            tell = self.echo if event.engine == EngineName.SPARK else self.detail
            tell(f"engine: {event.engine} ({event.reason})")


def _write(line: str) -> None:
    # The stream is looked up at every call: a live progress display puts its own in place while it runs.
    # Without a stderr there is nobody to tell, which is no reason to stop the work.
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
