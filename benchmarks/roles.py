"""The memory of a job on Spark by who holds it: the driver's Python, the JVM, the Python workers."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import Watch, family

_KIB = 1 << 10
_MIB = 1 << 20
DRIVER, JAVA, WORKERS = "driver", "java", "workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePeaks:
    """The largest resident memory of each role, in MiB; the workers count together."""

    driver: int
    java: int
    workers: int


class RoleWatch(Watch):
    """Looks at this process and all that it starts, several times a second."""

    pause_seconds = 0.1

    def __init__(self) -> None:
        super().__init__(os.getpid())
        self._peaks: dict[str, int] = defaultdict(int)

    def __exit__(self, *exc_info: object) -> None:
        self.look()
        super().__exit__(*exc_info)

    @property
    def peaks(self) -> RolePeaks:
        """What was seen so far."""
        return RolePeaks(**{role: self._peaks[role] // _MIB for role in (DRIVER, JAVA, WORKERS)})

    def look(self) -> None:
        """Look once."""
        held: dict[str, int] = defaultdict(int)
        for pid in family(os.getpid()):
            name, resident = _status(pid)
            held[DRIVER if pid == os.getpid() else JAVA if name == "java" else WORKERS] += resident
        for role, resident in held.items():
            self._peaks[role] = max(self._peaks[role], resident)


def processor_seconds() -> float:
    """Return what this process and all that it started and that still lives have used of processors: busy ones wait."""
    ticks = 0
    for pid in family(os.getpid()):
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue  # it ended meanwhile
    return ticks / os.sysconf("SC_CLK_TCK")


def _status(pid: int) -> tuple[str, int]:
    """Return the name of a process and what it holds; pages of files, which the system takes back, do not count."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return "", 0  # it ended meanwhile
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    resident, mapped = (int(fields.get(name, "0 kB").split()[0]) for name in ("VmRSS", "RssFile"))
    return fields["Name"], (resident - mapped) * _KIB
