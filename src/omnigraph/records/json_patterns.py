"""RE2 patterns of JSON tokens, for `patterns.py`: what they accept, Arrow reads as `value_readers.py` would."""

from omnigraph.catalog.scalars import Scalar

SPACE = r"[ \t]*"
_HEX = r"[0-9a-fA-F]"
# Surrogates count only in pairs: a lone one is no character.
_ESCAPE = (
    rf'\\(?:["\\/bfnrt]|u(?:[0-9a-cefA-CEF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}'
    rf"|[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}))"
)
STRING = rf'"(?:[^"\\\x00-\x1f]|{_ESCAPE})*"'
NATURAL = r"(?:0|[1-9][0-9]*)"
INTEGER = rf"-?{NATURAL}"
WHOLE = r"(?:0|[1-9][0-9]{0,14})(?:\.0+)?"
NUMBER = rf"{INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_YEAR = r"(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_DAY = rf"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"

MOMENT_BY_SCALAR = {Scalar.DATE: _DAY, Scalar.DATETIME: f"{_DAY}[T ]{_TIME}{_ZONE}?"}
"""Spellings of dates and timestamps that Arrow reads as the catalog does, if the day and the time exist."""

ENDS_WITH_ZONE = f":[0-9.]+{_ZONE}$"
