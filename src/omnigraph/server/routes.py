"""The table of all routes.

A route exists because it has a row here: the rows build the router, the checks before every handler, the log, the
metrics and the OpenAPI document. To add one, write its handler, add its row, and run `python -m omnigraph.server.openapi`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.server.members import Kind, Member
from omnigraph.server.settings import BODY_BYTES_MAX, LOAD_BODY_BYTES_MAX

if TYPE_CHECKING:
    from omnigraph.server.calls import Call
    from omnigraph.server.replies import Reply

    Handler = Callable[[Call], Awaitable[Reply]]

GRAPH = "/graphs/{graph_id}"
JSON = "application/json"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One row: a method and a path, and everything that depends on them."""

    method: str
    path: str
    operation: str | None
    """What generated clients call it; None for what the OpenAPI document does not show."""
    about: str
    home: str
    """Where its handler is: `module.function` below `omnigraph.server.handlers`."""
    action: PolicyAction | None = None
    scope: str = "none"
    """What policy looks at, in words: `branch`, `target branch`, or neither."""
    is_admitted: bool = False
    """Whether it is counted as a write of its actor."""
    is_public: bool = False
    """Whether it needs no token, and answers while the server is shutting down."""
    members: tuple[Member, ...] = ()
    media_type: str = ""
    """Of the body; empty for a route that takes none."""
    body_bytes_max: int = BODY_BYTES_MAX
    has_optional_body: bool = False
    parameters: tuple[Member, ...] = ()
    """Of the query string."""
    is_strict: bool = False
    """Whether members and parameters that it does not know are refused."""
    answer: str = "Document"
    """The schema of what it answers with, in `models.py`."""
    answer_type: str = JSON
    successor: str | None = None
    """What a deprecated route is called now."""
    is_conditional: bool = False
    """Whether it takes the header with the commit that must be the head."""
    is_discreet: bool = False
    """Whether an unexpected failure is told in one fixed sentence."""

    @property
    def is_about_graph(self) -> bool:
        """Whether its path names a graph."""
        return self.home.startswith("graph_") is False and self.is_graph_path

    @property
    def is_graph_path(self) -> bool:
        """Whether its path is below a graph."""
        return self.path.startswith(GRAPH)

    @property
    def body_resource(self) -> str:
        """What a limit of its body is called."""
        return "load_request_bytes" if self.body_bytes_max == LOAD_BODY_BYTES_MAX else "request_body_bytes"
