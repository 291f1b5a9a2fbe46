"""`omnigraph cluster`: declare a deployment in files, look at what would change, and apply it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from omnigraph import documents, errors
from omnigraph.base.units import counted
from omnigraph.cli import cluster_view
from omnigraph.cli.command import command
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.rhythm import termination_interrupts

if TYPE_CHECKING:  # imported when a cluster is looked at
    from omnigraph.cluster.results import ClusterResult

CallbackT = TypeVar("CallbackT", bound=Callable[..., None])


def config_option(function: CallbackT) -> CallbackT:
    """Take `--config`, the directory of the cluster."""
    return click.option(
        "--config",
        "config_dir",
        default=".",
        metavar="DIR",
        help="The directory that holds cluster.yaml; default the current one.",
    )(function)


@command("cluster validate", examples=("omnigraph cluster validate --config museum",))
@config_option
@json_option
def cluster_validate(invocation: Invocation, *, config_dir: str) -> None:
    """Check cluster.yaml and every file that it names.

    Schemas are compiled, queries are checked against the schema of their graph, policies are compiled for what they
    are bound to. No storage is touched. Ends with 1 when something is wrong.
    """
    from omnigraph.cluster.commands import validate_cluster

    result = validate_cluster(config_dir)
    invocation.output.show(result, document=documents.cluster_validation_document, text=cluster_view.validation_text)
    _fail_unless_ok(result)


@command("cluster plan", examples=("omnigraph cluster plan --config museum",))
@config_option
@json_option
def cluster_plan(invocation: Invocation, *, config_dir: str) -> None:
    """Show what an apply would do, change by change.

    Changes nothing. Schema changes are previewed against the live graphs. What has to be approved first says so.
    """
    from omnigraph.cluster.commands import plan_cluster

    with termination_interrupts(), follow_progress(invocation):
        result = plan_cluster(config_dir, environ=invocation.environ)
    invocation.output.show(result, document=documents.cluster_plan_document, text=cluster_view.plan_text)
    _fail_unless_ok(result)


@command("cluster apply", examples=("omnigraph cluster apply --config museum --as act-ines",))
@config_option
@json_option
def cluster_apply(invocation: Invocation, *, config_dir: str) -> None:
    """Bring the cluster to what cluster.yaml declares: what `cluster plan` shows, in that order.

    Graphs are created, schemas are changed, queries and policies are published, and graphs whose deletion was approved
    are deleted. An interrupted apply is settled by the next one. Ends with 0 although something waits, for an approval
    for instance: `converged` in the document says whether all is applied.
    """
    from omnigraph.cluster.applying import ApplyRequest, apply_cluster

    request = ApplyRequest(config_dir=config_dir, actor=invocation.actor())
    with termination_interrupts(), follow_progress(invocation) as events:
        result = apply_cluster(request, events=events, environ=invocation.environ)
    invocation.output.show(result, document=documents.applied_cluster_document, text=cluster_view.applied_text)
    _fail_unless_ok(result)


@command("cluster approve", examples=("omnigraph cluster approve graph.scratch --config museum --as act-ines",))
@click.argument("resource", metavar="RESOURCE")
@config_option
@json_option
def cluster_approve(invocation: Invocation, *, resource: str, config_dir: str) -> None:
    """Record that a graph may be deleted, exactly as the plan shows it now.

    RESOURCE is its address, such as graph.scratch. The approval counts until cluster.yaml, a file it names or the
    ledger changes; deleting is for the next apply.
    """
    actor = invocation.actor()
    if actor is None:
        raise errors.Usage(
            "`cluster approve` records who decides: give --as <actor>, or set operator.actor in "
            f"{invocation.config.path} (config.yaml).",
            flag="--as",
        )
    from omnigraph.cluster.commands import ApproveRequest, approve_change

    request = ApproveRequest(resource=resource, actor=actor, config_dir=config_dir)
    with termination_interrupts():
        result = approve_change(request, environ=invocation.environ)
    invocation.output.show(result, document=documents.approval_document, text=cluster_view.approval_text)
    _fail_unless_ok(result)


@command("cluster status", examples=("omnigraph cluster status --config museum --json",))
@config_option
@json_option
def cluster_status(invocation: Invocation, *, config_dir: str) -> None:
    """Show what the ledger says has been applied, and whether the catalog still has it.

    Takes no lock and changes nothing. Graphs are not opened: `cluster refresh` compares the ledger with them.
    """
    from omnigraph.cluster.commands import cluster_status as look

    result = look(config_dir, environ=invocation.environ)
    invocation.output.show(
        result,
        document=documents.cluster_status_document,
        text=lambda seen: cluster_view.status_text(seen, title="cluster status"),
    )
    _fail_unless_ok(result)


@command("cluster refresh", examples=("omnigraph cluster refresh --config museum",))
@config_option
@json_option
def cluster_refresh(invocation: Invocation, *, config_dir: str) -> None:
    """Compare the ledger with graphs and catalog, and write down what has drifted.

    Changes no graph and publishes nothing: the next apply does that.
    """
    from omnigraph.cluster.observing import refresh_cluster

    with termination_interrupts(), follow_progress(invocation):
        result = refresh_cluster(config_dir, environ=invocation.environ)
    invocation.output.show(
        result,
        document=documents.observed_cluster_document,
        text=lambda seen: cluster_view.status_text(seen, title="cluster refresh"),
    )
    _fail_unless_ok(result)


@command("cluster import", examples=("omnigraph cluster import --config museum",))
@config_option
@json_option
def cluster_import(invocation: Invocation, *, config_dir: str) -> None:
    """Write the first ledger of a cluster.

    Declared graphs that exist already count as applied, nothing else does. Refused where there is a ledger.
    """
    from omnigraph.cluster.observing import import_cluster

    with termination_interrupts(), follow_progress(invocation):
        result = import_cluster(config_dir, environ=invocation.environ)
    invocation.output.show(
        result,
        document=documents.observed_cluster_document,
        text=lambda seen: cluster_view.status_text(seen, title="cluster import"),
    )
    _fail_unless_ok(result)


@command(
    "cluster force-unlock", examples=("omnigraph cluster force-unlock 01K9ZJ3V6M8Q4R2T5W7X9Y0A1B --config museum",)
)
@click.argument("lock_id", metavar="LOCK_ID")
@config_option
@json_option
def cluster_force_unlock(invocation: Invocation, *, lock_id: str, config_dir: str) -> None:
    """Remove the lock of a command that died.

    LOCK_ID is the id that the refused command has named; another lock stays. See first that nobody is at work.
    """
    from omnigraph.cluster.commands import force_unlock

    result = force_unlock(config_dir, lock_id, environ=invocation.environ)
    invocation.output.show(result, document=documents.removed_lock_document, text=cluster_view.unlock_text)
    _fail_unless_ok(result)


def _fail_unless_ok(result: "ClusterResult") -> None:
    if result.ok:
        return
    found = [diagnostic for diagnostic in result.diagnostics if diagnostic.severity.value == "error"]
    said = found[0].message if len(found) == 1 else f"{counted(len(found), 'problem')}; the first: {found[0].message}"
    raise errors.ClusterDiagnostics(said, diagnostics=[diagnostic.document() for diagnostic in found])
