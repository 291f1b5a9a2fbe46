"""Python processes without a second of imports: forks of one that has imported the libraries, and nothing of ours.

They are real processes, which can be killed. What they import of `omnigraph` they import themselves, so that each of
them finds its own environment, with its fail point and its clock, as one that was started anew would.
"""

import atexit
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from support.processes import child_environment

_LIBRARIES = ("lance", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "duckdb", "obstore")


def run_module(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], *, timeout_seconds: float = 120
) -> "subprocess.CompletedProcess[str]":
    """Do what `python -m module` does, in a process of its own, and wait for its end."""
    with tempfile.TemporaryDirectory() as directory:
        out, err = Path(directory, "out"), Path(directory, "err")
        order = {"module": module, "arguments": [*arguments], "environment": {**environment}}
        code = _stem().run({**order, "out": str(out), "err": str(err), "cwd": str(Path.cwd())}, timeout_seconds)
        return subprocess.CompletedProcess([module, *arguments], code, out.read_text("utf-8"), err.read_text("utf-8"))


class _Stem:
    """The process that forks, seen from the one that asks it to."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.forks"],
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        atexit.register(self._end)

    def run(self, order: Mapping[str, Any], timeout_seconds: float) -> int:
        """Have a module run; return the exit code, negative for a signal as `subprocess` has it."""
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        pid = json.loads(self._process.stdout.readline())
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_seconds)
        if not ready:
            os.kill(pid, 9)
        code: int = json.loads(self._process.stdout.readline())
        assert ready, f"{order['module']} did not end within {timeout_seconds} seconds"
        return code

    def _end(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)


@cache
def _stem() -> _Stem:
    return _Stem()


def _serve() -> None:
    """Fork for every order that comes; a fork returns from here when its module has ended."""
    for library in _LIBRARIES:
        import_module(library)
    orders, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    while line := orders.readline():
        pid = os.fork()
        if pid == 0:
            orders.close()
            os.close(answers)
            _become(json.loads(line))
            return
        os.write(answers, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(order: Mapping[str, Any]) -> None:
    """Be the process that was asked for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, path, how in ((0, os.devnull, os.O_RDONLY), (1, order["out"], flags), (2, order["err"], flags)):
        opened = os.open(path, how, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
