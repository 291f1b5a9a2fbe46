"""The values of one run, and what a property stores for them."""

from collections.abc import Mapping

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import FLOATS, INTEGERS, EntityType, Scalar
from omnigraph.catalog.values import ValueRefusedError, nearest_float32, stored_value
from omnigraph.errors import ExternalBlobDenied, OmniError, QueryExecution, ResourceLimit
from omnigraph.query.typed import AssignedValue, Assignment, Constant, ConstantValue, Now, Parameter
from omnigraph.records.offences import Code, ReferenceTooLong, Rejected
from omnigraph.records.scalar_forms import read_value
from omnigraph.records.value_readers import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValues:
    """The parameters of a run and its time, fixed before the first attempt."""

    parameters: Mapping[str, ConstantValue | None]
    now_ms: int

    def of(self, value: AssignedValue) -> ConstantValue | None:
        """Return what a value stands for in this run; None is null."""
        match value:
            case Constant():
                return value.value
            case Parameter():
                return self.parameters[value.name]
            case Now():
                return self.now_ms
            case None:
                return None


def assigned(entity: EntityType, assignment: Assignment, values: RunValues) -> "Stored | None":
    """Return what a property stores for the value that a statement assigns to it.

    Integers widen to floats and floats round to the width of the property; nothing else becomes something else. Whether
    null, an enum value or a range is allowed is decided on the final state.
    """
    value = values.of(assignment.value)
    if value is None or assignment.value is None:
        return None
    try:
        return _stored(value, assignment, given=assignment.value.type.scalar)
    except ValueRefusedError as refused:
        raise _refusal(entity, assignment, str(refused)) from refused
    except ReferenceTooLong as refused:
        raise ResourceLimit(
            f"query: {entity.name}.{assignment.property} {refused}",
            resource="external_blob_uri_bytes",
            limit=refused.limit,
            actual=refused.size,
        ) from refused
    except Rejected as refused:
        if refused.code is Code.EXTERNAL_BLOB_DENIED:
            raise ExternalBlobDenied(
                f"{entity.name}.{assignment.property} {refused}", uri=_redacted(str(value))
            ) from refused
        raise _refusal(entity, assignment, str(refused)) from refused


def _stored(value: ConstantValue, assignment: Assignment, *, given: Scalar) -> Stored:
    declared = assignment.type
    if declared.scalar is Scalar.BLOB:
        return read_value(str(value), declared)
    if declared.scalar in INTEGERS and given in FLOATS:
        raise ValueRefusedError(f"a {given} is never stored as a whole number")
    if declared.scalar is Scalar.VECTOR:
        return [nearest_float32(float(item)) for item in _items(value)]
    if declared.is_list:
        return [_scalar(item, assignment) for item in _items(value)]
    if isinstance(value, tuple):
        raise ValueRefusedError("it is a list")
    return _scalar(value, assignment)


def _scalar(value: str | float | bool, assignment: Assignment) -> Stored:
    # Enum values are judged with everything else that a rule allows or not.
    return value if assignment.type.enum_values is not None else stored_value(value, assignment.type)


def _items(value: ConstantValue) -> tuple[str | int | float | bool, ...]:
    return value if isinstance(value, tuple) else (value,)


def _redacted(reference: str) -> str:
    """Keep of a reference what says where it points: the rest may hold credentials."""
    scheme, separator, _ = reference.partition("://")
    return f"{scheme}://…" if separator and scheme.isalnum() else "…"


def _refusal(entity: EntityType, assignment: Assignment, reason: str) -> OmniError:
    return QueryExecution(
        f"query: {entity.name}.{assignment.property} is {assignment.type} and cannot take the value: {reason}",
        table_key=entity.table_key,
        property=assignment.property,
    )
