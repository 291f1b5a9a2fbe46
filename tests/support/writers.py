"""Writers in processes of their own: run to their end, killed or stopped at a fail point, and settled afterwards."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import omnigraph
from omnigraph.base import clock
from support.forks import run_module
from support.processes import child_environment


def run_child(uri: str, kind: str, failpoint: str | None) -> tuple[int, dict[str, object]]:
    """Run a writer in a child process; return its exit status and what it said."""
    environment = child_environment()
    if failpoint is not None:
        environment["OMNIGRAPH_FAILPOINT"] = failpoint
    done = run_module("support.writer_child", [uri, kind], environment)
    said = json.loads(done.stdout) if done.stdout.strip() else {"stderr": done.stderr}
    return done.returncode, said


@contextmanager
def paused_child(uri: str, kind: str, point: str) -> Iterator[subprocess.Popen[str]]:
    """Run a writer in a child process until it stops itself at a fail point; that happens once."""
    environment = child_environment(OMNIGRAPH_FAILPOINT=f"{point}:pause:0:1")
    child = subprocess.Popen(
        [sys.executable, "-m", "support.writer_child", uri, kind], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert clock.wait_until(lambda: _is_stopped(child.pid), timeout_seconds=60), "the child did not reach the point"
        yield child
    finally:
        child.kill()
        child.wait()


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def resume(child: subprocess.Popen[str]) -> dict[str, object]:
    """Let a stopped child go on; return what it said in the end."""
    child.send_signal(signal.SIGCONT)
    return json.loads(child.communicate(timeout=60)[0])


def sweep_until_free(graph: omnigraph.Graph) -> list[object]:
    """Recover; on S3 the dead writer's lease has to run out first."""
    settled: list[object] = []

    def nothing_in_use() -> bool:
        swept = graph.recover()
        settled.extend(swept.recovered)
        assert swept.blocked == []
        return not swept.in_use

    assert clock.wait_until(nothing_in_use, timeout_seconds=30, pause_seconds=0.2)
    return settled
