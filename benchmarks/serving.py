"""How many queries a server answers: a look-up by key over HTTP, beside an empty handler of the same framework.

python -m benchmarks.serving [--people 100000] [--clients 16] [--seconds 5] [--rounds 3] [--json]

Server, empty handler and clients are processes of their own. They take turns, so that whoever else uses the machine
disturbs them alike; the processor time of each request says what the machine would do if nobody did.
"""

import argparse
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import sleep

import omnigraph
from omnigraph.cluster.resources import file_digest
from omnigraph.cluster.site import ClusterSite
from omnigraph.cluster.state import AppliedResource, Ledger, composite_digest

SCHEMA = "node Person { name: String @key\n age: I32\n city: String }\nedge Knows: Person -> Person\n"
QUERY = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age, $p.city } }"
HOPS = "query q($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name } }"
TOKEN = "benchmark"  # noqa: S105 — of nobody
_TICKS = os.sysconf("SC_CLK_TCK")


def make_cluster(root: Path, people: int) -> None:
    """Make a cluster with one graph of people, each of whom knows the next three."""
    site = ClusterSite.open(str(root))
    graph = omnigraph.init(site.graph_uri("people"), SCHEMA)
    records = [
        json.dumps({"type": "Person", "data": {"name": f"p{n}", "age": n % 90, "city": f"c{n % 100}"}})
        for n in range(people)
    ]
    records += [
        json.dumps({"edge": "Knows", "from": f"p{n}", "to": f"p{(n + step) % people}"})
        for n in range(people)
        for step in (1, 2, 3)
    ]
    graph.load(io.BytesIO("\n".join(records).encode()), mode="append")
    resources = {
        "schema.people": AppliedResource(digest=file_digest(SCHEMA.encode())),
        "graph.people": AppliedResource(digest=None),
    }
    resources["graph.people"] = AppliedResource(digest=composite_digest(resources, "people"))
    site.write_ledger(Ledger(state_revision=1, resources=resources), over=None)


@contextmanager
def omnigraph_server(root: Path) -> Iterator[tuple[int, int]]:
    """Run the server; give its process id and its port."""
    environ = {**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKEN": TOKEN}
    command = [sys.executable, "-m", "omnigraph.cli.server_main", "--cluster", str(root), "--bind", "127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        try:
            yield process.pid, port
        finally:
            process.terminate()


@contextmanager
def empty_server() -> Iterator[tuple[int, int]]:
    """Run the empty handler; give its process id and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "benchmarks.empty_server", str(port)]) as process:
        try:
            _wait_for(port)
            yield process.pid, port
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            sleep(0.05)
        else:
            return


def request_of(query: str, name: str) -> bytes:
    """Spell the request of a query."""
    body = json.dumps({"query": query, "params": {"n": name}}).encode()
    head = (
        "POST /graphs/people/query HTTP/1.1\r\nHost: server\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measure(server: tuple[int, int], request: bytes, *, clients: int, seconds: float) -> dict[str, float]:
    """Let clients ask one server for some seconds."""
    pid, port = server
    before = _cpu_seconds(pid)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load_client", "127.0.0.1", str(port), str(clients), str(seconds)],
        input=request,
        capture_output=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    found["cpu_us"] = (_cpu_seconds(pid) - before) / found["requests"] * 1e6
    return found


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        make_cluster(root, options.people)
        with omnigraph_server(root) as served, empty_server() as empty:
            point, hops = request_of(QUERY, "p17"), request_of(HOPS, "p17")
            for warm_up in (point, hops):
                measure(served, warm_up, clients=options.clients, seconds=1)
            rows = {
                "look-up by key": (served, point),
                "friends of one": (served, hops),
                "empty handler": (empty, point),
            }
            found: dict[str, list[dict[str, float]]] = {name: [] for name in rows}
            for _ in range(options.rounds):
                for name, (server, request) in rows.items():
                    found[name].append(measure(server, request, clients=options.clients, seconds=options.seconds))
    result = {
        name: {key: round(median(run[key] for run in runs), 2) for key in runs[0]} for name, runs in found.items()
    }
    for row in result.values():
        row["of_empty"] = round(row["requests_per_second"] / result["empty handler"]["requests_per_second"], 2)
        row["of_empty_cpu"] = round(result["empty handler"]["cpu_us"] / row["cpu_us"], 2)
    if options.json:
        print(json.dumps(result))
        return
    print(
        f"{options.clients} clients, {options.people} people, median of {options.rounds} rounds of {options.seconds} s"
    )
    heads = ("requests/s", "p50 ms", "p99 ms", "CPU µs", "of empty", "by CPU", "failed")
    print(" " * 16, *(f"{head:>10}" for head in heads))
    for name, row in result.items():
        keys = ("requests_per_second", "p50_ms", "p99_ms", "cpu_us", "of_empty", "of_empty_cpu", "failed")
        print(f"{name:16}", *(f"{row[key]:10.2f}" for key in keys))


if __name__ == "__main__":
    main()
