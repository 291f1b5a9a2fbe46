"""Is anybody there? Asked before Spark is, which would go on asking by itself for many minutes and say nothing."""

import re
import socket
from collections.abc import Iterator

CONNECT_SECONDS = 5.0
"""How long one address may take to answer; a cluster that takes longer to accept a connection serves nobody."""

_ADDRESS = re.compile(r"(?:sc|spark|k8s)://(?:https?://)?(?P<addresses>[^/;?]+)")
_PORTS = {"sc": 15002, "spark": 7077, "k8s": 443}


def unreachable(url: str) -> str | None:
    """Say why nobody answers at the address of a master or of a Connect endpoint; None if somebody does.

    Masters whose address is not in their URL, such as `yarn` and `local[2]`, count as there.
    """
    reasons = []
    for host, port in _addresses(url):
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return None
    return "; ".join(reasons) or None


def _addresses(url: str) -> Iterator[tuple[str, int]]:
    found = _ADDRESS.match(url)
    if found is None:
        return
    default = _PORTS.get(url.partition(":")[0], 443)
    for address in found["addresses"].split(","):
        host, _, port = address.rpartition(":") if re.search(r":\d+$", address) else (address, "", "")
        yield host.strip("[]"), int(port) if port else default


def await_endpoint(url: str, *, seconds: float) -> None:
    """Wait until a Connect endpoint speaks the protocol; raise `TimeoutError` if it does not in time.

    Spark's own client would go on trying for minutes, and could not be told to stop.
    """
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(url).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        raise TimeoutError(f"no answer within {seconds:.0f} seconds") from None
    finally:
        channel.close()
