"""All that an address of the page says: what is searched, what is open, which node is looked at, and when."""

from collections.abc import Mapping
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.drawing.picture import NodeKey
from omnigraph.drawing.tour import Tour, keys_of, keys_text, tour_of, tour_text

ANYTHING, MEANING = "words", "meaning"
RESULTS_PAGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What somebody looks for."""

    text: str = ""
    by: str = ANYTHING
    type_name: str = ""
    pages: int = 1
    """How many pages of results are shown."""

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to look for; a type alone lists its nodes."""
        return bool(self.text or self.type_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreState:
    """One look at a graph."""

    at: str
    branch: str
    """The branch whose commits the slider has; `at` is it, or one of its commits."""
    tour: Tour = Tour()
    picked: NodeKey | None = None
    hidden: frozenset[str] = frozenset()
    searched: Searched = Searched()

    @property
    def is_past(self) -> bool:
        """Whether the picture shows an older state."""
        return self.at != self.branch

    def parts(self) -> dict[str, Any]:
        """Spell all but the moment for an address."""
        searched = self.searched
        return {
            "on": self.branch if self.is_past else None,
            "q": searched.text,
            "by": searched.by if searched.by != ANYTHING else None,
            "type": searched.type_name,
            "results": searched.pages if searched.pages > 1 else None,
            "view": tour_text(self.tour),
            "out": keys_text(self.tour.removed),
            "pick": keys_text([self.picked]) if self.picked else None,
            "hide": ".".join(sorted(self.hidden)),
        }


def state_of(parts: Mapping[str, str], *, at: str, branch: str) -> ExploreState:
    """Read what `parts` spelled; what cannot be read is as if it was not there."""
    picked = keys_of(parts.get("pick", ""))
    pages = parts.get("results", "1")
    return ExploreState(
        at=at,
        branch=branch,
        tour=tour_of(parts.get("view", ""), parts.get("out", "")),
        picked=picked[0] if picked else None,
        hidden=frozenset(name for name in parts.get("hide", "").split(".") if name),
        searched=Searched(
            text=parts.get("q", ""),
            by=MEANING if parts.get("by") == MEANING else ANYTHING,
            type_name=parts.get("type", ""),
            pages=min(int(pages), 20) if pages.isdecimal() and int(pages) > 0 else 1,
        ),
    )
