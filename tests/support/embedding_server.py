"""A provider on this machine that speaks both wire shapes and misbehaves as told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

KEY = "sk-very-secret-0123456789"


class EmbeddingServer:
    """Answers requests with vectors, after the misbehaviours that a test has queued; `requests` remembers them all."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.vector_of = lambda text, dimension: [float(len(text) + 1), *[1.0] * (dimension - 1)]
        self.released = Event()
        self._misbehaviours: list[dict[str, Any]] = []
        self._lock = Lock()

    def misbehave(self, *answers: dict[str, Any]) -> None:
        """Queue answers: `status`, `headers`, `body`, `declared_length`, `hang` or `drop`."""
        self._misbehaviours.extend(answers)

    def environ(self, provider: str = "openai-compatible", **settings: str) -> dict[str, str]:
        """Return an environment that points here, patient in attempts and quick between them."""
        return {
            "OMNIGRAPH_EMBED_PROVIDER": provider,
            "OMNIGRAPH_EMBED_BASE_URL": self.url,
            "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": "1",
            "OPENAI_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
            **settings,
        }

    def take(self, request: dict[str, Any]) -> dict[str, Any]:
        """Remember a request and choose its answer."""
        with self._lock:
            self.requests.append(request)
            if self._misbehaviours:
                return self._misbehaviours.pop(0)
        body = request["body"]
        if "input" in body:
            self.texts += body["input"]
            listed = [
                {"index": place, "embedding": self.vector_of(text, body["dimensions"])}
                for place, text in enumerate(body["input"])
            ]
            return {"body": json.dumps({"data": listed[::-1]})}
        text = body["content"]["parts"][0]["text"]
        self.texts.append(text)
        return {"body": json.dumps({"embedding": {"values": self.vector_of(text, body["outputDimensionality"])}})}


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """Run a provider for as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = server.take(
                {
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": body,
                }
            )
            if answer.get("hang"):
                server.released.wait(30)
            if answer.get("hang") or answer.get("drop"):
                self.close_connection = True
                return
            content = answer.get("body", "").encode()
            self.send_response(answer.get("status", 200))
            for name, value in answer.get("headers", {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(answer.get("declared_length", len(content))))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = EmbeddingServer(listener.server_port)
    thread = Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
