"""Rules about single entities, checked on the images that a write would leave behind."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.records.rules import find_violations
from omnigraph.writes.delta import TableDelta


def check_values(delta: TableDelta, findings: OffenceCollector) -> None:
    """Collect what is required and null, and every value that an enum, `@range` or `@check` does not allow."""
    rows, entity = delta.upserts, delta.entity
    if rows.num_rows == 0:
        return
    for declared in entity.properties:
        if not declared.stored_nullable and rows[declared.name].null_count:
            missing = pc.indices_nonzero(pc.is_null(rows[declared.name].combine_chunks()))
            message = f"{entity.name}.{declared.name} is required but null"
            _report(delta, Code.MISSING_REQUIRED, declared.name, missing, _always(message), findings)
    for violation in find_violations(rows, entity):
        _report(delta, violation.code, violation.property, violation.rows, violation.describe, findings)


def _always(message: str) -> Callable[[int], str]:
    return lambda _: message


def _report(
    delta: TableDelta,
    code: Code,
    property_name: str,
    rows: pa.Array,
    describe: Callable[[int], str],
    findings: OffenceCollector,
) -> None:
    for row in rows[: findings.limit].to_pylist():
        findings.add(
            Offence(
                code=code,
                message=describe(row),
                table_key=delta.entity.table_key,
                property=property_name,
                row_id=delta.upserts["id"][row].as_py(),
            )
        )
    findings.count(code, max(len(rows) - findings.limit, 0))
