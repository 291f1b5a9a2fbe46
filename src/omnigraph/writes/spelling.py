"""Python values as the JSON that records are made of."""

import base64
import json
from datetime import date, datetime


def spell_json(value: object) -> bytes:
    """Spell a value as one line of JSON, dates and bytes in the forms that records accept.

    A lone surrogate goes through as it is, for the reader of the line to refuse it with its place.
    """
    return json.dumps(value, ensure_ascii=False, default=_json_value).encode("utf-8", "surrogatepass")


def _json_value(value: object) -> object:
    match value:
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return "base64:" + base64.b64encode(value).decode()
        case _:
            raise TypeError(f"{type(value).__name__} is not a value that a property can hold")
