"""A standalone cluster of Spark: a master and two workers in processes of their own, with addresses of their own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from omnigraph.base import clock

HOSTS = ("127.0.0.2", "127.0.0.3")
DRIVER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "500m",
}
"""What a driver on this machine needs to know."""


@contextmanager
def running_cluster(directory: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a cluster whose processes have this environment; yield the address of its master."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"spark://127.0.0.1:{free.getsockname()[1]}"
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    commands = [["Master", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--webui-port", "0"]]
    for host in HOSTS:
        work = ["--cores", "1", "--memory", "700m", "--webui-port", "0", "--work-dir", str(directory / host)]
        commands.append(["Worker", "--host", host, *work, address])
    log = directory / "cluster.log"
    with ExitStack() as ending:
        output = ending.enter_context(log.open("ab"))
        for name, *arguments in commands:
            started = subprocess.Popen(
                [spark_class, f"org.apache.spark.deploy.{name.lower()}.{name}", *arguments],
                env={**environment, "SPARK_NO_DAEMONIZE": "1"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            ending.callback(started.wait)
            ending.callback(os.killpg, started.pid, signal.SIGKILL)
        is_up = clock.wait_until(
            lambda: log.read_text().count("Successfully registered with master") == len(HOSTS),
            timeout_seconds=300,
            pause_seconds=0.3,
        )
        assert is_up, log.read_text()[-3000:]
        yield address


def conf_flags(settings: Mapping[str, str]) -> list[str]:
    """Spell settings as flags of a command."""
    return [flag for key, value in settings.items() for flag in ("--spark-conf", f"{key}={value}")]
