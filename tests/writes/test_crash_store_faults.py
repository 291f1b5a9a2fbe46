"""Break the Nth request of a write, for every N: whatever the store does, the graph is as before or as after.

The same graph is written to through a proxy that breaks request N = 1, 2, 3, … until the write is through without
meeting the fault. What is left is looked at and recovered through a healthy connection.

The clients' own retries are off, because they would hide a single fault. Only Lance's six attempts at a listing cannot
be switched off; they fail together in the last test, where the store goes away for good.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

import obstore
import pytest

import omnigraph
from omnigraph.base import clock, ids
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import Effect, OmniError
from omnigraph.graph import Graph
from omnigraph.graphs.context import GraphContext
from omnigraph.storage.locks import LeaseTerms, open_locks
from omnigraph.storage.objects.s3 import S3Objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.store import GraphStore
from omnigraph.storage.table_store import TableStore
from omnigraph.storage.uris import GraphRoot
from support import harbor
from support.crash_report import BROKEN_REQUESTS
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
LEASES = LeaseTerms(ttl_seconds=1.0, renew_seconds=0.25, margin_seconds=0.25, undo_grace_seconds=0.5)
WITHOUT_RETRIES = {"client_max_retries": "0", "client_retry_timeout": "1"}
FOR_GOOD = 1_000_000
SHARES = 4
"""A test takes every fourth N, so that the cases of one write spread over the workers of a test run."""

Write = Callable[[Graph], None]


def load(graph: Graph) -> None:
    graph.load(harbor.lines(CHANGES), mode="merge")


def mutate(graph: Graph) -> None:
    with graph.write() as batch:
        batch.update("Sailor", {"age": 51}, ids=["Ana"])
        batch.delete("Mentors", ids=["m1"])


@dataclass(kw_only=True)
class Sea:
    """One graph to start from, on a store that can be reached with and without the proxy."""

    template: str
    proxy: FaultyS3
    _contents: dict[Write, tuple[str, str]] = field(default_factory=dict)
    _unchanged: list[str] = field(default_factory=list)

    def contents(self, write: Write) -> tuple[str, str]:
        """Return the content of the graph before and after a write that nothing disturbs."""
        if write not in self._contents:
            graph = self.open_healthy(self.take_copy())
            before = harbor.content(graph)
            write(graph)
            self._contents[write] = before, harbor.content(graph)
        return self._contents[write]

    def take_copy(self) -> str:
        """Return the URI of a copy of the template that nobody has changed."""
        if self._unchanged:
            return self._unchanged.pop()
        directory, _, source = self.template.rpartition("/")
        root = GraphRoot.parse(directory)
        store = S3Objects(root, self._settings(root, self.proxy.upstream).s3)._retrying
        name = f"{ids.new_ulid()}.omni"
        for found in obstore.list(store, source).collect():
            obstore.copy(store, found["path"], found["path"].replace(source, name, 1))
        return f"{directory}/{name}"

    def give_back(self, uri: str) -> None:
        """Return a copy whose graph is still the template's; files that nothing refers to do not matter."""
        self._unchanged.append(uri)

    def open_healthy(self, uri: str) -> Graph:
        root = GraphRoot.parse(uri)
        settings = self._settings(root, self.proxy.upstream)
        return self._open(root, S3Objects(root, settings.s3), settings, settings.lance_options)

    def open_fragile(self, uri: str) -> Graph:
        """Open through the proxy, with clients that take every failure at its word."""
        root = GraphRoot.parse(uri)
        settings = self._settings(root, self.proxy.url)
        objects = S3Objects(root, settings.s3)
        objects._retrying = objects._single
        return self._open(root, objects, settings, {**settings.lance_options, **WITHOUT_RETRIES})

    def _settings(self, root: GraphRoot, endpoint: str) -> StoreSettings:
        options = {
            "aws_endpoint_url_s3": endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "test-key",
            "aws_secret_access_key": "test-secret",
        }
        return StoreSettings.resolve(root, options, environ={})

    def _open(
        self, root: GraphRoot, objects: S3Objects, settings: StoreSettings, lance_options: Mapping[str, str]
    ) -> Graph:
        locks = open_locks(root, objects, terms=LEASES)
        tables = TableStore(root, lance_options, objects)
        store = GraphStore(root=root, objects=objects, locks=locks, tables=tables, settings=settings)
        return Graph(GraphContext.over(store, LocalEngine()), read_only=False)


@pytest.fixture
def sea(s3_root: str, s3_faults: FaultyS3) -> Sea:
    graph = omnigraph.init(s3_root, SCHEMA)
    graph.load(harbor.lines(CREW), mode="append")
    return Sea(template=s3_root, proxy=s3_faults)


@dataclass(slots=True, kw_only=True)
class ChangeRule(Rule):
    """A rule for requests that change the store."""

    def matches(self, request: Seen) -> bool:
        return request.method in {"PUT", "POST", "DELETE"}


@dataclass(slots=True, kw_only=True)
class OutageRule(ChangeRule):
    """A rule that, from a request that changes the store on, breaks everything."""

    times: int = FOR_GOOD

    def matches(self, request: Seen) -> bool:
        return self.times < FOR_GOOD or ChangeRule.matches(self, request)


def meets(sea: Sea, write: Write, rule: Rule) -> bool:
    """Check that the graph survives a write under a fault; return whether the write met the fault."""
    uri = sea.take_copy()
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
    has_recovered = recover(healthy)
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
    if seen == before and not has_recovered and len(healthy.commits()) == 2:
        sea.give_back(uri)
    return rule.times < times


def recover(graph: Graph) -> bool:
    """Recover once nobody holds the branch any more; return whether there was something to settle."""
    settled = []

    def nothing_in_use() -> bool:
        swept = graph.recover()
        assert swept.blocked == []
        settled.extend(swept.recovered)
        return not swept.in_use

    assert clock.wait_until(nothing_in_use, timeout_seconds=30, pause_seconds=0.1)
    return bool(settled)


@pytest.fixture
def break_requests(sea: Sea, record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Break the requests of one share, one per attempt, until an attempt meets none."""

    def break_all(write: Write, rule_at: Callable[[int], Rule], *, share: int = 0, shares: int = 1) -> None:
        met = next(met for met in count() if not meets(sea, write, rule_at(share + met * shares)))
        record_property(BROKEN_REQUESTS, met)
        assert met > 10, "hardly a request of the write passed the proxy"

    return break_all


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("fault", [Answer(500), LoseRequest()], ids=["error", "lost_request"])
@pytest.mark.parametrize("write", [load, mutate])
def test_a_write_whose_nth_request_breaks_is_all_or_nothing(
    break_requests: Callable[..., None], write: Write, fault: Action, share: int
) -> None:
    break_requests(write, lambda skip: Rule(action=fault, skip=skip), share=share, shares=SHARES)


@pytest.mark.parametrize("write", [load, mutate])
def test_a_write_that_is_not_told_of_its_nth_change_is_all_or_nothing(
    break_requests: Callable[..., None], write: Write
) -> None:
    """Only changes of the store: to its client, a read without an answer is a lost request."""
    break_requests(write, lambda skip: ChangeRule(action=LoseAnswer(), skip=skip))


@pytest.mark.parametrize("write", [load, mutate])
def test_a_write_whose_store_goes_away_at_its_nth_change_is_all_or_nothing(
    break_requests: Callable[..., None], write: Write
) -> None:
    break_requests(write, lambda skip: OutageRule(action=Answer(503), skip=skip))
