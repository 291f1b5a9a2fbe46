"""What went wrong in a Spark job, in one sentence: the cause at the bottom of what Spark prints, and where it was."""

import re
from itertools import pairwise

_TRACEBACK = "Traceback (most recent call last)"
_PLACE = re.compile(r"\(TID \d+\) \((?P<host>\S+) executor (?P<executor>[^)\s]+)\)")
_LOST = re.compile(r"ExecutorLostFailure \((?P<what>executor \S+).*?\)(?: Reason: (?P<reason>.*))?")
_JAVA_CLASS = re.compile(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error): ")
_CAUSED_BY = "Caused by: "
_DRIVER = "Driver stacktrace:"
_EMPTY = (
    # What Spark says instead of the cause.
    "Exception thrown in awaitResult",
    "Job aborted",
    "Could not execute broadcast",
    # What the other end of a connection sees of a process that ended.
    "java.io.EOFException",
    "Connection reset",
    "Broken pipe",
)


def job_cause(text: str) -> str:
    """Return the cause that Spark's message holds, and the host on which it was unless that is this process."""
    if _TRACEBACK in text and (raised := _raised_by_python(text)):
        return raised
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]  # what the bridge to Java says of every failure
    place = _PLACE.search(text)
    where = f" on {place['host']}" if place and place["executor"] != "driver" else ""
    if lost := _LOST.search(text):
        reason = (lost["reason"] or "no reason given").strip().rstrip(".")
        return f"{lost['what']}{where} was lost: {reason}"
    causes = [line.removeprefix(_CAUSED_BY) for line in reversed(lines) if line.startswith(_CAUSED_BY)]
    telling = [line for line in causes if not any(empty in line for empty in _EMPTY)]
    first = lines[0].lstrip(": ") if lines else "no reason"
    if place and (told := text[place.end() :].partition("\n")[0].lstrip(": ")):
        first = told
    return (_fullest(telling) if telling else _message(first)) + where


def _fullest(causes: list[str]) -> str:
    """Return the deepest cause as the exceptions around it say it, where they repeat it and add to what."""
    said = _message(causes[0])
    for around in causes[1:]:
        if said not in around:
            break
        said = _message(around)
    return said


def _message(line: str) -> str:
    return _JAVA_CLASS.sub("", line).strip().rstrip(".")


def _raised_by_python(text: str) -> str | None:
    """Return the exception that ends the first traceback and those it was chained to: what follows their frames."""
    block = text[text.index(_TRACEBACK) :].partition("\n\tat ")[0].splitlines()
    raised = [
        line
        for frame, line in pairwise(block)
        if frame.startswith(" ") and line[:1].strip() and not line.startswith((_CAUSED_BY, _DRIVER))
    ]
    return raised[-1].strip().rstrip(".") if raised else None
