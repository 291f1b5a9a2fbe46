"""Which entities `where` means: one comparison, spelled for a scan of the stored rows and for rows in memory alike.

Numbers compare by exact value, whatever their types: a column holds only some numbers, so a value between two of them
moves to the neighbour with which the comparison says the same.
"""

import math
from fractions import Fraction

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import arrow_type
from omnigraph.catalog.model import INTEGERS, NUMBERS, EntityType, PropertyType, Scalar
from omnigraph.catalog.values import ValueRefusedError, nearest_float32
from omnigraph.query.mutate.values import RunValues
from omnigraph.query.typed import FROM, ID, TO, ConstantValue, Predicate
from omnigraph.records.value_readers import whole_bounds
from omnigraph.storage.filters import Comparison, Operator
from omnigraph.writes.working import EntityFilter

NOTHING = EntityFilter(ids=())
_COLUMN_BY_END = {FROM: "src", TO: "dst"}
_MOMENTS = frozenset({Scalar.DATE, Scalar.DATETIME})


def selection_of(entity: EntityType, predicate: Predicate, values: RunValues) -> EntityFilter:
    """Return what a predicate selects; null never matches, and nothing matches null."""
    value = values.of(predicate.value)
    if value is None or isinstance(value, tuple):
        return NOTHING
    if predicate.property == ID and predicate.operator == "=":
        return EntityFilter(ids=(str(value),))
    column = _COLUMN_BY_END.get(predicate.property, predicate.property) if entity.kind == "edge" else predicate.property
    comparison = comparison_between(column, predicate.type, predicate.operator, value)
    return NOTHING if comparison is None else EntityFilter(where=(comparison,))


def comparison_between(
    column: str, declared: PropertyType, operator: Operator, value: ConstantValue
) -> Comparison | None:
    """Compare a column with a value that is not null; None if that never holds."""
    if declared.scalar in NUMBERS and isinstance(value, int | float):
        return _near(declared.scalar, value).comparison(column, operator)
    if declared.scalar in _MOMENTS:
        return Comparison(column, operator, pa.scalar(value, arrow_type(declared)))
    assert not isinstance(value, tuple)
    return Comparison(column, operator, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Neighbours:
    """The numbers of a column next to a value: the largest that is not above and the smallest that is not below it."""

    below: int | float | None
    above: int | float | None

    def comparison(self, column: str, operator: Operator) -> Comparison | None:
        is_there = self.below is not None and self.below == self.above
        if operator == "=":
            return Comparison(column, "=", self.below) if is_there else None
        if operator == "!=":
            return Comparison(column, "!=", self.below if is_there else None)
        if operator in {"<", ">="}:
            if self.above is None:
                return Comparison(column, "!=", None) if operator == "<" else None
            return Comparison(column, operator, self.above)
        if self.below is None:
            return Comparison(column, "!=", None) if operator == ">" else None
        return Comparison(column, operator, self.below)


def _near(scalar: Scalar, value: float) -> _Neighbours:
    if scalar in INTEGERS:
        return _near_whole(*whole_bounds(scalar), value)
    if scalar is Scalar.F32:
        try:
            rounded = nearest_float32(float(value))
        except ValueRefusedError:
            # Beyond all numbers of the column.
            largest = nearest_float32(3.4028234663852886e38)
            return _Neighbours(below=largest, above=None) if value > 0 else _Neighbours(below=None, above=-largest)
        return _Neighbours(below=rounded, above=rounded)
    nearest = float(value)
    if Fraction(nearest) == Fraction(value):
        return _Neighbours(below=nearest, above=nearest)
    if nearest > value:
        return _Neighbours(below=math.nextafter(nearest, -math.inf), above=nearest)
    return _Neighbours(below=nearest, above=math.nextafter(nearest, math.inf))


def _near_whole(low: int, high: int, value: float) -> _Neighbours:
    below, above = math.floor(value), math.ceil(value)
    return _Neighbours(
        below=None if below < low else min(below, high),
        above=None if above > high else max(above, low),
    )
