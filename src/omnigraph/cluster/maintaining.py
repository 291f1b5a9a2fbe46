"""Which graphs a run of `maintain` is about, what goes for each of them, and where its journal is.

Graphs of a cluster are found through the ledger alone, so that maintenance goes on while the cluster itself needs
some. Of `cluster.yaml` only the section `maintenance` counts, and that has to be right: a file that cannot be read may
declare quiet hours, or a cleanup that keeps more.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from omnigraph import errors
from omnigraph.base.events import Events, ignore_events
from omnigraph.base.home import expand_home
from omnigraph.base.plain_text import printable, read_yaml
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.cluster.declared import CONFIG_NAME
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics, Refused
from omnigraph.cluster.ledger import read_applied_graphs
from omnigraph.cluster.maintenance_settings import SECTION, MaintenanceSettings, parse_maintenance
from omnigraph.cluster.site import ClusterSite
from omnigraph.maintenance.cleanup.policy import CleanupPolicy
from omnigraph.maintenance.maintain.request import MaintainedGraph
from omnigraph.maintenance.maintain.rounds import CLUSTER_JOURNAL, GRAPH_JOURNAL, Journal
from omnigraph.maintenance.maintain.settings import CleanupSettings, GraphSettings
from omnigraph.storage.store import GraphStore

SettingsSource = str | Path | Mapping[str, object]
"""A YAML file with the section `maintenance`, or that section itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Everything that runs over one cluster, or one graph, have in common."""

    about: str
    root: str
    """The storage root of the cluster, or of the graph."""
    graphs: tuple[MaintainedGraph, ...]
    journal: Journal

    def keeping(self, policy: CleanupPolicy) -> "Upkeep":
        """Clean up by this policy instead of what the settings say, on every graph."""
        changed = (replace(graph, settings=_keeping(graph.settings, policy)) for graph in self.graphs)
        return replace(self, graphs=tuple(changed))


def upkeep_of_cluster(
    cluster: str,
    graph_ids: Collection[str] = (),
    *,
    settings: SettingsSource | None = None,
    events: Events = ignore_events,
    environ: Mapping[str, str] = os.environ,
) -> Upkeep:
    """Find the applied graphs of a cluster, or some of them, with the settings of each."""
    applied = read_applied_graphs(cluster, events=events, environ=environ)
    chosen = tuple(dict.fromkeys(graph_ids)) or applied.graph_ids
    uris = {graph_id: applied.storage_uri(graph_id) for graph_id in chosen}
    read = _settings_of(settings if settings is not None else _declared(cluster), applied.graph_ids)
    graphs = (MaintainedGraph(name=name, uri=uri, settings=read.of(name)) for name, uri in uris.items())
    journal = Journal(objects=ClusterSite.open(applied.root, environ).objects, prefix=CLUSTER_JOURNAL)
    return Upkeep(about=cluster, root=applied.root, graphs=tuple(graphs), journal=journal)


def upkeep_of_graph(uri: str, *, settings: SettingsSource | None = None) -> Upkeep:
    """Take one graph, by its storage; its name is that of the storage."""
    name = graph_name(uri)
    read = _settings_of(settings if settings is not None else {}, (name,))
    graph = MaintainedGraph(name=name, uri=uri, settings=read.of(name))
    journal = Journal(objects=GraphStore.open(uri).objects, prefix=GRAPH_JOURNAL)
    return Upkeep(about=uri, root=uri, graphs=(graph,), journal=journal)


def graph_name(uri: str) -> str:
    """Name a graph by the last part of its address."""
    last = uri.rstrip("/").rpartition("/")[2]
    return last.removesuffix(".omni") or last


def _declared(cluster: str) -> SettingsSource:
    """Return where a cluster says how it is maintained: beside its other files, if it has files at all."""
    path = Path(expand_home(cluster), CONFIG_NAME)
    return {} if "://" in cluster or not path.exists() else path


def _settings_of(source: SettingsSource, graph_ids: Collection[str]) -> MaintenanceSettings:
    """Read settings; what is wrong with them is told of as a whole, and nothing is maintained by half of them."""
    where, known = "the settings", set(graph_ids)
    section: object = source
    if not isinstance(source, Mapping):
        where = str(source)
        section, declared = _section_of(Path(source))
        known |= declared
    settings, problems = parse_maintenance(section, known)
    if not problems:
        return settings
    found = Diagnostics()
    for problem in problems:
        found.error(DiagnosticCode.INVALID_MAINTENANCE_SETTINGS, problem.path, problem.message)
    first, more = problems[0], len(problems) - 1
    also = f" ({counted(more, 'more problem')}.)" if more else ""
    raise errors.ClusterDiagnostics(
        f"{where}: `{first.path}` {first.message}{also} Nothing was maintained.",
        diagnostics=[finding.document() for finding in found.all()],
    )


def _section_of(path: Path) -> tuple[object, set[str]]:
    """Return the section of a file, and the graphs that the same file declares."""
    try:
        parsed = read_yaml(path.read_bytes(), is_strict=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else printable(str(error))
        message = (
            f"{path} cannot be read ({reason}), so nobody knows what it says about maintenance. Nothing was "
            "maintained; correct it, or name another file with --settings."
        )
        raise Refused(DiagnosticCode.INVALID_CLUSTER_YAML, str(path), message) from error
    if not isinstance(parsed, dict):
        return None if parsed is None else parsed, set()
    declared = parsed.get("graphs")
    return parsed.get(SECTION), {str(name) for name in declared} if isinstance(declared, dict) else set()


def _keeping(settings: GraphSettings, policy: CleanupPolicy) -> GraphSettings:
    return replace(settings, cleanup=replace(settings.cleanup or CleanupSettings(), policy=policy))
