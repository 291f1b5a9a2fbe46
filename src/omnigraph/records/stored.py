"""The rules about single entities, for rows as tables store them: which of them break what the schema declares.

Statements and merges check the images that they would leave behind. Rows that are stored already can break a rule as
well: what was made behind the graph's back and then published by a forced repair nobody checked.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.identity import derive_ids
from omnigraph.catalog.model import EntityType, NodeType, Property
from omnigraph.catalog.scalars import Family, traits_of
from omnigraph.records.offences import Code, Offence, OffenceCollector
from omnigraph.records.rules import Violation, find_id_mismatches, find_violations


def ruled_columns(entity: EntityType) -> list[str]:
    """Name the columns that `check_stored_rows` looks at, the id first."""
    return ["id", *(declared.name for declared in entity.properties if _has_rule(declared, entity))]


def check_stored_rows(rows: pa.Table, entity: EntityType, findings: OffenceCollector) -> None:
    """Report the values that break enum, `@range`, `@check` or the type, missing ones, and ids that are not the key's.

    `rows` needs the columns of `ruled_columns` only.
    """
    present = tuple(declared for declared in entity.properties if declared.name in rows.column_names)
    for violation in (
        *_missing(rows, present, entity),
        *_not_finite(rows, present, entity),
        *find_violations(rows, replace(entity, properties=present)),
        *_id_mismatches(rows, entity),
    ):
        _report(violation, rows, entity, findings)


def check_values(rows: pa.Table, entity: EntityType, findings: OffenceCollector) -> None:
    """Report every value of whole images that an enum, `@range` or `@check` does not allow."""
    for violation in find_violations(rows, entity):
        _report(violation, rows, entity, findings)


def check_images(rows: pa.Table, entity: EntityType, findings: OffenceCollector) -> None:
    """Report what is required and null in whole images, and what `check_values` does."""
    if rows.num_rows == 0:
        return
    for violation in _missing(rows, entity.properties, entity):
        _report(violation, rows, entity, findings)
    check_values(rows, entity, findings)


def _report(violation: Violation, rows: pa.Table, entity: EntityType, findings: OffenceCollector) -> None:
    """Report the rows that break a rule, each by its id."""
    for row in violation.rows[: findings.limit].to_pylist():
        findings.add(
            Offence(
                code=violation.code,
                message=violation.describe(row),
                table_key=entity.table_key,
                property=violation.property,
                row_id=rows["id"][row].as_py(),
            )
        )
    findings.count(violation.code, max(len(violation.rows) - findings.limit, 0))


def _has_rule(declared: Property, entity: EntityType) -> bool:
    is_key = isinstance(entity, NodeType) and entity.key is not None and declared.name in entity.key.properties
    return (
        is_key
        or not declared.stored_nullable
        or declared.type.enum_values is not None
        or declared.name in entity.range_by_property
        or declared.name in entity.check_by_property
        or _holds_floats(declared)
    )


def _holds_floats(declared: Property) -> bool:
    return traits_of(declared.type.scalar).family in {Family.FLOAT, Family.VECTOR}


def _missing(rows: pa.Table, properties: tuple[Property, ...], entity: EntityType) -> Iterator[Violation]:
    for declared in properties:
        if declared.stored_nullable or rows[declared.name].null_count == 0:
            continue
        missing = pc.indices_nonzero(pc.is_null(rows[declared.name].combine_chunks()))
        message = f"{entity.name}.{declared.name} is required but null"
        yield Violation(code=Code.MISSING_REQUIRED, property=declared.name, rows=missing, describe=_always(message))


def _not_finite(rows: pa.Table, properties: tuple[Property, ...], entity: EntityType) -> Iterator[Violation]:
    for declared in filter(_holds_floats, properties):
        column = rows[declared.name].combine_chunks()
        is_nested = pa.types.is_nested(column.type)
        values = pc.list_flatten(column) if is_nested else column
        is_odd = pc.invert(pc.is_finite(values))
        if not pc.any(is_odd, min_count=0).as_py():
            continue
        odd = pc.indices_nonzero(is_odd)
        message = f"{entity.name}.{declared.name} holds a number that is not finite"
        yield Violation(
            code=Code.BAD_VECTOR if declared.type.is_vector else Code.OUT_OF_RANGE,
            property=declared.name,
            rows=pc.list_parent_indices(column).take(odd).unique() if is_nested else odd,
            describe=_always(message),
        )


def _always(message: str) -> Callable[[int], str]:
    return lambda _: message


def _id_mismatches(rows: pa.Table, entity: EntityType) -> Iterator[Violation]:
    if not isinstance(entity, NodeType) or entity.key is None:
        return
    for name in entity.key.properties:
        column = rows[name].combine_chunks()
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
            return  # reported above; such a value has no spelling that an id could be made of
    yield from find_id_mismatches(rows, derive_ids(rows, entity), entity)
