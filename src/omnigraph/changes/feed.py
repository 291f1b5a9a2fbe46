"""Following a branch: the changes of its commits, oldest first, a poll at a time.

The consumer holds the state. A cursor stands behind a complete commit and nowhere else; inside a commit that does not
fit into a page there is only a page token, so that nobody can store half a commit as done.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import Any

import pyarrow.compute as pc

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog, EntityType, TableKey
from omnigraph.changes.additions import take_over_additions
from omnigraph.changes.ahead import ReadAhead
from omnigraph.changes.commit import gap_at, snapshot_of
from omnigraph.changes.diff import Diff, held
from omnigraph.changes.entities import EntityChange
from omnigraph.changes.filters import ChangeFilter, ChangesRequest, resolve_selection
from omnigraph.changes.kept import KeptDiffs
from omnigraph.changes.paging import ChangeSlice, PageLimits, check_limit
from omnigraph.changes.pairs import TypePair, pair_types, pinned_types
from omnigraph.changes.position import Position
from omnigraph.changes.tokens import TokenUse, refuse_other, seal, unseal
from omnigraph.errors import ChangeCursorRejected, ChangeFeedGap, InvalidTarget, ReadSetConflict, SchemaBoundary
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit, CommitId
from omnigraph.manifest.line import BranchLine
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.manifest.state import ManifestState

COMMITS_DEFAULT = 128
COMMITS_MAX = 512
_AFTER = "after:"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChangeBlock(Shown):
    """What one commit changed: all of it, or the part that this page holds."""

    cause: Commit
    changes: tuple[EntityChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FeedPage(Shown):
    """One answer: whole blocks and a cursor, or the beginning of a large block and a page token, never both."""

    blocks: tuple[ChangeBlock, ...]
    cursor: str | None
    """Where the next poll goes on; store it together with what the blocks changed."""
    caught_up: bool | None
    """Whether the cursor stands at the head that this poll saw."""
    next_page_token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A commit of the line, by id and graph version."""

    commit_id: CommitId
    version: int

    @classmethod
    def of(cls, commit: Commit) -> "_Place":
        return cls(commit_id=commit.graph_commit_id, version=commit.graph_version)

    @classmethod
    def from_document(cls, document: Sequence[Any]) -> "_Place":
        return cls(commit_id=CommitId(document[0]), version=document[1])

    def to_document(self) -> list[Any]:
        return [self.commit_id, self.version]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What a poll has to deliver: everything behind `done`, and inside the next commit behind `inside`, up to `cut`."""

    done: _Place
    cut: _Place
    inside: Position | None = None


class Feed:
    """One branch, followed with one set of filters."""

    def __init__(
        self, context: GraphContext, state: ManifestState, selection: ChangeFilter, kept: KeptDiffs | None = None
    ) -> None:
        self._context = context
        self._state = state
        self._selection = selection
        self._commits = BranchLine(context.log, state)
        self._kept = kept or KeptDiffs()
        self._bound: Mapping[str, Any] = {
            "graph": context.schemas.catalog(state.snapshot.schema).identity_domain,
            "first commit": _first_commit(state),
            "branch": state.branch.name,
            "incarnation of the branch": state.branch.incarnation,
            "filter": selection.digest,
        }

    @classmethod
    def of_branch(
        cls, context: GraphContext, branch: str, request: ChangesRequest, kept: KeptDiffs | None = None
    ) -> "Feed":
        """Look at the head of a branch once; that is the cut of the poll that follows."""
        state = context.manifest.load(branch)

        def earlier() -> list[Catalog]:
            return [context.schemas.catalog(schema) for schema in state.accepted_schemas()]

        known = [context.schemas.catalog(state.snapshot.schema)]
        return cls(context, state, resolve_selection(known, request, earlier=earlier), kept)

    @property
    def head_snapshot(self) -> GraphSnapshot:
        """The state at the head."""
        return self._state.snapshot

    @property
    def head(self) -> Commit:
        """The newest commit."""
        return self._state.head

    @property
    def selected_types(self) -> tuple[TableKey, ...]:
        """The types whose changes this feed delivers, as the head calls them."""
        return tuple(entity.table_key for entity in self.selected_entities)

    @property
    def selected_entities(self) -> tuple[EntityType, ...]:
        """The same types as the head's schema declares them."""
        catalog = self._context.schemas.catalog(self._state.snapshot.schema)
        return tuple(entity for entity in catalog.entity_types() if self._selection.takes(catalog, entity))

    @property
    def head_cursor(self) -> str:
        """The cursor behind the head."""
        return self._cursor(_Place.of(self._state.head))

    def cursor_behind(self, commit: Commit) -> str:
        """Return the cursor behind a commit of the branch's history."""
        return self._cursor(_Place.of(commit))

    def line(self, cursor: str, until: str | None = None) -> list[Commit]:
        """Return the commit that a cursor stands behind and those that follow, up to another cursor or the head."""
        cut = _Place.of(self._state.head) if until is None else self._place(until)
        return self._line(_Request(done=self._place(cursor), cut=cut))

    def history(self) -> list[Commit]:
        """Return every commit up to the head, oldest first."""
        return self._context.log.line_after(0, head=self._state.head)

    def pairs_of(self, before: Commit, cause: Commit) -> tuple[TypePair, ...]:
        """Return the types that a commit may have changed, told from pins; raises `SchemaBoundary` and gaps."""
        with gap_at(cause.graph_commit_id):
            snapshots = [snapshot_of(self._state, commit) for commit in (before, cause)]
            return Diff(self._context, snapshots[0], snapshots[1], self._selection).pairs

    def types_at(self, commit: Commit) -> tuple[TypePair, ...]:
        """Return the selected types as they were behind a commit, each without a state before it."""
        with gap_at(commit.graph_commit_id):
            snapshot = snapshot_of(self._state, commit)
            catalog = self._context.schemas.catalog(snapshot.schema)
            pinned = pinned_types(snapshot, catalog, self._selection)
            return pair_types({}, pinned, catalog=catalog, commit_id=commit.graph_commit_id)

    def poll(
        self,
        *,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        limits: PageLimits | None = None,
        commits_max: int = COMMITS_DEFAULT,
    ) -> FeedPage:
        """Return the next blocks; with neither cursor nor token, `start` says where to begin, by default `now`."""
        check_limit("change_poll_commits", commits_max, COMMITS_MAX)
        if sum(given is not None for given in (cursor, start, page_token)) > 1:
            raise InvalidTarget("A poll goes on from a cursor, a page token or a start; give one of them.")
        request = self._request(cursor=cursor, start=start, page_token=page_token)
        if request.done == request.cut:
            return self._finished((), request.done, request.cut)
        line = self._line(request, commits_max=commits_max)
        try:
            return self._filled(request, line, limits or PageLimits())
        finally:
            # Also after a failure: tables of a branch that is gone look like those that cleanup took.
            self._refuse_recreated()

    def _request(self, *, cursor: str | None, start: str | None, page_token: str | None) -> _Request:
        head = _Place.of(self._state.head)
        if page_token is not None:
            document = self._unsealed(page_token, TokenUse.FEED_PAGE)
            return _Request(
                done=_Place.from_document(document["done"]),
                cut=_Place.from_document(document["cut"]),
                inside=Position.from_document(document["behind"]),
            )
        if cursor is not None:
            return _Request(done=self._place(cursor), cut=head)
        return _Request(done=self._started(start or "now", head), cut=head)

    def _started(self, start: str, head: _Place) -> _Place:
        if start == "now":
            return head
        if start == "beginning":
            # The first commit has nothing before it and its tables are empty, so a feed begins right behind it.
            return _Place.of(self._commits.first())
        if start.startswith(_AFTER):
            return _Place.of(self._context.addresses.commit(start.removeprefix(_AFTER)))
        raise InvalidTarget(f"A feed starts at now, beginning or after:<commit>, not at {start!r}.")

    def _line(self, request: _Request, *, commits_max: int | None = None) -> list[Commit]:
        """Return the commits from `done` up to the cut, both included, or so many behind `done`."""
        last = request.cut.version
        if commits_max is not None:
            last = min(last, request.done.version + commits_max)
        line = self._commits.stretch(request.done.version, last)
        if not line or _Place.of(line[0]) != request.done:
            raise self._elsewhere(request.done)
        self._refuse_elsewhere(request.cut)
        return line

    def _refuse_elsewhere(self, place: _Place) -> None:
        """Raise unless a commit is in the history of the branch; the head that was just seen is."""
        if place == _Place.of(self._state.head):
            return
        is_known = 1 <= place.version <= self._state.head.graph_version
        if not is_known or _Place.of(self._commits.at(place.version)) != place:
            raise self._elsewhere(place)

    def _elsewhere(self, place: _Place) -> ChangeCursorRejected:
        return ChangeCursorRejected(
            f"commit {place.commit_id} is not in the history of branch '{self._state.branch.name}'"
        )

    def _filled(self, request: _Request, line: Sequence[Commit], limits: PageLimits) -> FeedPage:
        """Put blocks on a page until it is full; what cannot be told ends the page before it, or is raised."""
        filling = _Filling(limits)
        done = request.done
        with closing(self._slices(line, request.inside, filling)) as slices:
            try:
                for cause, found in slices:
                    if filling.blocks and not filling.takes(found):
                        # It starts a page of its own, so that a consumer can store what came before.
                        break
                    filling.add(ChangeBlock(cause=cause, changes=found.changes), found.size_bytes)
                    if found.position is not None:
                        return self._unfinished(filling, done, request.cut, found.position)
                    done = _Place.of(cause)
            except (ChangeFeedGap, SchemaBoundary):
                if not filling.blocks:
                    raise
        return self._finished(tuple(filling.blocks), done, request.cut)

    def _slices(
        self, line: Sequence[Commit], inside: Position | None, filling: "_Filling"
    ) -> Generator[tuple[Commit, ChangeSlice]]:
        """Yield what commits changed, of each as much as there is room for, until the page is full."""
        ahead = ReadAhead(self._state, line, self._diff)
        # Inside of a large commit there is nothing to read ahead: the next page will be there too.
        while not filling.is_full and (steps := ahead.take(filling.room.changes if inside is None else 1)):
            diffs = [step.diff for step in steps]
            with held(self._context, diffs):
                take_over_additions(self._context, diffs, rows_max=filling.room.changes)
                for cause, diff in steps:
                    if filling.is_full:
                        return
                    with gap_at(cause.graph_commit_id):
                        found = diff.held_slice_behind(inside, filling.room)
                    self._kept.settle(diff, is_done=found.position is None)
                    yield cause, found
                    inside = None

    def _diff(self, before: GraphSnapshot, after: GraphSnapshot) -> Diff:
        """Compare two snapshots, or go on with the comparison that the page before began."""
        return self._kept.known(Diff(self._context, before, after, self._selection))

    def _finished(self, blocks: tuple[ChangeBlock, ...], done: _Place, cut: _Place) -> FeedPage:
        return FeedPage(blocks=blocks, cursor=self._cursor(done), caught_up=done == cut, next_page_token=None)

    def _unfinished(self, filling: "_Filling", done: _Place, cut: _Place, behind: Position) -> FeedPage:
        places = {"done": done.to_document(), "cut": cut.to_document(), "behind": behind.to_document()}
        token = seal(TokenUse.FEED_PAGE, {**self._bound, **places})
        return FeedPage(blocks=tuple(filling.blocks), cursor=None, caught_up=None, next_page_token=token)

    def _cursor(self, done: _Place) -> str:
        return seal(TokenUse.CURSOR, {**self._bound, "done": done.to_document()})

    def _place(self, cursor: str) -> _Place:
        return _Place.from_document(self._unsealed(cursor, TokenUse.CURSOR)["done"])

    def _unsealed(self, token: str, use: TokenUse) -> dict[str, Any]:
        document = unseal(token, use)
        refuse_other(self._bound, document)
        return document

    def _refuse_recreated(self) -> None:
        """Raise `StaleView` if the branch that was read is not the one of this name any more."""
        now = self._context.manifest.resolve(self._state.branch.name)
        if now.incarnation != self._state.branch.incarnation:
            raise ReadSetConflict(
                f"stale view of branch '{now.name}': it was deleted and created again while its changes were read — "
                "refresh and retry",
                member="incarnation",
                expected=self._state.branch.incarnation,
                actual=now.incarnation,
            )


@dataclass(slots=True)
class _Filling:
    """A page being filled."""

    limits: PageLimits
    blocks: list[ChangeBlock] = field(default_factory=list)
    changes: int = 0
    size_bytes: int = 0

    @property
    def is_full(self) -> bool:
        return self.changes >= self.limits.changes or self.size_bytes >= self.limits.size_bytes

    @property
    def room(self) -> PageLimits:
        return PageLimits(
            changes=self.limits.changes - self.changes, size_bytes=self.limits.size_bytes - self.size_bytes
        )

    def takes(self, found: ChangeSlice) -> bool:
        """Whether the changes are a whole block that fits."""
        return found.position is None and found.size_bytes <= self.room.size_bytes

    def add(self, block: ChangeBlock, size_bytes: int) -> None:
        self.blocks.append(block)
        self.changes += len(block.changes)
        self.size_bytes += size_bytes


def _first_commit(state: ManifestState) -> str | None:
    """Return the commit of the oldest rows; rows are never removed, so this names the graph's history for good."""
    rows = state.rows
    oldest = pc.min(rows["graph_version"])
    found = rows.filter(pc.equal(rows["graph_version"], oldest))["graph_commit_id"].combine_chunks().drop_null()
    return pc.min(found).as_py() if len(found) else None
