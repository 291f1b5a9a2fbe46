"""Failures of talking to a server: no way to it, and answers that nobody can read."""

from typing import ClassVar

from omnigraph.errors.base import OmniError, Retry


class Connection(OmniError):
    """A server could not be reached, or broke off; after a write it is unknown whether that landed. Has `url`."""

    kind = "connection"
    http_status: ClassVar[int | None] = None
    code: ClassVar[str | None] = None
    exit_code = 8
    retry = Retry.LATER


class ServerAnswer(OmniError):
    """What answered is no server of graphs, or one of another kind: its answer cannot be read. Has `url`, `status`."""

    kind = "server_answer"
    http_status: ClassVar[int | None] = None
    code: ClassVar[str | None] = None
