"""Health in one call: facts and findings together."""

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.health.facts import GraphHealth, observe_health
from omnigraph.maintenance.health.judging import Finding, Status, find, status_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HealthReport(Shown):
    """What was seen, and what follows from it."""

    health: GraphHealth
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The graph in a word."""
        return status_of(list(self.findings))


def report_health(context: GraphContext) -> HealthReport:
    """Look at a graph and judge what is seen; writes nothing and takes no lock."""
    health = observe_health(context)
    return HealthReport(health=health, findings=tuple(find(health)))
