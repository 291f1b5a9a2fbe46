"""Failures of diffs and of the change feed; each tells a consumer whether to repeat, to restart or to give up."""

from typing import ClassVar

from omnigraph.errors.base import OmniError, Retry
from omnigraph.errors.conflicts import StateConflict
from omnigraph.errors.missing import MissingError
from omnigraph.errors.requests import RequestError


class ChangeCursorRejected(RequestError):
    """A cursor or page token belongs to another feed, or is damaged; `reason` says which."""

    kind = "change_cursor_rejected"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"change cursor rejected: {reason}. Go on from a cursor of this feed, or take a baseline.", reason=reason
        )


class ChangeFeedGap(MissingError):
    """Cleanup removed a version that a feed or the diff of a commit needs; take a new baseline."""

    kind = "history_reclaimed"
    http_status: ClassVar[int | None] = 410
    code: ClassVar[str | None] = None
    member = "change_feed_gap"


class ChangeDiffRefusal(StateConflict):
    """A commit has no diff: `reason` is `parentless_commit` or `schema_boundary`; take a baseline."""

    kind = "change_diff_refusal"


class ParentlessCommit(ChangeDiffRefusal):
    """The first commit of a graph changed nothing: there was nothing before it."""


class SchemaBoundary(ChangeDiffRefusal):
    """A type's columns changed between the two states, so that its images do not compare."""


class OutputReplaced(OmniError):
    """Another writer replaced the baseline file before this one was done; run again."""

    kind = "output_replaced"
    http_status: ClassVar[int | None] = None
    code: ClassVar[str | None] = None
    retry = Retry.LATER
