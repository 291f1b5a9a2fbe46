"""Python values as the JSON that records are made of."""

import base64
import json
from datetime import date, datetime

from omnigraph.base.units import shorten
from omnigraph.errors import Usage


def spell_json(value: object) -> bytes:
    """Spell a value as one line of JSON, dates and bytes in the forms that records accept.

    A lone surrogate goes through as it is, for the reader of the line to refuse it with its place.
    """
    return json.dumps(value, ensure_ascii=False, default=_json_value).encode("utf-8", "surrogatepass")


def _json_value(value: object) -> object:
    match value:
        case _ if type(value).__name__ in {"NAType", "NaTType"}:
            return None  # how pandas says that there is no value; its missing time calls itself a datetime
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return "base64:" + base64.b64encode(value).decode()
        case _ if callable(item := getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
            plain: object = item()  # a single number of numpy
            return plain
        case _ if callable(listed := getattr(value, "tolist", None)):
            values: object = listed()
            return values
        case _:
            raise Usage(f"{type(value).__name__} is not a value that a property can hold: {shorten(repr(value), 60)}.")
