"""One strict JSON value per line, with numbers kept as they were written.

Python's parser accepts repeated members, NaN, infinities and lone surrogates; the hooks here refuse them. Numbers stay
text, because only the declared type knows how to round: 64-bit integers must be exact and `F32` rounds once, from the
decimal.
"""

import json
import re
from collections import Counter
from typing import NoReturn, TypeAlias

from omnigraph.base.units import shorten
from omnigraph.records.offences import Code, Rejected


class Number(str):
    """A JSON number token."""

    __slots__ = ()


Json: TypeAlias = "bool | str | Number | list[Json] | dict[str, Json] | None"

_WHITE_SPACE = " \t\r\n"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def decode_line(line: bytes) -> Json:
    """Read the one value of a line; raise `Rejected` if the line is anything but one strict JSON value."""
    try:
        text = line.decode()
    except UnicodeDecodeError as exc:
        raise Rejected(Code.INVALID_UTF8, f"not UTF-8: byte 0x{line[exc.start]:02x} at byte {exc.start + 1}") from exc
    try:
        value = _decode(text)
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as exc:
        raise Rejected(Code.INVALID_JSON, f"not strict JSON: {exc.msg} at column {exc.colno}") from exc
    except UnicodeEncodeError as exc:
        raise Rejected(Code.INVALID_JSON, "not strict JSON: a lone surrogate in a string") from exc
    except RecursionError as exc:
        raise Rejected(Code.INVALID_JSON, "not strict JSON: nested too deeply") from exc
    return value


def spell(value: Json) -> str:
    """Spell a value for a message: JSON with nested containers left out, cut after 200 characters."""
    if isinstance(value, list):
        text = f"[{', '.join(_spell_scalar(item) for item in value[:200])}]"
    elif isinstance(value, dict):
        members = list(value.items())[:200]
        text = f"{{{', '.join(f'{_spell_scalar(name)}: {_spell_scalar(item)}' for name, item in members)}}}"
    else:
        text = _spell_scalar(value)
    return shorten(text)


def _decode(text: str) -> Json:
    # What `JSONDecoder.decode` does, without the two regular expressions that it spends on white space.
    value: Json
    value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_WHITE_SPACE)))
    if text[end:].strip(_WHITE_SPACE):
        raise json.JSONDecodeError("Text after the value", text, end)
    return value


def _spell_scalar(value: Json) -> str:
    if isinstance(value, list):
        return "[…]"
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, Number):
        return str(value)
    # Slicing first spares the escaping of a document that will be cut anyway.
    return json.dumps(value[:201] if isinstance(value, str) else value, ensure_ascii=False)


def _unique_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        (repeated, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise Rejected(Code.DUPLICATE_MEMBER, f"member {spell(repeated)} is repeated")
    return members


def _refuse_constant(token: str) -> NoReturn:
    raise Rejected(Code.INVALID_JSON, f"not strict JSON: {token} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
)
