"""Fail points: named places where a test may kill, break or stop the process.

`reach(name)` does nothing in production: one comparison with a constant read at start-up. Tests set
`OMNIGRAPH_FAILPOINT=<name>:<action>[:<skip>[:<times>]]` before they start a child process; `action` is `kill`
(SIGKILL, as a power cut would), `error` (raise), or `pause` (stop with SIGSTOP until the test sends SIGCONT). `skip`
lets the first n passages through; `times` bounds how often it acts. A test compares the names in the code with those
that the crash matrix exercises.
"""

import os
import signal
import sys

FAILPOINT_VARIABLE = "OMNIGRAPH_FAILPOINT"


class FaultInjected(OSError):
    """Raised by a fail point whose action is `error`; an `OSError`, because that is how a store fails."""


class _Armed:
    """What the environment asked for, how many passages are still let through, and how often it still acts."""

    def __init__(self, setting: str) -> None:
        name, _, rest = setting.partition(":")
        action, _, counts = rest.partition(":")
        skip, _, times = counts.partition(":")
        self.name = name
        self.action = action or "error"
        self.skip = int(skip or 0)
        self.times = int(times or sys.maxsize)


_setting = os.environ.get(FAILPOINT_VARIABLE)
_armed: _Armed | None = _Armed(_setting) if _setting else None


def reach(name: str) -> None:
    """Pass the fail point `name`; act on it only if a test armed it."""
    if _armed is None or _armed.name != name:
        return
    if _armed.skip > 0:
        _armed.skip -= 1
        return
    if _armed.times == 0:
        return
    _armed.times -= 1
    _act(name, _armed.action)


def _act(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "pause":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action == "error":
        raise FaultInjected(f"fail point {name}")
    else:
        raise ValueError(f"unknown fail point action {action!r} in {FAILPOINT_VARIABLE}")
