"""The table of all verbs.

A verb exists because it has a row here: the rows build the command tree, the guard, the legend of `--help` and the
generated tests. To add one, add its row, and a function of the same name under `cli/commands/`.
"""

from enum import Enum, StrEnum

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
class Verb:
    """One row: a verb, what it needs to reach a graph, and the addresses it consumes."""

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

VERBS = (
    Verb(
        words="init",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE}),
    ),
    Verb(words="load", command_class=CommandClass.ANY, accepts=_WRITE, is_bulk=True),
    Verb(words="export", command_class=CommandClass.ANY, accepts=_READ, is_bulk=True),
    Verb(words="snapshot", command_class=CommandClass.ANY, accepts=_READ),
    Verb(
        words="spark-sql",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
        is_bulk=True,
    ),
    Verb(words="commit list", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="commit show", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="commit changes", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="changes poll", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="changes baseline", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="schema show", command_class=CommandClass.ANY, accepts=_READ, alias="get"),
    Verb(
        words="schema plan",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
    ),
    Verb(words="schema apply", command_class=CommandClass.ANY, accepts=_WRITE),
    Verb(words="lint", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, alias="check"),
    Verb(words="fmt", command_class=CommandClass.LOCAL),
    Verb(words="branch create", command_class=CommandClass.ANY, accepts=_WRITE),
    Verb(words="branch list", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="branch merge", command_class=CommandClass.ANY, accepts=_WRITE, is_bulk=True),
    Verb(words="branch diff", command_class=CommandClass.ANY, accepts=_READ),
    Verb(words="branch delete", command_class=CommandClass.ANY, accepts=_WRITE),
    Verb(words="repair", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Verb(words="cleanup", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Verb(words="optimize", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Verb(words="health", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Verb(words="verify", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, is_bulk=True),
    Verb(words="recover", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE),
    Verb(
        words="embed",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE | {AddressFlag.AS},
        is_bulk=True,
    ),
    Verb(words="profile list", command_class=CommandClass.LOCAL),
    Verb(words="profile show", command_class=CommandClass.LOCAL),
    Verb(words="doctor", command_class=CommandClass.LOCAL),
    Verb(words="completion", command_class=CommandClass.LOCAL),
    Verb(words="version", command_class=CommandClass.LOCAL),
)

GROUP_SUMMARIES = {
    "branch": "Work on a copy of the whole graph that costs nothing.",
    "changes": "Follow what changes in a graph.",
    "commit": "Look at the history of a graph.",
    "profile": "Look at the named scopes of the operator config.",
    "schema": "Look at the schema of a graph, and change it.",
}


def verb(words: str) -> Verb:
    """Return the row of a verb; asking for one without a row is a programming error."""
    return next(row for row in VERBS if row.words == words)
