"""One request and the meaning of its answer, before anybody has sent it."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from omnigraph.base.values import dataclass

ResultT = TypeVar("ResultT")
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """A successful answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    content: bytes

    def document(self) -> Any:
        """Return the JSON that it holds; raise ValueError for anything else."""
        return json.loads(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpExchange(Generic[ResultT]):
    """What is sent below the address of a graph, and how its answer is read."""

    method: str
    path: str
    read: Callable[[HttpAnswer], ResultT]
    query: Query = ()
    content: bytes | None = None
    media_type: str | None = None
    headers: Query = ()
    is_write: bool = False
    """Whether a lost answer leaves open what happened."""
    takes_redirect: bool = False
    """Whether an answer that names another address is one; nobody goes there."""


def segment(text: str) -> str:
    """Spell one segment of a path, whatever characters it has; `..` is a name here, and no way up."""
    return quote(text, safe="", errors="surrogatepass") if text.strip(".") else text.replace(".", "%2E")


def given(**parameters: object) -> Query:
    """Return the parameters that have a value, lists repeated; a trailing `_` of a name is not sent."""
    found: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, (list, tuple)):
            found.extend((name.rstrip("_"), str(each)) for each in value)
        elif value is not None:
            found.append((name.rstrip("_"), str(value)))
    return tuple(found)


def body(**members: object) -> bytes:
    """Spell the members that have a value as a JSON object, dates and bytes as records have them."""
    from omnigraph.records.spelling import spell_json

    return spell_json({name.rstrip("_"): value for name, value in members.items() if value is not None})
