"""The commit record: what one publish leaves in history."""

import json
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, NewType

from omnigraph.base.clock import iso_from_us
from omnigraph.base.plain_text import MESSAGE_BYTES_MAX, NAME_BYTES_MAX, plain_text, printable
from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.errors import Effect, InvalidName

CommitId = NewType("CommitId", str)
"""A ULID. Parents decide the order of history, ids never do: clocks differ between machines."""

MAIN_BRANCH = "main"


SYSTEM_ACTOR_PREFIX = "omnigraph:"
MESSAGE = "message"
"""Where a commit's metadata holds what its author says about it; commits of older programs have none."""


def check_actor(actor_id: str | None) -> str | None:
    """Return the actor of a user's write; names of the program itself, and what is no plain text, are refused."""
    if actor_id is None:
        return None
    actor = check_name(actor_id, what="The actor")
    if actor.startswith(SYSTEM_ACTOR_PREFIX):
        raise InvalidName(
            f"Actor {actor!r} is reserved: names that start with {SYSTEM_ACTOR_PREFIX} belong to the program.",
            name=actor,
        )
    return actor


def check_message(message: str | None) -> str | None:
    """Return what a user says about a commit: one line of plain text."""
    if message is None:
        return None
    return check_name(message, what="The message", bytes_max=MESSAGE_BYTES_MAX)


def check_name(given: str, *, what: str, bytes_max: int = NAME_BYTES_MAX) -> str:
    """Return a name, an id or a message as it was given; raise `InvalidName` for what is no plain text."""
    shown = printable(given[:NAME_BYTES_MAX]) if isinstance(given, str) else repr(given)
    return plain_text(given, what=what, refusal=lambda reason: InvalidName(reason, name=shown), bytes_max=bytes_max)


class CommitKind(StrEnum):
    """What kind of operation made a commit."""

    GENESIS = "genesis"
    MUTATION = "mutation"
    LOAD = "load"
    EMBED = "embed"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_MERGE = "branch_merge"
    MAINTENANCE = "maintenance"
    REPAIR = "repair"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Commit(Shown):
    """One graph commit: one publish, all its tables at once."""

    graph_commit_id: CommitId
    parent_commit_id: CommitId | None
    merged_parent_commit_id: CommitId | None = None
    graph_branch: str
    graph_version: int
    kind: CommitKind
    actor_id: str | None
    created_at_us: int
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        by = f" by {self.actor_id}" if self.actor_id else ""
        made = iso_from_us(self.created_at_us)
        return f"<Commit {self.graph_commit_id} {self.graph_branch}@{self.graph_version} {self.kind.value}{by} {made}>"

    @property
    def message(self) -> str | None:
        """What its author said about it, so that it can be listed: earlier programs took any text."""
        said = self.metadata.get(MESSAGE)
        return None if said is None else printable(str(said))

    def to_json(self) -> str:
        """Spell the record as it stands in the `graph_head` row."""
        return json.dumps(
            {
                "graph_commit_id": self.graph_commit_id,
                "parent_commit_id": self.parent_commit_id,
                "merged_parent_commit_id": self.merged_parent_commit_id,
                "graph_branch": self.graph_branch,
                "graph_version": self.graph_version,
                "kind": self.kind.value,
                "actor_id": self.actor_id,
                "created_at_us": self.created_at_us,
                "metadata": dict(self.metadata),
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> "Commit":
        """Read a record back; the inverse of `to_json`."""
        record = json.loads(text)
        actor = record["actor_id"]
        return cls(**{**record, "kind": CommitKind(record["kind"]), "actor_id": actor and readable_actor(actor)})


class CommitResult(Shown):
    """The result of a verb that makes one commit or none."""

    __slots__ = ()
    commit: Commit | None
    """A field of every such result; None where the verb changed nothing."""

    @property
    def effect(self) -> Effect:
        """Whether anything was published; errors say the same under the same name."""
        return Effect.of(self.commit)


def readable_actor(actor_id: str) -> str:
    """Return a stored actor so that it can be logged and listed.

    Graphs exist whose actors hold what is refused today; without this, nobody could log or recover such a commit.
    """
    return printable(actor_id)
