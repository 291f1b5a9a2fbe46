"""Which rows pass a condition. Null is never a match, numbers compare exactly, strings by their UTF-8 bytes."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.model import NUMBERS, PropertyType, Scalar
from omnigraph.query.access import Codes, ColumnAccess, Numbers, Ordinals, Truths
from omnigraph.query.plan.reading import read_by_condition
from omnigraph.query.plan.steps import AnyCondition
from omnigraph.query.run.arrays import numbers_of, truths_of
from omnigraph.query.run.bindings import Run, is_constant
from omnigraph.query.run.exact import COMPARE, MIRRORED, compare_numbers, compare_with_number, rounded_to_single
from omnigraph.query.run.rows import Rows
from omnigraph.query.run.texts import rows_matching
from omnigraph.query.typed import Condition, ConstantValue, PropertyRead, TextMatch

_ARROW_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def filter_rows(run: Run, rows: Rows, conditions: Iterable[AnyCondition]) -> Rows:
    """Keep the rows that pass all conditions."""
    for condition in conditions:
        if not rows.count:
            return rows
        mask = rows_passing(run, rows, condition)
        if mask is not True:
            rows = rows.nothing() if mask is False else rows.keep(mask)
    return rows


def rows_passing(run: Run, rows: Rows, condition: AnyCondition) -> Truths | bool:
    """Return which rows pass a condition, or that all or none do."""
    variables = read_by_condition(condition)
    if len(variables) == 1:
        (variable,) = variables
        column = rows.columns[variable]
        if isinstance(column, int):
            return bool(_passing(run, Rows(1, {variable: np.array([column], np.int32)}), condition)[0])
        entities = run.entities(_entity_of(condition))
        if rows.count > entities.size:
            # More rows than entities: each is asked once.
            return entities_passing(run, entities.size, variable, condition).take(column)
    if not variables:
        return bool(_passing(run, Rows(1, {}), condition)[0])
    return _passing(run, rows, condition)


def entities_passing(run: Run, entity_size: int, variable: str, condition: AnyCondition) -> Truths:
    """Return by ordinal which entities of a variable's type pass a condition that reads no other variable."""
    every = np.arange(entity_size, dtype=np.int32)
    return _passing(run, Rows(entity_size, {variable: every}, is_whole=True), condition)


def _entity_of(condition: AnyCondition) -> Any:
    sides = (condition.left, condition.right) if isinstance(condition, Condition) else (condition,)
    for side in sides:
        if isinstance(side, PropertyRead):
            return side.entity
        if isinstance(side, TextMatch):
            return side.field.entity
    raise AssertionError("the condition reads no variable")


def _passing(run: Run, rows: Rows, condition: AnyCondition) -> Truths:
    if isinstance(condition, TextMatch):
        return rows_matching(run, rows, condition)
    left, right = _operand(run, rows, condition.left), _operand(run, rows, condition.right)
    operator = condition.operator
    if operator in ("contains", "starts_with"):
        return _within(left, right, operator, rows.count)
    if isinstance(left, _Constant) and isinstance(right, _Constant):
        if left.value is None or right.value is None:
            return np.zeros(rows.count, np.bool_)
        return np.full(rows.count, bool(COMPARE[operator](left.value, right.value)), np.bool_)
    if isinstance(left, _Constant):
        assert isinstance(right, _Column)
        return right.compared_with(left.value, MIRRORED[operator])
    if isinstance(right, _Constant):
        return left.compared_with(right.value, operator)
    return left.compared(operator, right)


class _Constant:
    """One value for all rows."""

    __slots__ = ("type", "value")

    def __init__(self, value: ConstantValue | None, declared: PropertyType) -> None:
        self.value = value
        self.type = declared

    def listed(self, count: int) -> list[Any]:
        return [self.value] * count


class _Column:
    """A value per row: a property, or whether a text matches."""

    __slots__ = ("_access", "_count", "_is_whole", "_matches", "_ordinals", "type")

    def __init__(
        self,
        count: int,
        declared: PropertyType,
        *,
        access: ColumnAccess | None = None,
        ordinals: Ordinals | None = None,
        matches: Truths | None = None,
        is_whole: bool = False,
    ) -> None:
        self._is_whole = is_whole
        self.type = declared
        self._count = count
        self._access = access
        self._ordinals = ordinals
        self._matches = matches

    def numbers(self) -> Numbers:
        if self._matches is not None:
            return Numbers(self._matches, None)
        assert self._access is not None
        return self._access.numbers(None if self._is_whole else self._ordinals)

    def codes(self) -> Codes | None:
        assert self._access is not None
        return self._access.codes(None if self._is_whole else self._ordinals)

    def arrow(self) -> pa.Array:
        assert self._access is not None
        assert self._ordinals is not None
        return self._access.take(self._ordinals)

    def listed(self, count: int) -> list[Any]:
        del count
        if self.type.scalar in (Scalar.DATE, Scalar.DATETIME) and not self.type.is_list:
            values, valid = self.numbers()
            listed: list[Any] = values.tolist()
            return listed if valid is None else [v if ok else None for v, ok in zip(listed, valid, strict=True)]
        found: list[Any] = stored_items(self.arrow(), self.type).to_pylist()
        return found

    def compared_with(self, value: ConstantValue | None, operator: str) -> Truths:
        if value is None:
            return np.zeros(self._count, np.bool_)
        if self.type.scalar is Scalar.STRING:
            return self._text_compared_with(str(value), operator)
        values, valid = self.numbers()
        if self.type.scalar in NUMBERS:
            assert isinstance(value, int | float)
            number = rounded_to_single(value) if self.type.scalar is Scalar.F32 else value
            mask = compare_with_number(values, operator, number)
        else:
            mask = np.asarray(COMPARE[operator](values, value), np.bool_)
        return mask if valid is None else mask & valid

    def _text_compared_with(self, value: str, operator: str) -> Truths:
        coded = self.codes()
        if coded is None:
            return truths_of(_ARROW_COMPARE[operator](self.arrow(), pa.scalar(value, pa.string())))
        codes, words = coded
        place, is_there = word_place(words, value)
        if operator == "=":
            return np.asarray(codes == place, np.bool_) if is_there else np.zeros(len(codes), np.bool_)
        if operator == "!=":
            return np.asarray((codes >= 0) & (codes != place) if is_there else codes >= 0, np.bool_)
        if operator in ("<", "<="):
            end = place + (is_there and operator == "<=")
            return np.asarray((codes >= 0) & (codes < end), np.bool_)
        return np.asarray(codes >= place + (is_there and operator == ">"), np.bool_)

    def compared(self, operator: str, other: "_Column") -> Truths:
        if self.type.scalar is Scalar.STRING:
            return truths_of(_ARROW_COMPARE[operator](self.arrow(), other.arrow()))
        left, left_valid = self.numbers()
        right, right_valid = other.numbers()
        mask = compare_numbers(left, operator, right)
        for valid in (left_valid, right_valid):
            mask = mask if valid is None else mask & valid
        return mask


