"""Filters that people write as SQL text, made safe for Lance.

Lance's parser takes `"name"` for a text in quotes and folds the case of bare names, so that a condition which any other
SQL understands would match nothing, silently. Here every word that is a column of the table becomes its quoted name.
"""

import re
from collections.abc import Sequence

from omnigraph.errors import InvalidTarget
from omnigraph.storage.filters import quote_name

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')          # a text
      | (?P<quoted>"[^"]*"|`[^`]*`)       # a quoted name
      | (?P<word>[^\W\d]\w*)              # a bare name, a keyword or a function
      | (?P<rest>[^'"`\w]+|[\d][\w.]*)    # operators, numbers, blanks
      | (?P<open>['"`])                   # the start of something that never ends""",
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    {"and", "or", "not", "in", "is", "null", "like", "ilike", "escape", "between", "true", "false", "date", "timestamp"}
    | {"interval", "case", "when", "then", "else", "end", "cast", "try_cast", "as", "similar", "to", "distinct", "from"}
)


def read_filter(text: str, columns: Sequence[str], *, what: str) -> str:
    """Return the filter with the names of columns as Lance takes them; `what` is the table, for messages.

    Names are compared with regard to case first, and without where that leaves one. A name that is no column, a quote
    that is never closed or an empty text is refused: each would otherwise be an answer to another question.
    """
    if not text.strip():
        raise InvalidTarget(f"The filter of {what} is empty; leave it out to read all rows.")
    return "".join(_spelled(match, columns, text, what) for match in _TOKEN.finditer(text))


def _spelled(match: re.Match[str], columns: Sequence[str], text: str, what: str) -> str:
    token = match[0]
    match match.lastgroup:
        case "quoted":
            return quote_name(_column(token[1:-1], columns, text, what))
        case "word":
            is_call = text[match.end() :].lstrip().startswith("(")
            is_plain = token not in columns and (is_call or token.lower() in _KEYWORDS)
            return token if is_plain else quote_name(_column(token, columns, text, what))
        case "open":
            raise InvalidTarget(f"The filter {text!r} of {what} opens a {token} that it does not close.")
        case _:
            return token


def _column(name: str, columns: Sequence[str], text: str, what: str) -> str:
    if name in columns:
        return name
    alike = [column for column in columns if column.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    raise InvalidTarget(
        f"The filter {text!r} names {name}, which {what} does not have; it has {', '.join(columns)}. "
        "A text stands in single quotes."
    )
