"""Break the Nth request of a write, for every N: whatever the store does, the graph is as before or as after.

A copy of the same graph is written to through a proxy that breaks request N = 1, 2, 3, … until the write is through
without meeting the fault. What is left is looked at and recovered through a healthy connection.

The clients' own retries are off, or they would hide a single fault. Only Lance's six attempts at a listing cannot be
switched off: they are broken all at once by the outage, which fails everything from a write request on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import obstore
import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import Effect, OmniError
from omnigraph.graph import Graph
from omnigraph.storage.locks import open_locks
from omnigraph.storage.objects.s3 import S3Objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.store import GraphStore
from omnigraph.storage.tables import TableStore
from omnigraph.storage.uris import GraphRoot
from omnigraph.writes.context import GraphContext
from support import harbor
from support.faulty_s3 import Action, Answer, FaultyS3, LoseAnswer, LoseRequest, Rule, Seen

pytestmark = [pytest.mark.s3, pytest.mark.slow]

SCHEMA = """
node Sailor { name: String @key  age: I32? }
edge Mentors: Sailor -> Sailor { since: Date? }
"""
CREW = [
    {"type": "Sailor", "data": {"name": "Ana", "age": 50}},
    {"type": "Sailor", "data": {"name": "Bo"}},
    harbor.edge("Mentors", "Ana", "Bo", id="m1"),
]
CHANGES = [
    {"type": "Sailor", "data": {"name": "Bo", "age": 34}},
    {"type": "Sailor", "data": {"name": "Cy"}},
    harbor.edge("Mentors", "Bo", "Cy", id="m2"),
]
AT_ONCE = {"client_max_retries": "0", "client_retry_timeout": "1"}
ALL = 1_000_000
SHARES = 4
"""A test takes every fourth N, so that the cases of one write spread over the workers of a test run."""


def load(graph: Graph) -> None:
    graph.load(harbor.lines(CHANGES), mode="merge")


def mutate(graph: Graph) -> None:
    with graph.write() as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
        batch.delete("Mentors", ids=["m1"])


WRITES: dict[str, Callable[[Graph], None]] = {"load": load, "mutation": mutate}
FAULTS: dict[str, Action] = {"error": Answer(500), "lost_request": LoseRequest(), "lost_answer": LoseAnswer()}


@dataclass(frozen=True, kw_only=True)
class Sea:
    """One graph to start from, on a store that can be reached with and without the proxy."""

    template: str
    proxy: FaultyS3
    _contents: dict[Callable[[Graph], None], tuple[str, str]] = field(default_factory=dict)

    def contents(self, write: Callable[[Graph], None]) -> tuple[str, str]:
        """Return the content of the graph before and after a write that nothing disturbs."""
        if write not in self._contents:
            graph = self.open_healthy(self.copy())
            before = harbor.content(graph)
            write(graph)
            self._contents[write] = before, harbor.content(graph)
        return self._contents[write]

    @property
    def objects(self) -> S3Objects:
        """The objects of the store's whole bucket directory that holds the graphs of this test."""
        root = GraphRoot.parse(self.template.rpartition("/")[0])
        return S3Objects(root, StoreSettings.resolve(root, self._healthy, {"AWS_ALLOW_HTTP": "true"}).s3)

    @property
    def _healthy(self) -> dict[str, str]:
        keys = {"aws_access_key_id": "test-key", "aws_secret_access_key": "test-secret"}
        return {"aws_endpoint_url_s3": self.proxy.upstream, **keys}

    def copy(self) -> str:
        """Copy the template; return the copy's URI."""
        objects, name = self.objects, f"{ids.new_ulid()}.omni"
        source = self.template.rpartition("/")[2]
        for path in objects.list(f"{source}/"):
            obstore.copy(objects._retrying, path, f"{name}/{path.partition('/')[2]}")
        return self.template.replace(source, name)

    def open_healthy(self, uri: str) -> Graph:
        store = GraphStore.open(uri, self._healthy, lease_terms=harbor.SHORT_LEASES)
        return Graph(GraphContext.over(store, LocalEngine()), read_only=False)

    def open_fragile(self, uri: str) -> Graph:
        """Open through the proxy, with clients that take every failure at its word."""
        root = GraphRoot.parse(uri)
        settings = StoreSettings.resolve(root, {**self._healthy, "aws_endpoint_url_s3": self.proxy.url}, {"AWS_ALLOW_HTTP": "true"})
        objects = S3Objects(root, settings.s3)
        objects._retrying = objects._single
        store = GraphStore(
            root=root,
            objects=objects,
            locks=open_locks(root, objects, terms=harbor.SHORT_LEASES),
            tables=TableStore(root, {**settings.lance_options, **AT_ONCE}),
        )
        return Graph(GraphContext.over(store, LocalEngine()), read_only=False)


