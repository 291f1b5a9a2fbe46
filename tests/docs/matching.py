"""Comparing what a page shows with what a run prints.

Three things differ from run to run. An id (a ULID) on a page stands for the id that the run got, and the same id stands
for the same one on the whole page, in commands too. A commit time stands for any commit time. `…` stands for any text
on its line, and on a line of its own for any lines.
"""

import re

_MARKS = re.compile(
    r"(?P<id>\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d|T\d\d:\d\d:\d\dZ)\b)|(?P<gap>…)"
)
_ANY_ID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
_ANY_TIME = {" ": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "T": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}
"""By what stands between day and hour: for people, and for programs."""


class Reading:
    """What the names on one page stand for in one run of it."""

    def __init__(self, known: dict[str, str]) -> None:
        self._actual = dict(known)

    def spell(self, text: str) -> str:
        """Put the names of this run into the text of a page."""
        for shown, actual in self._actual.items():
            text = text.replace(shown, actual)
        return text

    def agrees(self, shown: str, printed: str) -> bool:
        """Whether a run printed what the page shows; ids met for the first time are remembered."""
        pattern, new_ids = self._pattern(_trimmed(self.spell(shown)))
        match = re.fullmatch(pattern, _trimmed(printed), re.DOTALL)
        if match is None:
            return False
        self._actual.update({shown_id: match[group] for shown_id, group in new_ids.items()})
        return True

    def _pattern(self, shown: str) -> tuple[str, dict[str, str]]:
        """Turn shown text into a pattern, and say which group catches which id."""
        groups: dict[str, str] = {}
        pattern, end = "", 0
        for mark in _MARKS.finditer(shown):
            pattern += re.escape(shown[end : mark.start()])
            end = mark.end()
            match mark.lastgroup:
                case "gap":
                    pattern += ".*" if _is_alone(shown, mark) else r"[^\n]*"
                case "time":
                    pattern += _ANY_TIME[mark["time"][10]]
                case _ if mark["id"] in self._actual.values():
                    pattern += mark["id"]
                case _ if mark["id"] in groups:
                    pattern += f"(?P={groups[mark['id']]})"
                case _:
                    groups[mark["id"]] = f"id{len(groups)}"
                    pattern += f"(?P<{groups[mark['id']]}>{_ANY_ID})"
        return pattern + re.escape(shown[end:]), groups


def _is_alone(text: str, mark: re.Match[str]) -> bool:
    starts_line = mark.start() == 0 or text[mark.start() - 1] == "\n"
    ends_line = mark.end() == len(text) or text[mark.end()] == "\n"
    return starts_line and ends_line


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n"))
