"""What a server counts: plain numbers that the event loop adds to, spelled for Prometheus when somebody asks."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from omnigraph.server.service import Service

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Times:
    """A histogram of seconds; one thread adds to it."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Return the counts as Prometheus has them: all up to a bound."""
        found: list[tuple[str, float]] = []
        so_far = 0
        for bound, count in zip([*map(str, BUCKETS), "+Inf"], self.counts, strict=True):
            so_far += count
            found.append((bound, so_far))
        return found


class Metrics:
    """The numbers of one server."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self.requests: dict[tuple[str, str, int], int] = {}
        self.times: dict[str, Times] = {}
        self.commits: dict[str, Times] = {}
        self.looks = 0
        self.reads_at_once = 0
        self.reads_in_threads = 0
        self.bytes_in = 0
        self.bytes_out = 0

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (route, method, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        times = self.times.get(route)
        if times is None:
            times = self.times[route] = Times()
        times.add(seconds)

    def wrote(self, operation: str, seconds: float) -> None:
        """Count one write that ended well."""
        self.commits.setdefault(operation, Times()).add(seconds)

    def collect(self) -> "Iterable[Metric]":
        """Spell everything; what Prometheus' registry calls."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            "omnigraph_http_requests", "Requests answered.", labels=("route", "method", "status")
        )
        for (route, method, status), count in sorted(self.requests.items()):
            requests.add_metric((route, method, str(status)), count)
        yield requests
        for name, about, label, histograms in (
            ("omnigraph_http_request_seconds", "Time to answer a request.", "route", self.times),
            (
                "omnigraph_commit_seconds",
                "Time of a write, from its start to its visibility.",
                "operation",
                self.commits,
            ),
        ):
            family = HistogramMetricFamily(name, about, labels=(label,))
            for value, times in sorted(histograms.items()):
                family.add_metric((value,), times.cumulative(), times.total)
            yield family
        service = self._service
        yield from self._caches()
        gauges: tuple[tuple[str, str, float], ...] = (
            ("omnigraph_http_requests_running", "Requests being answered.", service.running),
            (
                "omnigraph_writes_in_flight",
                "Writes that were admitted, those whose bodies still come included.",
                service.writes.in_flight,
            ),
            ("omnigraph_writes_running", "Writes that have begun and are waited for.", service.workers.writing),
            ("omnigraph_export_streams_in_flight", "Export and baseline streams under way.", service.streams.in_flight),
            ("omnigraph_graphs_ready", "Graphs that are served.", len(service.graphs)),
            ("omnigraph_graphs_quarantined", "Graphs that could not be opened.", service.quarantined),
            ("omnigraph_draining", "1 while the server is shutting down.", int(service.is_draining)),
        )
        for name, about, number in gauges:
            yield GaugeMetricFamily(name, about, number)
        counters: tuple[tuple[str, str, float], ...] = (
            (
                "omnigraph_admission_refused",
                "Writes sent away because their actor had too many.",
                service.writes.refused,
            ),
            ("omnigraph_export_refused", "Exports sent away because all streams were busy.", service.streams.refused),
            ("omnigraph_head_looks", "Looks at the head of a branch in storage.", self.looks),
            ("omnigraph_queries_from_memory", "Queries answered at once from the image.", self.reads_at_once),
            ("omnigraph_queries_in_threads", "Queries answered in a thread.", self.reads_in_threads),
            ("omnigraph_received_bytes", "Bytes of request bodies.", self.bytes_in),
            ("omnigraph_sent_bytes", "Bytes of answers.", self.bytes_out),
        )
        for name, about, number in counters:
            yield CounterMetricFamily(name, about, number)

    def _caches(self) -> "Iterable[Metric]":
        """Spell what is kept in memory: of all graphs together, because names of graphs are nobody's business."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        from omnigraph.query.caches import together
        from omnigraph.query.image.images import image_facts

        served = self._service.graphs.values()
        kept = [image_facts(), *together(each for one in served for each in one.graph.following.caches())]
        hits = CounterMetricFamily("omnigraph_cache_hits", "Looks that found what was kept.", labels=("cache",))
        misses = CounterMetricFamily("omnigraph_cache_misses", "Looks that had to make it.", labels=("cache",))
        entries = GaugeMetricFamily("omnigraph_cache_entries", "How many are kept.", labels=("cache",))
        used = GaugeMetricFamily("omnigraph_cache_bytes", "How much memory they take.", labels=("cache",))
        most = GaugeMetricFamily("omnigraph_cache_bytes_max", "How much they may take.", labels=("cache",))
        for facts in kept:
            for family, number in (
                (hits, facts.hits),
                (misses, facts.misses),
                (entries, facts.entries),
                (used, facts.bytes_used),
                (most, facts.bytes_max),
            ):
                if number is not None:
                    family.add_metric((facts.name,), number)
        yield from (hits, misses, entries, used, most)


def exposition(metrics: Metrics) -> bytes:
    """Spell the numbers as Prometheus reads them."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    return generate_latest(registry)
