"""What a person has opened, step by step; short enough for the address of a page."""

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import quote, unquote

from omnigraph.base.values import dataclass
from omnigraph.drawing.picture import Hop, NodeKey

PAGE = 25
"""How many neighbours come at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A page of the neighbours of a node; the second of its kind is the second page."""

    owner: NodeKey
    hop: Hop


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """Nodes that somebody asked for, and what they opened from there, in that order."""

    steps: tuple[NodeKey | Opened, ...] = ()
    removed: frozenset[NodeKey] = frozenset()

    @property
    def roots(self) -> tuple[NodeKey, ...]:
        """The nodes that somebody asked for."""
        return tuple(step for step in self.steps if isinstance(step, NodeKey))

    @property
    def pages(self) -> Counter[Opened]:
        """How many pages of which neighbours are open."""
        return Counter(step for step in self.steps if isinstance(step, Opened))

    def with_root(self, key: NodeKey) -> "Tour":
        """Ask for a node."""
        steps = self.steps if key in self.roots else (*self.steps, key)
        return Tour(steps=steps, removed=self.removed - {key})

    def opened(self, owner: NodeKey, hop: Hop) -> "Tour":
        """Open the neighbours of a node, or the next page of them."""
        return Tour(steps=(*self.steps, Opened(owner=owner, hop=hop)), removed=self.removed)

    def closed(self, owner: NodeKey, hop: Hop) -> "Tour":
        """Close the neighbours of a node."""
        gone = Opened(owner=owner, hop=hop)
        return Tour(steps=tuple(step for step in self.steps if step != gone), removed=self.removed)

    def without(self, key: NodeKey) -> "Tour":
        """Leave a node out, with all that was opened from it."""
        steps = tuple(step for step in self.steps if key not in (step, getattr(step, "owner", None)))
        return Tour(steps=steps, removed=self.removed | {key} if steps else frozenset())


def tour_text(tour: Tour) -> str:
    """Spell the steps for an address, where nothing of it needs another spelling."""
    return "~".join(_spelled(step) for step in tour.steps)


def keys_text(keys: Iterable[NodeKey]) -> str:
    """Spell nodes for an address."""
    return "~".join(_spelled(key) for key in sorted(keys))


def tour_of(steps: str, removed: str = "") -> Tour:
    """Read what `tour_text` and `keys_text` spelled; what cannot be read is left out."""
    found: list[NodeKey | Opened] = []
    for text in steps.split("~"):
        parts = [_plain(part) for part in text.split(".")]
        if len(parts) == 2:
            found.append(NodeKey(parts[0], parts[1]))
        elif len(parts) == 4 and parts[2] in {"o", "i"}:
            found.append(Opened(owner=NodeKey(parts[0], parts[1]), hop=Hop(parts[3], is_outgoing=parts[2] == "o")))
    return Tour(steps=tuple(found), removed=frozenset(keys_of(removed)))


def keys_of(text: str) -> list[NodeKey]:
    """Read what `keys_text` spelled."""
    return [step for step in tour_of(text).steps if isinstance(step, NodeKey)] if text else []


def _spelled(step: NodeKey | Opened) -> str:
    if isinstance(step, Opened):
        way = "o" if step.hop.is_outgoing else "i"
        return ".".join((_spelled(step.owner), way, _escaped(step.hop.edge_type)))
    return f"{_escaped(step.type_name)}.{_escaped(step.id)}"


def _escaped(text: str) -> str:
    spelled = quote(text, safe="").replace("-", "%2D").replace(".", "%2E").replace("~", "%7E")
    return spelled.replace("%", "-")


def _plain(text: str) -> str:
    return unquote(re.sub("-([0-9A-F]{2})", r"%\1", text), errors="replace")
