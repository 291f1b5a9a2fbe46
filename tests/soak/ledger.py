"""What writers say they are about to do and what came of it: one file per crew, one line per event.

A line is written in one system call, so that a kill leaves it whole or absent. The intent comes before the write and
the outcome before the next intent: an intent without an outcome belongs to a writer that died over it.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from soak.operations import Intent


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one write ended, as its writer saw it."""

    actor: str
    commit: str | None = None
    error: str | None = None
    effect: str | None = None
    message: str | None = None


class LedgerWriter:
    """The writing end, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.next_number = path.read_text(encoding="utf-8").count("intent ")

    def intend(self, intent: Intent) -> None:
        self._line(f"intent {intent.to_json()}")
        self.next_number += 1

    def conclude(self, outcome: Outcome) -> None:
        self._line(f"outcome {json.dumps(asdict(outcome))}")

    def _line(self, text: str) -> None:
        os.write(self._descriptor, f"{text}\n".encode())


@dataclass(kw_only=True)
class LedgerReader:
    """The reading end: everything that the crews have said so far."""

    directory: Path
    intents: dict[str, Intent] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    _read_bytes: dict[Path, int] = field(default_factory=dict)

    def refresh(self) -> None:
        for path in sorted(self.directory.glob("*.ledger")):
            with path.open("rb") as file:
                file.seek(self._read_bytes.get(path, 0))
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._read_bytes[path] = self._read_bytes.get(path, 0) + len(whole)
            for line in whole.decode().splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        what, _, rest = line.partition(" ")
        if what == "intent":
            intent = Intent.from_json(rest)
            self.intents[intent.actor] = intent
        else:
            outcome = Outcome(**json.loads(rest))
            self.outcomes[outcome.actor] = outcome
