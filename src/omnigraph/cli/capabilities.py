"""What every command needs in order to reach a graph, in one table.

A command exists because it has a row here: the rows build the command tree, the guard, the legend of `--help` and
the generated tests. To add a command, add its row and a function of the same name under `commands/`.
"""

from enum import Enum, StrEnum
from typing import Any

from omnigraph import errors
from omnigraph.base.values import dataclass


class CommandClass(StrEnum):
    """What a command needs; the value is the word of the legend."""

    ANY = "any"
    SERVED = "served"
    DIRECT = "direct"
    CONTROL = "control"
    LOCAL = "local"


CLASS_PHRASES = {
    CommandClass.ANY: "data",
    CommandClass.SERVED: "served",
    CommandClass.DIRECT: "direct (storage-native)",
    CommandClass.CONTROL: "cluster control",
    CommandClass.LOCAL: "local",
}

CLASS_MEANINGS = {
    CommandClass.ANY: "works on a graph's data, wherever it is",
    CommandClass.SERVED: "asks a server",
    CommandClass.DIRECT: "opens the graph's storage in this process",
    CommandClass.CONTROL: "works on a declared cluster",
    CommandClass.LOCAL: "addresses no graph",
}


class AddressFlag(Enum):
    """A flag that addresses something, with what it is for; members stand in the order in which the guard looks."""

    SERVER = "picks a served graph"
    CLUSTER = "picks a cluster-scoped command's target"
    GRAPH = "picks a graph inside a server or cluster"
    STORE = "picks one graph's storage"
    AS = "names the actor of a direct write or attributed cluster operation"
    PROFILE = "picks a scope bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One row: a command, its class and the addresses it consumes."""

    words: str
    command_class: CommandClass
    accepts: frozenset[AddressFlag] = frozenset()
    is_bulk: bool = False
    alias: str | None = None

    @property
    def takes_graph(self) -> bool:
        """Whether a graph can be named by its storage: as the last positional, with `--store` or with `--uri`."""
        return AddressFlag.STORE in self.accepts

    @property
    def group(self) -> str | None:
        """The first of two words, or None for a command of one word."""
        first, _, second = self.words.partition(" ")
        return first if second else None

    @property
    def name(self) -> str:
        """The last word."""
        return self.words.rpartition(" ")[2]


_READ = frozenset({AddressFlag.STORE, AddressFlag.SERVER, AddressFlag.GRAPH, AddressFlag.PROFILE})
_WRITE = _READ | {AddressFlag.AS}
_MAINTENANCE = frozenset({AddressFlag.STORE, AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE})

CAPABILITIES = (
    Capability(
        words="init",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE}),
    ),
    Capability(words="load", command_class=CommandClass.ANY, accepts=_WRITE, is_bulk=True),
    Capability(words="query", command_class=CommandClass.ANY, accepts=_READ, alias="read"),
    Capability(words="export", command_class=CommandClass.ANY, accepts=_READ, is_bulk=True),
    Capability(words="snapshot", command_class=CommandClass.ANY, accepts=_READ),
    Capability(
        words="spark-sql",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
        is_bulk=True,
    ),
    Capability(words="commit list", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="commit show", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="commit changes", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="changes poll", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="changes baseline", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="schema show", command_class=CommandClass.ANY, accepts=_READ, alias="get"),
    Capability(
        words="schema plan",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
    ),
    Capability(words="schema apply", command_class=CommandClass.ANY, accepts=_WRITE),
    Capability(words="lint", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, alias="check"),
    Capability(words="fmt", command_class=CommandClass.LOCAL),
    Capability(words="branch create", command_class=CommandClass.ANY, accepts=_WRITE),
    Capability(words="branch list", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="branch merge", command_class=CommandClass.ANY, accepts=_WRITE, is_bulk=True),
    Capability(words="branch diff", command_class=CommandClass.ANY, accepts=_READ),
    Capability(words="branch delete", command_class=CommandClass.ANY, accepts=_WRITE),
    Capability(words="repair", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Capability(words="cleanup", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Capability(words="optimize", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Capability(words="health", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Capability(words="verify", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Capability(words="recover", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Capability(
        words="embed",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE | {AddressFlag.AS},
        is_bulk=True,
    ),
    Capability(words="profile list", command_class=CommandClass.LOCAL),
    Capability(words="profile show", command_class=CommandClass.LOCAL),
    Capability(words="doctor", command_class=CommandClass.LOCAL),
    Capability(words="completion", command_class=CommandClass.LOCAL),
    Capability(words="version", command_class=CommandClass.LOCAL),
)

GROUP_SUMMARIES = {
    "branch": "Work on a copy of the whole graph that costs nothing.",
    "changes": "Follow what changes in a graph.",
    "commit": "Look at the history of a graph.",
    "profile": "Look at the named scopes of the operator config.",
    "schema": "Look at the schema of a graph, and change it.",
}


def capability(words: str) -> Capability:
    """Return the row of a command; asking for a command without a row is a programming error."""
    return next(row for row in CAPABILITIES if row.words == words)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCommand:
    """The command of this run, and how it was typed: `schema get` and `schema show` share a row."""

    capability: Capability
    typed: str

    def addressing_error(self, message: str, *, flag: str | None = None) -> errors.Addressing:
        """Build the error for an address that this command cannot use."""
        details: dict[str, Any] = {"command": self.typed, "class": self.capability.command_class.value}
        if flag is not None:
            details["flag"] = flag
        return errors.Addressing(message, **details)
