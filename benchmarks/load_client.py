"""Keep-alive clients over raw sockets, as many as asked for, in one process that does nothing else.

python -m benchmarks.load_client HOST PORT CLIENTS SECONDS < request    prints one JSON object
"""

import json
import selectors
import socket
import sys
from dataclasses import dataclass
from time import perf_counter

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(slots=True)
class _Client:
    sock: socket.socket
    sent_at: float = 0.0
    waiting: bytes = b""


def drive(host: str, port: int, request: bytes, *, clients: int, seconds: float) -> dict[str, float]:
    """Let every client send the request again as soon as it is answered; return what that came to."""
    selector = selectors.DefaultSelector()
    everybody = []
    for _ in range(clients):
        sock = socket.create_connection((host, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(sock)
        selector.register(sock, selectors.EVENT_READ, client)
        everybody.append(client)
    times: list[float] = []
    failed = 0
    started = perf_counter()
    for client in everybody:
        client.sent_at = perf_counter()
        client.sock.sendall(request)
    now = started
    while now < started + seconds:
        for key, _ in selector.select(1):
            client = key.data
            content = client.waiting + client.sock.recv(65_536)
            if not _is_whole(content):
                client.waiting = content
                continue
            client.waiting = b""
            now = perf_counter()
            times.append(now - client.sent_at)
            failed += content[9:12] != b"200"
            client.sent_at = now
            client.sock.sendall(request)
    for client in everybody:
        client.sock.close()
    times.sort()
    return {
        "requests": len(times),
        "requests_per_second": len(times) / (now - started),
        "p50_ms": times[len(times) // 2] * 1_000,
        "p99_ms": times[int(len(times) * 0.99)] * 1_000,
        "failed": failed,
    }


def _is_whole(content: bytes) -> bool:
    end = content.find(_END)
    if end < 0:
        return False
    head = content[:end].lower()
    start = head.find(_LENGTH) + len(_LENGTH)
    length = int(head[start : head.find(b"\r\n", start) if head.find(b"\r\n", start) > 0 else end])
    return len(content) >= end + len(_END) + length


def main(arguments: list[str]) -> None:
    """Read a request from stdin, send it again and again, and print what that came to."""
    host, port, clients, seconds = arguments
    request = sys.stdin.buffer.read()
    print(json.dumps(drive(host, int(port), request, clients=int(clients), seconds=float(seconds))))


if __name__ == "__main__":
    main(sys.argv[1:])
