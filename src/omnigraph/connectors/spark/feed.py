"""What a reader of changes asks for: which branch and types of which graph, from where on, how much at once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from datetime import timedelta

import pyarrow as pa

from omnigraph.base.values import dataclass
from omnigraph.catalog.type_names import only_one
from omnigraph.changes.feed import COMMITS_DEFAULT, Feed
from omnigraph.changes.filters import ChangesRequest
from omnigraph.connectors.spark.feed_rows import record_schema, type_schema
from omnigraph.connectors.spark.options import Options
from omnigraph.connectors.spark.type_read import read_moment
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import ChangeCursorRejected, ChangeFeedGap, OmniError, SchemaBoundary, SnapshotNotFound, Usage
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, Commit
from omnigraph.storage.store import GraphStore

LATEST, EARLIEST = "latest", "earliest"
_STARTS = ("startingVersion", "startingTimestamp", "startingCommit", "startingCursor")
_ENDS = ("endingVersion", "endingTimestamp")
_SAID_OF_CHANGES = (*_STARTS, *_ENDS, "types", "excludeTypes", "maxCommitsPerBatch")


def asks_for_changes(options: Mapping[str, str]) -> bool:
    """Whether a reader wants changes: it says so, or where they begin, or names no type whose rows it could want."""
    given = {name.lower(): value for name, value in options.items()}
    is_implied = not given.get("type") or any(given.get(name.lower()) for name in _SAID_OF_CHANGES)
    said = (given.get("readchangefeed") or str(is_implied)).lower()
    if said not in {"true", "false"}:
        raise Usage(f'The option "readChangeFeed" is {said!r}; it is true or false.', flag="readChangeFeed")
    return said == "true"


def refuse_forgotten_type(options: Mapping[str, str]) -> None:
    """Refuse a frame of which nothing is said but its graph: a stream reads changes then, a frame wants a type."""
    given = {name.lower() for name, value in options.items() if value}
    if not given & {"type", "readchangefeed", *(name.lower() for name in _SAID_OF_CHANGES)}:
        raise Usage(
            'The omnigraph source needs .option("type", …), or .option("readChangeFeed", "true") for changes of all '
            "types.",
            flag="type",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOptions:
    """What `.option(…)` says to a reader of changes."""

    uri: str
    branch: str
    type_name: str | None
    """Changes of this type come with its columns; None is changes of all types as records."""
    types: tuple[str, ...]
    exclude_types: tuple[str, ...]
    start: tuple[str, str] | None
    """An option and its value; None is the state of the branch first, then what changes."""
    end: tuple[str, str] | None
    commits_max: int
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How to reach the store, over what the environment of a worker says; may hold credentials."""

    @classmethod
    def of(cls, options: Options) -> "FeedOptions":
        """Read the options of a stream or a frame."""
        for name in ("types", "excludeTypes"):
            options.only_one_of("type", name)
        commits_max = options.number("maxCommitsPerBatch")
        if commits_max == 0:
            raise Usage('The option "maxCommitsPerBatch" is 0; a batch has at least one.', flag="maxCommitsPerBatch")
        return cls(
            uri=options.required("graph"),
            branch=options.get("branch") or MAIN_BRANCH,
            type_name=options.get("type"),
            types=_listed(options, "types"),
            exclude_types=_listed(options, "excludeTypes"),
            start=_chosen(options, _STARTS),
            end=_chosen(options, _ENDS),
            commits_max=COMMITS_DEFAULT if commits_max is None else commits_max,
            storage=options.storage,
        )

    def context(self) -> GraphContext:
        """Open the graph in this process."""
        return GraphContext.over(GraphStore.open(self.uri, self.storage), LocalEngine())

    def feed(self, context: GraphContext) -> Feed:
        """Look at the head of the branch."""
        types = (self.type_name,) if self.type_name is not None else self.types
        return Feed.of_branch(context, self.branch, ChangesRequest(types=types, exclude_types=self.exclude_types))

    def schema(self, context: GraphContext) -> pa.Schema:
        """Return the columns of the rows, in types that Spark has; those of a type are what it has at the head."""
        if self.type_name is None:
            return record_schema()
        entities = self.feed(context).selected_entities
        key = only_one(self.type_name, [entity.table_key for entity in entities], ())
        return type_schema(next(entity for entity in entities if entity.table_key == key))

    def started(self, context: GraphContext, feed: Feed) -> Commit | None:
        """Return the commit behind which the changes begin; None where the state of the branch comes first.

        Versions, times and commits are the first whose changes are wanted, as with Delta.
        """
        match self.start:
            case None:
                return None
            case (_, value) if value.lower() == LATEST:
                return feed.head
            case (_, value) if value.lower() == EARLIEST:
                return feed.history()[0]
            case ("startingCursor", cursor):
                return feed.line(cursor)[0]
            case ("startingTimestamp", text):
                return _before_moment(context, self.branch, text) or feed.history()[0]
            case ("startingCommit", text):
                return _parent(feed, context.addresses.commit(text))
            case (name, text) if _number(name, text) == feed.head.graph_version + 1:
                return feed.head
            case (name, text):
                return _parent(feed, context.addresses.at_version(self.branch, _number(name, text)).commit)

    def between(self, context: GraphContext) -> tuple[str, str]:
        """Return the cursors between which a frame reads changes."""
        feed = self.feed(context)
        begun = self.started(context, feed)
        if begun is None:
            raise Usage(
                'The omnigraph source needs .option("type", …) for the rows of a type, or '
                '.option("startingVersion", …) for what changed since.',
                flag="type" if self.type_name is None else "startingVersion",
            )
        ended = self._ended(context, feed)
        if ended.graph_version < begun.graph_version:
            raise Usage(
                f"The changes would begin with graph version {begun.graph_version + 1} and end with "
                f"{ended.graph_version}; the end is before the beginning."
            )
        return feed.cursor_behind(begun), feed.cursor_behind(ended)

    def _ended(self, context: GraphContext, feed: Feed) -> Commit:
        """Return the last commit whose changes are wanted."""
        match self.end:
            case None:
                return feed.head
            case ("endingTimestamp", text):
                return context.addresses.at_moment(self.branch, read_moment(text, option="endingTimestamp")).commit
            case (name, text):
                return context.addresses.at_version(self.branch, _number(name, text)).commit


