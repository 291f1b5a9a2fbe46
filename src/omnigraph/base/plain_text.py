"""The one check of text that comes from outside: who writes, what a commit says, names, ids, addresses.

Such text is stored, listed line by line and handed to libraries that want UTF-8. Half of a surrogate pair, which is
how Python spells bytes of a command line that are no UTF-8, can be none of these; a line feed forges a line of a
listing, an escape sequence a whole screen. Values of records are data and do not come through here. YAML that people
write by hand is read here, too.
"""

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_SURROGATES = "\ud800-\udfff"
# Control characters, separators of lines and paragraphs, and the marks that turn the direction of what follows.
_UNPRINTABLE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069{_SURROGATES}]")
_HALF_CHARACTER = re.compile(f"[{_SURROGATES}]")
_SHOWN_MAX = 60

NAME_BYTES_MAX = 1_024
MESSAGE_BYTES_MAX = 65_536
_TAB = r"'\t'"
"""How the parser of YAML spells the character."""
_YAML_MERGE = "tag:yaml.org,2002:merge"


def plain_text(
    text: object,
    *,
    what: str,
    refusal: Callable[[str], Exception],
    bytes_max: int = MESSAGE_BYTES_MAX,
    is_shown: bool = True,
) -> str:
    """Return text that may be stored and listed; raise what `refusal` makes of the message otherwise.

    `what` names the text at the start of a sentence, such as "The actor". Without `is_shown` the message does not
    repeat the text.
    """
    if not isinstance(text, str):
        raise refusal(f"{what} must be text, not {type(text).__name__}.")
    named = f"{what} {_shown(text)}" if is_shown else what
    # Nearly all text is printable throughout, and asking for that is one fast call.
    wrong = None if text.isprintable() else _UNPRINTABLE.search(text)
    if wrong is not None:
        raise refusal(f"{named} {_problem(wrong)}.")
    if len(text.encode()) > bytes_max:
        raise refusal(f"{named} is longer than {bytes_max} bytes.")
    return text


def is_unicode(text: str) -> bool:
    """Tell whether text can be stored at all: values of records may hold anything else, but no half characters."""
    return text.isprintable() or not _HALF_CHARACTER.search(text)


def printable(text: str) -> str:
    """Spell text so that it can be stored and listed: what `plain_text` would refuse is written as an escape."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _problem(wrong: re.Match[str]) -> str:
    character, place = wrong[0], wrong.start() + 1
    if not is_unicode(character):
        return f"is not valid Unicode (character {place}); write it in UTF-8"
    return f"has the control character U+{ord(character):04X} in it (character {place}); leave it out"


def _shown(text: str) -> str:
    # The spelling of a literal escapes whatever a terminal cannot show.
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


class DuplicateKey(ValueError):
    """A key stands twice in one mapping; the message names the line of the second."""


def read_yaml(text: str | bytes, *, is_strict: bool = False) -> object:
    """Return what a YAML text says; raise ValueError with the reason in one line, whatever stopped the parser.

    Bytes are those of a file, which must be UTF-8; a mark of it at the beginning is read over.
    A strict reader refuses a key that stands twice in one mapping, of which otherwise the last one counts, and keys
    that are merged in from elsewhere (`<<`): what counts is what people read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            keys: set[Hashable] = set()
            for key_node, _ in node.value if is_strict else ():
                line = key_node.start_mark.line + 1
                if key_node.tag == _YAML_MERGE:
                    raise ValueError(f"line {line} merges keys in with <<; write them out")
                key = self.construct_object(key_node, deep=True)
                if key in keys:
                    raise DuplicateKey(f"duplicate key {str(key)!r} in line {line}")
                keys.add(key)
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(text.decode("utf-8-sig") if isinstance(text, bytes) else text, Loader)  # noqa: S506 — a safe one
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except DuplicateKey:
        raise
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text (byte {error.start + 1})") from error
    except yaml.MarkedYAMLError as error:
        raise ValueError(_marked(error)) from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        # The parser's own text spans lines; a date that is none, or a key that cannot be one, is no YAMLError to it.
        raise ValueError(" ".join(str(error).split())) from error


def _marked(error: "yaml.MarkedYAMLError") -> str:
    """Say where the parser stopped and why; what it was about to read, and a drawing of it, help nobody."""
    # Nearly every problem is a sentence of its own; one begins in the context.
    said = [error.context, error.problem] if (error.problem or "but").startswith("but") else [error.problem]
    reason = " ".join(" ".join(filter(None, said)).split()) or "it is no YAML"
    mark = error.problem_mark or error.context_mark
    place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
    hint = "; indent with spaces instead of tabs" if _TAB in reason else ""
    return f"{place}{reason}{hint}"
