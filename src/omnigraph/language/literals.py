"""The value of a written number or string; the schema and the query language spell them alike.

What no column could hold, and escapes that do not exist, are noted as problems; some value is returned all the same,
so that the reading goes on.
"""

import math
import re
from decimal import Decimal

from omnigraph.base.units import shorten
from omnigraph.language.problems import Problems
from omnigraph.language.source import Span

_INTEGER_MIN = -(2**63)
_INTEGER_MAX = 2**64 - 1
_INTEGER_DIGITS_MAX = 40
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_SPELLED = str.maketrans({letter: f"\\{escape}" for escape, letter in _ESCAPES.items()})


def integer_value(written: str, span: Span, problems: Problems) -> int:
    """Return a whole number; one that no column holds is a problem."""
    # Python refuses to convert thousands of digits, so the length is looked at first.
    number = int(written) if len(written) <= _INTEGER_DIGITS_MAX else _INTEGER_MAX + 1
    if not _INTEGER_MIN <= number <= _INTEGER_MAX:
        problems.add(
            span, f"{shorten(written, 40)} is too large: whole numbers range from {_INTEGER_MIN} to {_INTEGER_MAX}"
        )
    return number


def float_value(written: str, span: Span, problems: Problems) -> float:
    """Return a number with a fraction; one that only infinity is near to is a problem."""
    number = float(written)
    if math.isinf(number):
        problems.add(span, f"{shorten(written, 40)} is too large for a number")
    return number


def string_value(written: str, span: Span, problems: Problems) -> str:
    """Return what stands between the quotes; an escape that does not exist is a problem."""
    if "\\" not in written:
        return written[1:-1]

    def unescape(escape: re.Match[str]) -> str:
        letter = escape[1]
        if letter not in _ESCAPES:
            place = Span(start=span.start + 1 + escape.start(), end=span.start + 1 + escape.end())
            shown = letter if letter.isprintable() else ascii(letter)[1:-1]
            problems.add(place, f'unknown escape `\\{shown}`: a string knows \\", \\\\, \\n, \\r and \\t')
        return _ESCAPES.get(letter, letter)

    return _ESCAPE.sub(unescape, written[1:-1])


def spell_literal(value: str | float | bool) -> str:
    """Write a string, number or boolean as both languages read it."""
    if isinstance(value, str):
        return f'"{value.translate(_SPELLED)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # The languages have no exponents, and a float needs digits on both sides of the point.
        digits = format(Decimal(repr(value)), "f")
        return digits if "." in digits else f"{digits}.0"
    return str(value)
