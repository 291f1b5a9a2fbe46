"""Where a stream of changes stands, as Spark keeps it in a checkpoint: a cursor of the feed, and words for people.

Spark asks again for the beginning of a query when it repeats the first batch, and does not remember what it was told.
The end of the first batch therefore says where it began: a head that has moved since must not move the beginning.
"""

from dataclasses import replace
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.manifest.commits import Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a query begins: behind a commit, or before the state that the commit left."""

    cursor: str
    has_state: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """A place between two commits."""

    cursor: str
    commit_id: str
    graph_version: int
    begun: Beginning | None = None
    """Known until the first batch is done."""
    is_initial: bool = False

    @classmethod
    def initial(cls, commit: Commit, begun: Beginning) -> "Offset":
        """Return the place before the first batch."""
        return cls(
            cursor=begun.cursor,
            commit_id=commit.graph_commit_id,
            graph_version=commit.graph_version,
            begun=begun,
            is_initial=True,
        )

    @property
    def is_before_state(self) -> bool:
        """Whether the state of the branch comes next."""
        return self.is_initial and self.begun is not None and self.begun.has_state

    def behind_state(self) -> "Offset":
        """Return the place behind the state."""
        return replace(self, is_initial=False)

    def moved(self, commit: Commit, cursor: str) -> "Offset":
        """Return the end of a batch that begins here."""
        return Offset(
            cursor=cursor,
            commit_id=commit.graph_commit_id,
            graph_version=commit.graph_version,
            begun=self.begun if self.is_initial else None,
        )

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Offset":
        """Read what stands in a checkpoint."""
        begun = document.get("begun")
        return cls(
            cursor=document["cursor"],
            commit_id=document["commit"],
            graph_version=document["graphVersion"],
            begun=Beginning(cursor=begun["cursor"], has_state=begun["state"]) if begun else None,
            is_initial=document.get("initial", False),
        )

    def to_document(self) -> dict[str, Any]:
        """Spell it for Spark, which takes equal texts for equal places."""
        document: dict[str, Any] = {
            "commit": self.commit_id,
            "graphVersion": self.graph_version,
            "cursor": self.cursor,
        }
        if self.begun is not None:
            document["begun"] = {"cursor": self.begun.cursor, "state": self.begun.has_state}
        if self.is_initial:
            document["initial"] = True
        return document


def stretch(start: Offset, end: Offset) -> tuple[Beginning, Offset]:
    """Return where a batch really begins, and its end."""
    if end.is_initial:
        return Beginning(cursor=end.cursor), end  # there was nothing new yet
    if start.is_initial and end.begun is not None:
        return end.begun, end
    return Beginning(cursor=start.cursor), end