def _listed(options: Options, name: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in (options.get(name) or "").split(",") if word.strip())


def _chosen(options: Options, names: tuple[str, ...]) -> tuple[str, str] | None:
    name = options.only_one_of(*names)
    return (name, options.required(name)) if name is not None else None


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        words = f", {LATEST} or {EARLIEST}" if name in _STARTS else ""
        raise Usage(f'The option "{name}" is {text!r}; it is a graph version{words}.', flag=name)
    return int(text)


def _before_moment(context: GraphContext, branch: str, text: str) -> Commit | None:
    moment = read_moment(text, option="startingTimestamp") - timedelta(microseconds=1)
    try:
        return context.addresses.at_moment(branch, moment).commit
    except SnapshotNotFound:
        return None  # it asks for everything since the branch began


def _parent(feed: Feed, wanted: Commit) -> Commit:
    line = [commit for commit in feed.history() if commit.graph_version <= wanted.graph_version]
    if line[-1].graph_commit_id != wanted.graph_commit_id:
        raise ChangeCursorRejected(f"commit {wanted.graph_commit_id} is not in the history of the branch")
    return line[-2] if len(line) > 1 else line[-1]


@contextmanager
def advising_readers() -> Iterator[None]:
    """Say what to do in the words of Spark where changes cannot be told: nobody reads on over a gap."""
    try:
        yield
    except ChangeFeedGap as error:
        commit = error.details["first_unreadable_commit_id"]
        _reword(
            error,
            f"What commit {commit} changed can no longer be told: cleanup removed what it takes. Start the query with "
            "a new checkpoint and without a starting option: it then begins with the state of the branch, every entity "
            "as an insert, and goes on with what changes.",
        )
        raise
    except SchemaBoundary as error:
        if "column" in error.details:
            raise  # says all of it
        type_name, commit = error.details["type_name"], error.details["graph_commit_id"]
        _reword(
            error,
            f"The columns of {type_name} changed with commit {commit}, so what became of its entities there cannot be "
            "told. Start the query with a new checkpoint: without a starting option it begins with the state of the "
            f'branch as it is now; with .option("excludeTypes", "{type_name}") it leaves the type out.',
        )
        raise
    except ChangeCursorRejected as error:
        _reword(
            error,
            f"The place to go on from is not one of this stream: {error.details['reason']}. Give it the options that "
            "its checkpoint was made with, or a new checkpoint.",
        )
        raise


def _reword(error: OmniError, message: str) -> None:
    error.message = message
    error.args = (message,)
