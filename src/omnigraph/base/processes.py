"""Whether another process is still alive, as far as this machine can tell."""

import os
import socket
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


@cache
def pid_scope() -> str | None:
    """Return what pids of this process's world mean: this boot and this pid namespace; None where nobody can say.

    A host name is not enough: containers share it with their host, and strangers are all called localhost.
    """
    try:
        return f"{_BOOT_ID.read_text().strip()}/{_PID_NAMESPACE.readlink()}"
    except OSError:
        return None


def is_provably_dead(*, host: str, pid: int, scope: str | None) -> bool:
    """Whether a process that lived in the same world as this one is gone; anything uncertain counts as alive."""
    if host != socket.gethostname() or scope is None or scope != pid_scope():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
