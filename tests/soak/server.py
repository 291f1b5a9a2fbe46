"""Two servers on one cluster, many clients that do everything at once, and kills: nothing acknowledged is ever lost.

PYTHONPATH=tests python -m soak.server --seconds 120 --clients 64

`omnigraph maintain` runs beside them, as it does wherever somebody writes one row at a time: without it the files of a
table add up, and with them what every export reads and every server remembers.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

import omnigraph
from support.served import POLICY, ServerProcess, make_cluster, running_server

READ = "query q($n: String) { match { $a: Artist { name: $n } } return { $a.name } }"
ALL = "query q() { match { $a: Artist } return { $a.name } }"
INSERT = "query add($n: String) { insert Artist { name: $n } }"
NDJSON = {"Content-Type": "application/x-ndjson"}
EXPECTED = {200, 404, 409, 412, 429, 503}
"""Whatever else comes is a finding: a branch may be gone, a write may have lost, a server may be busy or ending."""

MAINTAINED_EVERY = "15s"


class Soak:
    """One run: the servers as they are now, and what clients were told."""

    def __init__(self, cluster: str, directory: Path, seed: int) -> None:
        self._cluster = cluster
        self._directory = directory
        self._random = random.Random(seed)
        self._servers: list[ServerProcess] = []
        self._places: list[ExitStack] = []
        self._lock = threading.Lock()
        self._branches: set[str] = set()
        """Those that clients have made, or were about to when their server was killed."""
        self.acknowledged: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.findings: list[str] = []
        self._unexplained: set[str] = set()
        """The ids of requests whose answers nobody expected; a log says why they came."""
        self.kills = 0
        self.memory: list[int] = []
        self.maintained = 0
        """How often the graph was looked after."""

    def start(self, place: int) -> None:
        """Start a server in a place, or again after it was killed."""
        stack = ExitStack()
        directory = self._directory / f"server-{place}-{self.kills}"
        directory.mkdir()
        server = stack.enter_context(running_server(self._cluster, directory))
        with self._lock:
            if place < len(self._servers):
                self._places[place].close()
                self._servers[place], self._places[place] = server, stack
            else:
                self._servers.append(server)
                self._places.append(stack)

    def client(self, number: int, until: float) -> None:
        """Do one thing after the other until the time is over."""
        chance = random.Random(number)
        step = 0
        while time.monotonic() < until:
            server = chance.choice(self._servers)
            step += 1
            try:
                with server.client() as client:
                    self._tidy(client, number)
                    for _ in range(10):
                        step += 1
                        self._act(client, f"c{number}-{step}", chance)
            except httpx.HTTPError:
                time.sleep(0.05)  # killed, or not there yet

    def _act(self, client: httpx.Client, name: str, chance: random.Random) -> None:
        match chance.choices(("read", "write", "load", "export", "branch", "changes"), (50, 15, 10, 4, 6, 5))[0]:
            case "read":
                answer = client.post("/graphs/art/query", json={"query": READ, "params": {"n": "Ines"}})
                if answer.status_code == 200 and answer.json()["row_count"] != 1:
                    self.findings.append(f"Ines was not found: {answer.text}")
            case "write":
                answer = client.post("/graphs/art/mutate", json={"query": INSERT, "params": {"n": name}})
                self._acknowledge(answer, name)
            case "load":
                line = f'{{"type":"Artist","data":{{"name":"{name}"}}}}\n'.encode()
                answer = client.post("/graphs/art/load/ndjson", content=line, headers=NDJSON)
                self._acknowledge(answer, name)
            case "export":
                answer = client.post("/graphs/art/export", json={"type_names": ["Artist"]})
            case "branch":
                self._branches.add(name)
                answer = client.post("/graphs/art/branches", json={"name": name})
                if answer.status_code == 200:
                    self._delete_branch(client, name, {200})
                self._branches.discard(name)
            case _:
                answer = client.get("/graphs/art/changes?start=beginning&limit=50")
        with self._lock:
            self.statuses[answer.status_code] += 1
        if answer.status_code not in EXPECTED:
            self.findings.append(
                f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:300]}"
            )
            self._unexplained.add(answer.headers.get("x-request-id", ""))

    def _tidy(self, client: httpx.Client, number: int) -> None:
        """Delete the branches of a client whose server was killed meanwhile; whether they are there nobody knows."""
        for name in [name for name in self._branches.copy() if name.startswith(f"c{number}-")]:
            self._delete_branch(client, name, {200, 404})
            self._branches.discard(name)

    def _delete_branch(self, client: httpx.Client, name: str, expected: set[int]) -> None:
        """Delete a branch of one's own until it is gone: a busy server takes it later, and nobody else takes it."""
        answer = client.delete(f"/graphs/art/branches/{name}")
        while answer.status_code in {429, 503}:
            time.sleep(0.1)
            answer = client.delete(f"/graphs/art/branches/{name}")
        if answer.status_code not in expected:
            self.findings.append(f"branch {name} was not deleted: {answer.status_code} {answer.text[:300]}")

    def _acknowledge(self, answer: httpx.Response, name: str) -> None:
        if answer.status_code == 200:
            with self._lock:
                self.acknowledged.add(name)

    def kill_one(self) -> None:
        """Kill a server as a power cut would, and start it again; the first lives: its memory is followed."""
        self.kills += 1
        place = self._random.randrange(1, len(self._servers))
        self._servers[place].process.kill()
        self.start(place)

    def weigh(self) -> None:
        """Note the memory of the server that is never killed, in MiB."""
        status = Path(f"/proc/{self._servers[0].process.pid}/status").read_text("utf-8")
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        self.memory.append(int(resident.split()[1]) // 1024)

    def close(self) -> None:
        """End all servers, and add what their logs say to the findings."""
        for stack in self._places:
            stack.close()
        logs = [line for log in self._directory.glob("server-*/*") for line in log.read_text("utf-8").splitlines()]
        self.findings += [line for line in logs if "traceback" in line and any(map(line.count, self._unexplained))]


@contextmanager
def maintained(run: Soak, cluster: str, log: Path) -> Iterator[None]:
    """Maintain the cluster as an operator would, until the block ends; a run that failed is a finding."""
    command = [sys.executable, "-m", "omnigraph", "maintain", "--cluster", cluster, "--every", MAINTAINED_EVERY]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        run.maintained = log.read_text("utf-8").count("looked at 1 graph")
        if code != 0 or not run.maintained:
            run.findings.append(f"maintenance ended with {code}: {log.read_text('utf-8')[-600:]}")


def soak(cluster: str, directory: Path, *, seconds: float, clients: int, pause: float = 4.0, seed: int = 1) -> Soak:
    """Run, then compare what the graph holds with what clients were told."""
    run = Soak(cluster, directory, seed)
    with ExitStack() as stack:
        stack.callback(run.close)
        for place in range(2):
            run.start(place)
        stack.enter_context(maintained(run, cluster, directory / "maintain.log"))
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=run.client, args=(number, until)) for number in range(clients)]
        for thread in threads:
            thread.start()
        while time.monotonic() + pause < until:
            time.sleep(pause)
            run.weigh()
            run.kill_one()
        for thread in threads:
            thread.join()
    graph = omnigraph.open(f"{cluster}/graphs/art.omni", policy=None, read_only=True)
    names = Counter(row["a.name"] for row in graph.query(ALL).rows())
    doubled = [name for name, times in names.items() if times > 1]
    if doubled:
        run.findings.append(f"{len(doubled)} writes are there twice: {sorted(doubled)[:5]}")
    lost = run.acknowledged - set(names)
    if lost:
        run.findings.append(f"{len(lost)} acknowledged writes are gone: {sorted(lost)[:5]}")
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--pause", type=float, default=4, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path, help="where cluster and logs stay; without, nothing stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = options.directory or Path(name)
        directory.mkdir(exist_ok=True)
        make_cluster(str(directory / "cluster"), policies={"keepers": (POLICY, ("graph.art",))})
        run = soak(
            str(directory / "cluster"),
            directory,
            seconds=options.seconds,
            clients=options.clients,
            pause=options.pause,
            seed=options.seed,
        )
    print(
        f"{sum(run.statuses.values())} answers {dict(run.statuses)}, {len(run.acknowledged)} writes, "
        f"{run.kills} kills, maintained {run.maintained} times"
    )
    print(f"memory of the server that was never killed, in MiB: {run.memory}")
    for finding in run.findings:
        print(finding)
    raise SystemExit(1 if run.findings else 0)


if __name__ == "__main__":
    main()
