"""What a row of the table of routes says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.base.values import dataclass
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.server.members import Member
from omnigraph.server.settings import BODY_BYTES_MAX, LOAD_BODY_BYTES_MAX

if TYPE_CHECKING:
    from omnigraph.server.calls import Call
    from omnigraph.server.replies import Reply

GRAPH = "/graphs/{graph_id}"
JSON = "application/json"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOperation:
    """One row: a method and a path, and everything that depends on them."""

    method: str
    path: str
    operation_id: str | None
    """What generated clients call it; None for what the OpenAPI document does not show."""
    about: str
    """What it does, in a sentence."""
    handler: "Callable[[Call], Awaitable[Reply]]"
    at_once: "Callable[[Call, Mapping[str, Any]], Reply | None] | None" = None
    """Answers, with the members of the body, what takes less time than to put it off; None leaves it to the handler."""
    action: PolicyAction | None = None
    """What policy is asked for first; a handler may ask for more."""
    is_admitted: bool = False
    """Whether it counts as a write of its actor while it runs."""
    is_public: bool = False
    """Whether it needs no token, and answers while the server is shutting down."""
    is_about_graph: bool = True
    """Whether its path names a graph."""
    members: tuple[Member, ...] = ()
    """Of the body."""
    media_type: str = ""
    """Of the body; empty for a route that takes none."""
    body_bytes_max: int = BODY_BYTES_MAX
    has_optional_body: bool = False
    parameters: tuple[Member, ...] = ()
    """Of the query string."""
    is_strict: bool = False
    """Whether members and parameters that it does not know are refused."""
    answer: str | None = None
    """The schema of what it answers with, in `models.py`."""
    answer_type: str = JSON
    successor: str | None = None
    """What a deprecated route is called now."""
    is_conditional: bool = False
    """Whether it takes the header with the commit that must be the head."""
    is_discreet: bool = False
    """Whether an unexpected failure is told in one fixed sentence."""

    @property
    def body_resource(self) -> str:
        """What the limit of its body is called."""
        return "load_request_bytes" if self.body_bytes_max == LOAD_BODY_BYTES_MAX else "request_body_bytes"

    def at_root(self) -> "HttpOperation":
        """Return the same route without the graph in its path, for the default graph."""
        return replace(self, path=self.path.removeprefix(GRAPH))
