"""One JSON value of a declared type → one stored value, lists item by item."""

from omnigraph.catalog.model import PropertyType
from omnigraph.records.offences import Rejected
from omnigraph.records.scalar_forms import form_of
from omnigraph.records.strict_json import Json
from omnigraph.records.value_readers import Stored, wrong_type


def read_value(value: Json, declared: PropertyType) -> Stored:
    """Convert a non-null value to its stored form; raise `Rejected` with the code and the reason otherwise."""
    if not declared.is_list:
        return _read_scalar(value, declared)
    if not isinstance(value, list):
        raise wrong_type(value, declared)
    return [_read_item(item, declared, place=place) for place, item in enumerate(value, start=1)]


def _read_item(item: Json, declared: PropertyType, *, place: int) -> Stored:
    try:
        return _read_scalar(item, declared)
    except Rejected as exc:
        raise Rejected(exc.code, f"{exc} at item {place}") from exc


def _read_scalar(value: Json, declared: PropertyType) -> Stored:
    return form_of(declared.scalar).read(value, declared)