def word_place(words: pa.Array, value: str) -> tuple[int, bool]:
    """Return where a word stands, or would stand, in an ascending array, and whether it is there."""
    low, high = 0, len(words)
    wanted = value.encode()
    while low < high:
        middle = (low + high) // 2
        if words[middle].as_buffer().to_pybytes() < wanted:
            low = middle + 1
        else:
            high = middle
    return low, low < len(words) and words[low].as_py() == value


def _operand(run: Run, rows: Rows, expression: Any) -> _Constant | _Column:
    if is_constant(expression):
        return _Constant(run.constant(expression), expression.type)
    if isinstance(expression, PropertyRead):
        access = run.entities(expression.entity).column(expression.property)
        ordinals = rows.values(expression.variable)
        return _Column(rows.count, expression.type, access=access, ordinals=ordinals, is_whole=rows.is_whole)
    assert isinstance(expression, TextMatch)
    return _Column(rows.count, expression.type, matches=rows_matching(run, rows, expression))


def _within(left: _Constant | _Column, right: _Constant | _Column, operator: str, count: int) -> Truths:
    for side in (left, right):
        if isinstance(side, _Constant) and side.value is None:
            return np.zeros(count, np.bool_)
    if isinstance(left, _Column) and isinstance(right, _Constant):
        return _column_within(left, right.value, operator)
    if isinstance(left, _Constant) and isinstance(right, _Column) and _is_list_of_texts(left):
        return _column_among(right, left.value)
    pairs = zip(left.listed(count), right.listed(count), strict=True)
    judge = str.startswith if operator == "starts_with" else _holds
    return np.fromiter((a is not None and b is not None and judge(a, b) for a, b in pairs), np.bool_, count)


def _holds(whole: Any, part: Any) -> bool:
    return part in whole


def _is_list_of_texts(constant: _Constant) -> bool:
    return constant.type.is_list and constant.type.scalar is Scalar.STRING


def _column_among(column: _Column, values: Any) -> Truths:
    """Return where a text is one of many: each is looked up once, however many there are."""
    wanted = pa.array(values, pa.string())
    coded = column.codes()
    if coded is None:
        return truths_of(pc.is_in(column.arrow(), value_set=wanted))
    # One more place, for null, which is the last one from the end.
    return np.append(truths_of(pc.is_in(coded.words, value_set=wanted)), False)[coded.codes]


def _column_within(column: _Column, value: Any, operator: str) -> Truths:
    if not column.type.is_list:
        coded = column.codes()
        source = column.arrow() if coded is None else coded.words
        found = pc.starts_with(source, value) if operator == "starts_with" else pc.match_substring(source, value)
        mask = truths_of(found)
        if coded is None:
            return mask
        # One more place, for null, which is the last one from the end.
        return np.append(mask, False)[coded.codes]
    lists = column.arrow()
    items = stored_items(pc.list_flatten(lists), PropertyType(scalar=column.type.scalar))
    if column.type.scalar is Scalar.STRING:
        is_it = truths_of(pc.equal(items, pa.scalar(value, pa.string())))
    elif column.type.scalar is Scalar.BOOL:
        is_it = numbers_of(items).values == value
    else:
        number = rounded_to_single(value) if column.type.scalar is Scalar.F32 else value
        is_it = compare_with_number(numbers_of(items).values, "=", number)
    mask = np.zeros(len(lists), np.bool_)
    mask[numbers_of(pc.list_parent_indices(lists).cast(pa.int64())).values[is_it]] = True
    return mask


def stored_items(values: pa.Array, declared: PropertyType) -> pa.Array:
    """Return values in which moments are the numbers that columns store."""
    plain = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}.get(declared.scalar)
    if plain is None:
        return values
    return values.cast(pa.list_(pa.field("item", plain)) if declared.is_list else plain)
