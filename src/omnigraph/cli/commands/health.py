"""`omnigraph health`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph import documents, errors
from omnigraph.cli.command import command
from omnigraph.cli.health_view import health_text
from omnigraph.cli.invocation import Invocation
from omnigraph.cli.params import json_option
from omnigraph.cli.progress import follow_progress
from omnigraph.cli.scope import echo_target, resolve_storage

if TYPE_CHECKING:
    from omnigraph.maintenance.health.judging import HealthReport

EXIT_CODES = {"healthy": 0, "attention": 1, "action": 2}


@command("health", examples=("omnigraph health art.omni", "omnigraph health art.omni --html report.html"))
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page to FILE.")
@json_option
def health(invocation: Invocation, *, html: Path | None) -> None:
    """Show how a graph is doing, and the command that fixes each finding.

    Changes nothing and takes no lock. Ends with 0 when all is well, 1 when something deserves attention, 2 when
    something must be done; 64 and 70 mean that it could not look, for a wrong invocation or anything else.
    """
    target = resolve_storage(invocation)
    echo_target(invocation, target)
    import omnigraph

    with follow_progress(invocation):
        report = omnigraph.open(target.uri, read_only=True).health()
    if html is not None:
        _write(html, report)
    invocation.output.show(
        report, document=lambda seen: documents.health_document(seen, uri=target.uri), text=health_text
    )
    raise click.exceptions.Exit(EXIT_CODES[report.status.value])


def _write(file: Path, report: "HealthReport") -> None:
    from omnigraph.cli.health_page import health_page

    try:
        file.write_text(health_page(report), encoding="utf-8")
    except OSError as error:
        raise errors.Io(f"The page could not be written to {file}: {error.strerror or error}.") from error
