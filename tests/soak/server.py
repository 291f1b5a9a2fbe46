"""Two servers on one cluster, many clients that do everything at once, and kills: nothing acknowledged is ever lost.

PYTHONPATH=tests python -m soak.server --seconds 120 --clients 64
"""

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
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


class Soak:
    """One run: the servers as they are now, and what clients were told."""

    def __init__(self, cluster: str, directory: Path, seed: int) -> None:
        self._cluster = cluster
        self._directory = directory
        self._random = random.Random(seed)
        self._servers: list[ServerProcess] = []
        self._places: list[ExitStack] = []
        self._lock = threading.Lock()
        self.acknowledged: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.findings: list[str] = []
        self.kills = 0
        self.memory: list[int] = []

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
                answer = client.post("/graphs/art/branches", json={"name": name})
                if answer.status_code == 200:
                    client.delete(f"/graphs/art/branches/{name}")
            case _:
                answer = client.get("/graphs/art/changes?start=beginning&limit=50")
        with self._lock:
            self.statuses[answer.status_code] += 1
        if answer.status_code not in EXPECTED:
            self.findings.append(
                f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:300]}"
            )

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
        """End all servers."""
        for stack in self._places:
            stack.close()


def soak(cluster: str, directory: Path, *, seconds: float, clients: int, pause: float = 4.0, seed: int = 1) -> Soak:
    """Run, then compare what the graph holds with what clients were told."""
    run = Soak(cluster, directory, seed)
    try:
        for place in range(2):
            run.start(place)
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
    finally:
        run.close()
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
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
        f"{sum(run.statuses.values())} answers {dict(run.statuses)}, {len(run.acknowledged)} writes, {run.kills} kills"
    )
    print(f"memory of the server that was never killed, in MiB: {run.memory}")
    for finding in run.findings:
        print(finding)
    raise SystemExit(1 if run.findings else 0)


if __name__ == "__main__":
    main()
