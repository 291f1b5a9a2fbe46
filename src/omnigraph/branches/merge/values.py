"""The rules about single entities, for what a merge brings: a branch may hold what nobody checked, after a repair."""

import pyarrow as pa

from omnigraph.catalog.model import EntityType
from omnigraph.records.offences import OffenceCollector
from omnigraph.records.rules import find_violations
from omnigraph.records.stored import report_violation


def check_values(rows: pa.Table, entity: EntityType, findings: OffenceCollector) -> None:
    """Check enum, `@range` and `@check` of whole images."""
    for violation in find_violations(rows, entity):
        report_violation(violation, rows, entity, findings)
