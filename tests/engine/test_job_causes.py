"""What Spark prints of a failed job, and the one sentence of it that helps."""

import pytest

from omnigraph.engine.spark.failures import job_cause

JAVA = "\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:1)"
NO_PYTHON = 'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or directory'
CRASHED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
PYTHON = """Traceback (most recent call last):
  File "worker.py", line 3, in main
    run(1)
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "worker.py", line 5, in main
    run(1)
    ^^^^^^
TypeError: bad operand: x.
Hint: none
"""
LOST = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Remote RPC client is gone."


def aborted(place: str, what: str, *causes: str) -> str:
    """Spell a failed job as the bridge to Java does."""
    task = "Task 1 in stage 2.0 failed 4 times, most recent failure: Lost task 1.3 in stage 2.0 (TID 9)"
    first = f": org.apache.spark.SparkException: Job aborted due to stage failure: {task} ({place}): {what}"
    behind = [line for cause in causes for line in (f"Caused by: {cause}", JAVA)]
    lines = ["An error occurred while calling o81.collectToPython.", first, JAVA, "Driver stacktrace:", JAVA, *behind]
    return "\n".join(lines)


REFUSED = f"""org.apache.spark.SparkException: Exception thrown in awaitResult:
{JAVA}
Caused by: java.net.ConnectException: Connection refused: node-3/10.0.0.7:7077
{JAVA}"""


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        (
            aborted(
                "10.0.0.7 executor 1", NO_PYTHON, NO_PYTHON, "java.io.IOException: error=2, No such file or directory"
            ),
            'Cannot run program "./environment/bin/python": error=2, No such file or directory on 10.0.0.7',
        ),
        (aborted("node-3 executor 2", "java.lang.OutOfMemoryError: Java heap space"), "Java heap space on node-3"),
        (aborted("10.0.0.7 executor 1", LOST), "executor 1 on 10.0.0.7 was lost: Remote RPC client is gone"),
        (
            aborted("node-3 executor 2", CRASHED, f"{CRASHED}.", "java.io.EOFException"),
            "Python worker exited unexpectedly (crashed) on node-3",
        ),
        (aborted("me executor driver", f"org.apache.spark.x.PythonException: {PYTHON}"), "TypeError: bad operand: x"),
        (REFUSED, "Connection refused: node-3/10.0.0.7:7077"),
        ("", "no reason"),
    ],
)
def test_the_cause_and_the_host_are_found(printed: str, cause: str) -> None:
    assert job_cause(printed) == cause
