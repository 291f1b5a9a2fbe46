"""Runs of maintenance as lines: when, how long, and what they gained."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnigraph.base.clock import timestamp_from_us
from omnigraph.base.units import counted, spell_bytes

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.maintenance.health.runs import MaintenanceRun


def run_line(run: "MaintenanceRun") -> str:
    """Say the same in one line."""
    where = "" if run.branch in {None, "main"} else f" on {run.branch}"
    took = f" took {took_text(run)}" if run.duration_us is not None else ""
    return f"{run.verb}{where} {timestamp_from_us(run.ended_at_us)}{took}: {gained_text(run)}"


def took_text(run: "MaintenanceRun") -> str:
    """Spell how long a run took; nothing when only its commit tells of it."""
    return "" if run.duration_us is None else f"{run.duration_us / 1_000_000:.1f} s"


def gained_text(run: "MaintenanceRun") -> str:
    """Spell what a run was good for."""
    return ", ".join(_gains(run)) or "nothing to do"


def _gains(run: "MaintenanceRun") -> Iterator[str]:
    if run.fragments_removed:
        yield f"{counted(run.fragments_removed, 'fragment')} became {run.fragments_added}"
    if run.indexes_built:
        yield f"{run.indexes_built} {'index' if run.indexes_built == 1 else 'indexes'} built"
    if run.indexes_updated:
        yield f"{run.indexes_updated} {'index' if run.indexes_updated == 1 else 'indexes'} updated"
    if run.versions_removed or run.bytes_removed:
        yield f"{counted(run.versions_removed, 'version')} and {spell_bytes(run.bytes_removed)} removed"
    if run.tables_repaired:
        yield f"{counted(run.tables_repaired, 'table')} repaired"
    if run.errors:
        yield f"failed on {', '.join(name or 'the whole run' for name in run.errors)}"