@pytest.fixture
def sea(s3_root: str, s3_faults: FaultyS3) -> Sea:
    graph = omnigraph.init(s3_root, SCHEMA)
    graph.load(harbor.lines(CREW), mode="append")
    return Sea(template=s3_root, proxy=s3_faults)


@dataclass(slots=True, kw_only=True)
class WriteRule(Rule):
    """A rule for requests that change something; `breaks_rest` makes everything fail from its first firing on."""

    breaks_rest: bool = False

    def matches(self, request: Seen) -> bool:
        if self.breaks_rest and self.times < ALL:
            return True
        return request.method in {"PUT", "POST", "DELETE"}


def assert_survives(sea: Sea, write: Callable[[Graph], None], rule: Rule) -> bool:
    """Write to a copy of the graph under a fault; return whether the write met it."""
    uri = sea.copy()
    graph, healthy = sea.open_fragile(uri), sea.open_healthy(uri)
    before, after = sea.contents(write)
    times = rule.times
    failure: OmniError | None = None

    sea.proxy.rules.append(rule)
    try:
        write(graph)
    except OmniError as error:
        failure = error
    finally:
        sea.proxy.rules.clear()

    seen = harbor.content(healthy)
    has_recovered = _recover(healthy)
    settled = harbor.content(healthy) if has_recovered else seen
    assert seen in {before, after}
    if failure is None:
        assert (seen, settled) == (after, after)
    elif failure.effect is Effect.NONE:
        assert (seen, settled) == (before, before), failure
    else:
        assert settled in {seen, after}
    assert harbor.pins_equal_heads(healthy)
    assert harbor.pending(healthy) == []
    return rule.times < times


def _recover(graph: Graph) -> bool:
    """Recover once nobody holds the branch any more; return whether there was something to settle."""
    settled = []

    def nothing_in_use() -> bool:
        swept = graph.recover()
        assert swept.blocked == []
        settled.extend(swept.recovered)
        return not swept.in_use

    assert clock.wait_until(nothing_in_use, timeout_seconds=30, pause_seconds=0.1)
    return bool(settled)


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("fault", [Answer(500), LoseRequest()], ids=["error", "lost_request"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_whose_nth_request_breaks_is_all_or_nothing(sea: Sea, write: str, fault: Action, share: int) -> None:
    met = [skip for skip in through(sea, WRITES[write], share, lambda skip: Rule(action=fault, skip=skip))]

    assert len(met) > 10, "the write met hardly any request; does it still go through the proxy?"


@pytest.mark.parametrize("write", WRITES)
def test_a_write_whose_nth_change_of_the_store_is_not_answered_is_all_or_nothing(sea: Sea, write: str) -> None:
    """To a client, a read without an answer is a lost request; so only changes are worth it."""
    for skip in count():
        if not assert_survives(sea, WRITES[write], WriteRule(action=LoseAnswer(), skip=skip)):
            break

    assert skip > 10, "the write met hardly any request; does it still go through the proxy?"


@pytest.mark.parametrize("write", WRITES)
def test_a_write_whose_store_goes_away_at_the_nth_change_is_all_or_nothing(sea: Sea, write: str) -> None:
    for skip in count():
        import time
        t = time.time()
        met = assert_survives(sea, WRITES[write], WriteRule(action=Answer(503), skip=skip, times=ALL, breaks_rest=True))
        print(write, "outage", skip, round(time.time()-t, 2))
        if not met: break

    assert skip > 10, "the write met hardly any request; does it still go through the proxy?"
