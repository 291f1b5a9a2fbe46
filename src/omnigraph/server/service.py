"""Everything that the requests of one server share."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.base.values import dataclass
from omnigraph.server.admission import StreamSlots, WriteAdmission
from omnigraph.server.gate import PolicyGate
from omnigraph.server.logs import ServerLog
from omnigraph.server.metrics import Metrics
from omnigraph.server.polls import SharedPolls
from omnigraph.server.settings import Limits
from omnigraph.server.states import RuntimeState
from omnigraph.server.stored import StoredQuery
from omnigraph.server.tokens import TokenTable
from omnigraph.server.work import Workers

if TYPE_CHECKING:
    import asyncio

    from omnigraph.graph import Graph
    from omnigraph.graphs.snapshot import Snapshot

LookKey: TypeAlias = tuple[str, str, int]
"""A graph, a branch, and how often this process had written when the look began."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedGraph:
    """A graph that is ready: its handle, who decides about it, and its stored queries."""

    graph_id: str
    graph: "Graph"
    gate: PolicyGate
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)


class Service:
    """What a running server is made of; one event loop uses it."""

    def __init__(
        self,
        *,
        graphs: Mapping[str, ServedGraph],
        state: RuntimeState,
        tokens: TokenTable,
        log: ServerLog,
        limits: Limits,
        server_gate: PolicyGate,
        quarantined: int = 0,
        default_graph: str | None = None,
        source_version: str | None = None,
    ) -> None:
        self.graphs = graphs
        self.state = state
        self.tokens = tokens
        self.log = log
        self.limits = limits
        self.server_gate = server_gate
        self.quarantined = quarantined
        self.default_graph = default_graph
        self.source_version = source_version
        """From which source the program was built, if whoever built it says so."""
        self.workers = Workers(limits)
        self.writes = WriteAdmission(limits)
        self.streams = StreamSlots(limits)
        self.metrics = Metrics(self)
        self.looking: dict[LookKey, asyncio.Future[Snapshot]] = {}
        """The looks at heads that are under way, shared by all who wait for them."""
        self.polls = SharedPolls()
        """The pages of change feeds that several clients ask for."""
        self.is_draining = False
        self.running = 0
        """How many requests are being answered, those about health left out."""

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked for a token."""
        return self.state is RuntimeState.OPEN
