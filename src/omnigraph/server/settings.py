"""What a server is told: by flags first, by the environment second, by defaults last."""

import ipaddress
from collections.abc import Callable, Mapping

from omnigraph.base.values import dataclass
from omnigraph.errors import Usage

DEFAULT_BIND = "127.0.0.1:8080"
BODY_BYTES_MAX = 1_048_576
LOAD_BODY_BYTES_MAX = 33_554_432
_PORT_MAX = 65_535

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be under way at once; see `docs/operations/server.md`."""

    writes_per_actor: int = 16
    write_bytes_per_actor: int = 4_294_967_296
    export_streams: int = 8
    read_threads: int = 8
    write_threads: int = 16
    header_bytes: int = 65_536
    idle_seconds: float = 75.0
    """How long a connection without a request stays open."""
    arrival_seconds: int = 30
    """How long the headers of a request, or the next piece of a body, may take to arrive."""
    stalled_seconds: int = 300
    """How long a client may take nothing of an answer that waits for it."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, cores: int, warn: Warn) -> "Limits":
        """Read the numeric variables; a value that is no positive number is told of and left out."""
        standard = cls(read_threads=max(8, 2 * cores))
        texts = {name: value.strip() for name, value in environ.items()}

        def number(name: str, default: int) -> int:
            text = texts.get(name, "")
            if not text:
                return default
            if not (text.isascii() and text.isdigit() and int(text) > 0):
                warn(f"{name} is not a positive whole number and was ignored; {default} is used")
                return default
            return int(text)

        return cls(
            writes_per_actor=number("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX", standard.writes_per_actor),
            write_bytes_per_actor=number("OMNIGRAPH_PER_ACTOR_BYTES_MAX", standard.write_bytes_per_actor),
            export_streams=number("OMNIGRAPH_EXPORT_STREAMS_MAX", standard.export_streams),
            read_threads=number("OMNIGRAPH_SERVER_READ_THREADS", standard.read_threads),
            write_threads=number("OMNIGRAPH_SERVER_WRITE_THREADS", standard.write_threads),
            arrival_seconds=number("OMNIGRAPH_SERVER_ARRIVAL_SECONDS", standard.arrival_seconds),
            stalled_seconds=number("OMNIGRAPH_SERVER_STALLED_SECONDS", standard.stalled_seconds),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Where the server listens; port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Bind":
        """Read `HOST:PORT`; the host of an IPv6 address stands in brackets."""
        host, colon, port = text.strip().rpartition(":")
        is_bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not host or not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
            raise Usage(f"--bind is HOST:PORT, such as {DEFAULT_BIND}, not {text!r}.", flag="--bind")
        return cls(host=host[1:-1] if is_bracketed else host, port=int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def spelled(self, port: int) -> str:
        """Spell the address with the port that was chosen."""
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """One server, whoever starts it."""

    cluster: str
    bind: Bind = Bind(host="127.0.0.1", port=8080)
    unauthenticated: bool = False
    require_all_graphs: bool = False
    default_graph: str | None = None
    shutdown_timeout: float = 30.0
    log_format: str = "text"
    log_level: str = "info"
    ui: bool = False
    """Whether the console is offered at `/ui`."""


def is_true(text: str) -> bool:
    """Read a boolean variable: true unless empty, `0` or `false`."""
    return text.strip().lower() not in {"", "0", "false"}
