"""The commit record: what one publish leaves in history."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

from omnigraph.errors import InvalidName

CommitId = NewType("CommitId", str)
"""A ULID. Parents decide the order of history, ids never do: clocks differ between machines."""

MAIN_BRANCH = "main"


SYSTEM_ACTOR_PREFIX = "omnigraph:"
MESSAGE = "message"
"""Where a commit's metadata holds what its author says about it; commits of older programs have none."""
_SHOWN_MAX = 60


def check_actor(actor_id: str | None) -> str | None:
    """Return the actor of a user's write; names of the program itself are refused."""
    if actor_id is not None and actor_id.startswith(SYSTEM_ACTOR_PREFIX):
        raise InvalidName(
            f"Actor {actor_id!r} is reserved: names that start with {SYSTEM_ACTOR_PREFIX} belong to the program.",
            name=actor_id,
        )
    return actor_id


def check_message(message: str | None) -> str | None:
    """Return what a user says about a commit; it is listed on one line, so it has to be one."""
    if message is not None and not message.isprintable():
        raise InvalidName("The message must be one line of printable text.", name=repr(message[:_SHOWN_MAX]))
    return message


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
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

    @property
    def message(self) -> str | None:
        """What its author said about it."""
        return self.metadata.get(MESSAGE)

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
        return cls(**{**record, "kind": CommitKind(record["kind"])})
