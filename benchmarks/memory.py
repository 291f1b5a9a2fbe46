"""The memory of a process and all that it started, looked at several times a second."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread
from typing import Self

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Role(StrEnum):
    """What a process does for the one that is watched."""

    DRIVER = "driver"
    """The process itself."""
    JVM = "JVM"
    WORKERS = "workers"
    """Whatever the JVM started: Spark's Python workers and what they were forked from."""


class Watch:
    """Looks at a family of processes until it is told to end."""

    pause_seconds = 0.2

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self.pause_seconds):
            self.look()

    def look(self) -> None:
        """Look once."""
        raise NotImplementedError


class MemoryWatch(Watch):
    """Remembers the largest sum of resident memory; pages that processes share count once for each."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.peak_bytes = 0

    def look(self) -> None:
        """Add the family up."""
        self.peak_bytes = max(self.peak_bytes, sum(map(_resident_bytes, family(self.pid))))


class RoleWatch(Watch):
    """Remembers the largest sum of each role, whenever it was."""

    pause_seconds = 0.1

    def __init__(self, pid: int, *, measure: Callable[[int], int] | None = None) -> None:
        super().__init__(pid)
        self.peak_bytes = dict.fromkeys(Role, 0)
        self._measure = measure or _resident_bytes

    def look(self) -> None:
        """Add up who does what."""
        held = dict.fromkeys(Role, 0)
        for pid in family(self.pid):
            held[self._role(pid)] += self._measure(pid)
        for role, found in held.items():
            self.peak_bytes[role] = max(self.peak_bytes[role], found)

    def _role(self, pid: int) -> Role:
        if pid == self.pid:
            return Role.DRIVER
        return Role.JVM if _name(pid) == "java" else Role.WORKERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One of the processes that another started, and theirs."""

    name: str
    peak_bytes: int
    """The most that it ever had."""


def processes_below(pid: int) -> list[Process]:
    """Look at all that a process started, and what these did."""
    found = []
    for child in family(pid)[1:]:
        fields = _status(child)
        if not fields:
            continue
        peak = int(fields.get("VmHWM", "0 kB").split()[0]) * 1024
        found.append(Process(name=fields["Name"], peak_bytes=peak))
    return found


def family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    return [pid, *_descendants(pid, _children())]


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it ended meanwhile
            children.setdefault(parent, []).append(int(entry.name))
    return children


def _descendants(pid: int, children: dict[int, list[int]]) -> Iterable[int]:
    waiting = list(children.get(pid, ()))
    while waiting:
        child = waiting.pop()
        yield child
        waiting += children.get(child, ())


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def own_bytes(pid: int) -> int:
    """Return what a process holds; pages of files, which the system takes back, do not count."""
    fields = _status(pid)
    resident, mapped = (int(fields.get(name, "0 kB").split()[0]) for name in ("VmRSS", "RssFile"))
    return (resident - mapped) << 10


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}  # it ended meanwhile
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0
