"""Rules about single entities that whole columns are checked for: enum values, `@range`, `@check` and derived ids.

Null is exempt from all of them. Which file and line a row came from is not known here.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.units import shorten
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import FLOATS, EntityType, NodeType, Property, Range
from omnigraph.records.offences import Code
from omnigraph.records.strict_json import spell
from omnigraph.records.value_readers import whole_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule and the rows that break it, by ascending index; `describe` words the message for one row."""

    code: Code
    property: str
    rows: pa.Array
    describe: Callable[[int], str]


def find_violations(table: pa.Table, entity: EntityType) -> Iterator[Violation]:
    """Yield every rule of the type that at least one row breaks."""
    for declared in entity.properties:
        column = table[declared.name].combine_chunks()
        for violation in _property_violations(column, declared, entity):
            if len(violation.rows):
                yield violation


def find_id_mismatches(table: pa.Table, derived: pa.Array, node: NodeType) -> Iterator[Violation]:
    """Yield the rows whose explicit id is not the one derived from their key."""
    given = table["id"].combine_chunks()

    def describe(row: int) -> str:
        # Ids of composite keys hold quotes; they are shown as they are, so that they can be searched for.
        return f"{node.name} id {shorten(given[row].as_py())} is not the id of its key, {shorten(derived[row].as_py())}"

    rows = pc.indices_nonzero(pc.not_equal(given, derived))
    if len(rows):
        yield Violation(code=Code.ID_MISMATCH, property="id", rows=rows, describe=describe)


def _property_violations(column: pa.Array, declared: Property, entity: EntityType) -> Iterator[Violation]:
    if declared.type.enum_values is not None:
        yield _enum_violation(column, declared, entity)
    for range_rule in entity.range_by_property.get(declared.name, ()):
        yield from _range_violations(column, declared, range_rule, entity)
    for check_rule in entity.check_by_property.get(declared.name, ()):
        yield _check_violation(column, check_rule.pattern, declared, entity)


def _enum_violation(column: pa.Array, declared: Property, entity: EntityType) -> Violation:
    allowed = declared.type.enum_values or ()
    is_foreign = pc.and_(pc.is_valid(column), pc.invert(pc.is_in(column, value_set=pa.array(allowed, column.type))))

    def describe(row: int) -> str:
        value = spell(column[row].as_py())
        return f"invalid enum value {value} for {entity.name}.{declared.name}; allowed: {', '.join(allowed)}"

    return Violation(
        code=Code.INVALID_ENUM, property=declared.name, rows=pc.indices_nonzero(is_foreign), describe=describe
    )


def _check_violation(column: pa.Array, pattern: str, declared: Property, entity: EntityType) -> Violation:
    def describe(row: int) -> str:
        value = spell(column[row].as_py())
        return f"@check violation on {entity.name}.{declared.name}: {value} does not match {pattern}"

    rows = pc.indices_nonzero(pc.invert(pc.match_substring_regex(column, pattern)))
    return Violation(code=Code.CHECK_VIOLATION, property=declared.name, rows=rows, describe=describe)


def _range_violations(column: pa.Array, declared: Property, rule: Range, entity: EntityType) -> Iterator[Violation]:
    if rule.low is not None:
        yield _range_violation(column, _is_below(column, declared, rule.low), f"below {rule.low}", declared, entity)
    if rule.high is not None:
        yield _range_violation(column, _is_above(column, declared, rule.high), f"above {rule.high}", declared, entity)


def _range_violation(
    column: pa.Array, is_outside: pa.Array, where: str, declared: Property, entity: EntityType
) -> Violation:
    def describe(row: int) -> str:
        value = column[row].cast(pa.utf8()).as_py()
        return f"@range violation on {entity.name}.{declared.name}: {value} is {where}"

    rows = pc.indices_nonzero(is_outside)
    return Violation(code=Code.RANGE_VIOLATION, property=declared.name, rows=rows, describe=describe)


def _is_below(column: pa.Array, declared: Property, low: float) -> pa.Array:
    """Compare exactly: the bound moves to the next value that the column can hold, never the column to the bound."""
    if declared.type.scalar in FLOATS:
        bound = float(low)
        return pc.less(column, bound if Fraction(bound) >= Fraction(low) else math.nextafter(bound, math.inf))
    smallest, largest = whole_bounds(declared.type.scalar)
    if math.ceil(low) > largest:
        return pc.is_valid(column)
    return pc.less(column, pa.scalar(max(math.ceil(low), smallest), column.type))


def _is_above(column: pa.Array, declared: Property, high: float) -> pa.Array:
    if declared.type.scalar in FLOATS:
        bound = float(high)
        return pc.greater(column, bound if Fraction(bound) <= Fraction(high) else math.nextafter(bound, -math.inf))
    smallest, largest = whole_bounds(declared.type.scalar)
    if math.floor(high) < smallest:
        return pc.is_valid(column)
    return pc.greater(column, pa.scalar(min(math.floor(high), largest), column.type))
