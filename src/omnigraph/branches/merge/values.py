"""The rules about single entities, for what a merge brings: a branch may hold what nobody checked, after a repair."""

import pyarrow as pa

from omnigraph.catalog.model import EntityType
from omnigraph.records.findings import Finding, FindingCollector
from omnigraph.records.rules import find_violations


def check_values(rows: pa.Table, entity: EntityType, findings: FindingCollector) -> None:
    """Check enum, `@range` and `@check` of whole images."""
    for violation in find_violations(rows, entity):
        broken = violation.rows.to_pylist()
        for row in broken[: findings.limit]:
            findings.add(
                Finding(
                    code=violation.code,
                    message=violation.describe(row),
                    table_key=entity.table_key,
                    property=violation.property,
                    row_id=rows["id"][row].as_py(),
                )
            )
        findings.count(violation.code, len(broken) - findings.limit)
