"""Journals: one control object per run, the newest of them kept, for `health` and for people.

Every graph has one for runs that leave no commit. What `maintain` did has a journal of its own, beside the graph or in
the cluster: it runs every hour, and its lines must not push those of `optimize` and `cleanup` out.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from omnigraph.base import clock, ids
from omnigraph.base.events import Events, Warned
from omnigraph.base.values import dataclass
from omnigraph.errors import OmniError
from omnigraph.storage.objects import ControlStore

JOURNAL_PREFIX: Final = "__maintenance/"
_ENTRIES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One run."""

    run_id: str
    verb: str
    host: str
    started_at_us: int
    ended_at_us: int
    document: Mapping[str, Any]
    """What the run printed, without the address."""


def record_run(
    objects: ControlStore,
    verb: str,
    *,
    started_at_us: int,
    document: Mapping[str, Any],
    events: Events,
    prefix: str = JOURNAL_PREFIX,
) -> str | None:
    """Write an entry and forget the oldest ones; return its id. A journal that cannot be written stops nobody."""
    entry = JournalEntry(
        run_id=ids.new_ulid(),
        verb=verb,
        host=socket.gethostname(),
        started_at_us=started_at_us,
        ended_at_us=clock.now_us(),
        document=document,
    )
    try:
        objects.create(f"{prefix}{entry.run_id}.json", json.dumps(asdict(entry), indent=1).encode())
        for path in objects.list(prefix)[:-_ENTRIES_MAX]:
            objects.delete(path)
    except (OmniError, OSError) as failure:
        events(Warned(message=f"this run of {verb} was not recorded: {failure}"))
        return None
    return entry.run_id


def read_journal(
    objects: ControlStore, *, prefix: str = JOURNAL_PREFIX, newest: int = _ENTRIES_MAX
) -> list[JournalEntry]:
    """Return the recorded runs, oldest first; an entry that cannot be read is left out."""
    entries = []
    for path in objects.list(prefix)[-newest:]:
        stored = objects.read(path)
        try:
            entries.append(JournalEntry(**json.loads(stored.content if stored is not None else b"")))
        except (ValueError, TypeError):
            continue
    return entries
