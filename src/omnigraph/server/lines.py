"""How a line of the log is spelled: as text for people or as JSON for programs, from a message and facts.

A busy server writes the same few lines again and again with other ids and times in them. What stays the same in such
a line is its shape, and is spelled once.
"""

import json
import logging
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

import orjson

from omnigraph.base import clock

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_WORDS = {level: word for word, level in LEVELS.items()}

Facts = Mapping[str, Any]


class Varies(Enum):
    """Stands in a shape for a fact that every line has another value of."""

    TEXT = '"%s"'
    """A text that can be spelled as it is, in both forms."""
    NUMBER = "%s"


class LineShape:
    """A line of which only some facts vary; `spell` takes those, in the order of the facts."""

    __slots__ = ("_json", "_text")

    def __init__(self, message: str, facts: Facts) -> None:
        head = f" {'info':7} {message}"
        self._text = f"{_escaped(head)}{''.join(_shaped_text(facts))}\n"
        self._json = f'","level":"info","msg":{_escaped(_json(message))}{"".join(_shaped_json(facts))}}}\n'

    def spell(self, at_us: int, values: tuple[Any, ...], *, is_json: bool) -> str:
        """Spell the line of one moment."""
        if is_json:
            return f'{{"ts":"{_moment(at_us)}{self._json % values}'
        return f"{_moment(at_us)}{self._text % values}"


def spell_line(at_us: int, level: int, message: str, facts: Facts, *, is_json: bool) -> str:
    """Spell a line that has no shape; facts that are None are left out of text."""
    word = _WORDS.get(level) or logging.getLevelName(level).lower()
    if is_json:
        line = {"ts": _moment(at_us), "level": word, "msg": message, **facts}
        return orjson.dumps(line, default=str, option=orjson.OPT_APPEND_NEWLINE).decode()
    told = "".join([f" {name}={_plain(value)}" for name, value in facts.items() if value is not None])
    return f"{_moment(at_us)} {word:7} {_in_one_line(message)}{told}\n"


def _shaped_text(facts: Facts) -> list[str]:
    return [
        f" {name}=%s" if isinstance(value, Varies) else _escaped(f" {name}={_plain(value)}")
        for name, value in facts.items()
        if value is not None
    ]


def _shaped_json(facts: Facts) -> list[str]:
    return [
        f",{_json(name)}:{value.value if isinstance(value, Varies) else _escaped(_json(value))}"
        for name, value in facts.items()
    ]


def _json(value: object) -> str:
    return orjson.dumps(value, default=str).decode()


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _moment(at_us: int) -> str:
    return f"{_second(at_us // 1_000_000)}.{at_us // 1_000 % 1_000:03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return clock.timestamp_from_us(seconds * 1_000_000)[:-1]


def _in_one_line(message: str) -> str:
    """Spell a message so that nothing in it can look like a line of its own."""
    message = message.strip()
    return message if message.isprintable() else json.dumps(message, ensure_ascii=False)[1:-1]


def _plain(value: object) -> str:
    """Spell a value for a line of text: as it is if that cannot be misread, else as JSON."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text and text.isprintable() and not {*' ="'} & {*text} else json.dumps(text)
