"""The table of all verbs.

A verb exists because it has a row here: the rows build the command tree, the guard, the legend of `--help` and the
generated tests. To add one, add its row, and a function of the same name under `cli/commands/`.
"""

from enum import Enum, StrEnum
from importlib import import_module
from typing import Any

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
    request: str | None = None
    """Where the class of its options is, below `omnigraph`; None for a verb whose options one function takes."""
    document: str | None = None
    """Which of `omnigraph.documents` describes its result; None for what concerns only the machine it runs on."""

    def request_class(self) -> type[Any] | None:
        """Import the class of its options: its fields are the options, their defaults what is meant without them."""
        if self.request is None:
            return None
        home, _, name = self.request.rpartition(".")
        found: type[Any] = getattr(import_module(f"omnigraph.{home}"), name)
        return found

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
_CONTROL = frozenset({AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE})

VERBS = (
    Verb(
        words="init",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE}),
        request="manifest.birth.InitRequest",
        document="init_document",
    ),
    Verb(
        words="load",
        command_class=CommandClass.ANY,
        accepts=_WRITE,
        alias="ingest",
        is_bulk=True,
        request="pipeline.load.request.LoadRequest",
        document="load_document",
    ),
    Verb(
        words="query",
        command_class=CommandClass.ANY,
        accepts=_READ,
        alias="read",
        is_bulk=True,
        document="query_document",
    ),
    Verb(
        words="mutate",
        command_class=CommandClass.ANY,
        accepts=_WRITE,
        alias="change",
        request="query.mutate.request.MutateRequest",
        document="mutation_document",
    ),
    Verb(words="shell", command_class=CommandClass.ANY, accepts=_WRITE, document="query_document"),
    Verb(
        words="export",
        command_class=CommandClass.ANY,
        accepts=_READ,
        is_bulk=True,
        request="pipeline.export.request.ExportRequest",
        document="export_document",
    ),
    Verb(words="blob get", command_class=CommandClass.ANY, accepts=_READ, document="blob_document"),
    Verb(words="blob stat", command_class=CommandClass.ANY, accepts=_READ, document="blob_document"),
    Verb(words="snapshot", command_class=CommandClass.ANY, accepts=_READ, document="snapshot_document"),
    Verb(
        words="spark-sql",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
        is_bulk=True,
        document="answers_document",
    ),
    Verb(words="commit list", command_class=CommandClass.ANY, accepts=_READ, document="commits_document"),
    Verb(words="commit show", command_class=CommandClass.ANY, accepts=_READ, document="one_commit_document"),
    Verb(
        words="commit changes",
        command_class=CommandClass.ANY,
        accepts=_READ,
        request="changes.filters.ChangesRequest",
        document="commit_changes_document",
    ),
    Verb(
        words="changes poll",
        command_class=CommandClass.ANY,
        accepts=_READ,
        request="changes.filters.ChangesRequest",
        document="feed_document",
    ),
    Verb(
        words="changes baseline",
        command_class=CommandClass.ANY,
        accepts=_READ,
        request="pipeline.export.baseline.BaselineRequest",
        document="baseline_document",
    ),
    Verb(words="schema show", command_class=CommandClass.ANY, accepts=_READ, alias="get", document="schema_document"),
    Verb(
        words="schema plan",
        command_class=CommandClass.DIRECT,
        accepts=frozenset({AddressFlag.STORE, AddressFlag.PROFILE}),
        request="evolution.plan.SchemaRequest",
        document="schema_plan_document",
    ),
    Verb(
        words="schema apply",
        command_class=CommandClass.ANY,
        accepts=_WRITE,
        request="evolution.plan.SchemaRequest",
        document="applied_schema_document",
    ),
    Verb(
        words="lint", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, alias="check", document="lint_document"
    ),
    Verb(words="fmt", command_class=CommandClass.LOCAL),
    Verb(words="branch create", command_class=CommandClass.ANY, accepts=_WRITE, document="created_branch_document"),
    Verb(words="branch list", command_class=CommandClass.ANY, accepts=_READ, document="branches_document"),
    Verb(
        words="branch merge",
        command_class=CommandClass.ANY,
        accepts=_WRITE,
        is_bulk=True,
        request="branches.merge.run.MergeRequest",
        document="merge_document",
    ),
    Verb(
        words="branch diff",
        command_class=CommandClass.ANY,
        accepts=_READ,
        request="changes.filters.ChangesRequest",
        document="diff_document",
    ),
    Verb(words="branch delete", command_class=CommandClass.ANY, accepts=_WRITE, document="deleted_branch_document"),
    Verb(
        words="repair",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE,
        request="maintenance.repair.request.RepairRequest",
        document="repair_document",
    ),
    Verb(
        words="cleanup",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE,
        is_bulk=True,
        request="maintenance.cleanup.policy.CleanupRequest",
        document="cleanup_document",
    ),
    Verb(
        words="optimize",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE,
        is_bulk=True,
        request="maintenance.optimize.request.OptimizeRequest",
        document="optimize_document",
    ),
    Verb(words="health", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, document="health_document"),
    Verb(
        words="verify",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE,
        is_bulk=True,
        request="maintenance.verify.run.VerifyRequest",
        document="verify_document",
    ),
    Verb(
        words="maintain",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE,
        is_bulk=True,
        request="maintenance.maintain.request.MaintainRequest",
        document="maintain_document",
    ),
    Verb(words="recover", command_class=CommandClass.DIRECT, accepts=_MAINTENANCE, document="sweep_document"),
    Verb(
        words="embed",
        command_class=CommandClass.DIRECT,
        accepts=_MAINTENANCE | {AddressFlag.AS},
        is_bulk=True,
        request="pipeline.embed.request.EmbedRequest",
        document="embed_document",
    ),
    Verb(words="policy validate", command_class=CommandClass.CONTROL, accepts=_CONTROL, document="bundles_document"),
    Verb(words="policy test", command_class=CommandClass.CONTROL, accepts=_CONTROL, document="policy_tests_document"),
    Verb(words="policy explain", command_class=CommandClass.CONTROL, accepts=_CONTROL, document="decision_document"),
    Verb(words="alias", command_class=CommandClass.LOCAL),
    Verb(words="login", command_class=CommandClass.LOCAL),
    Verb(words="logout", command_class=CommandClass.LOCAL),
    Verb(words="cluster validate", command_class=CommandClass.CONTROL, document="cluster_validation_document"),
    Verb(words="cluster plan", command_class=CommandClass.CONTROL, document="cluster_plan_document"),
    Verb(
        words="cluster apply",
        command_class=CommandClass.CONTROL,
        accepts=frozenset({AddressFlag.AS}),
        request="cluster.applying.ApplyRequest",
        document="applied_cluster_document",
    ),
    Verb(
        words="cluster approve",
        command_class=CommandClass.CONTROL,
        accepts=frozenset({AddressFlag.AS}),
        request="cluster.commands.ApproveRequest",
        document="approval_document",
    ),
    Verb(words="cluster status", command_class=CommandClass.CONTROL, document="cluster_status_document"),
    Verb(words="cluster refresh", command_class=CommandClass.CONTROL, document="observed_cluster_document"),
    Verb(words="cluster import", command_class=CommandClass.CONTROL, document="observed_cluster_document"),
    Verb(words="cluster force-unlock", command_class=CommandClass.CONTROL, document="removed_lock_document"),
    Verb(
        words="queries list",
        command_class=CommandClass.CONTROL,
        accepts=frozenset({AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE}),
        document="stored_queries_document",
    ),
    Verb(
        words="queries validate",
        command_class=CommandClass.CONTROL,
        accepts=frozenset({AddressFlag.CLUSTER, AddressFlag.GRAPH, AddressFlag.PROFILE}),
        document="checked_queries_document",
    ),
    Verb(
        words="graphs list",
        command_class=CommandClass.SERVED,
        accepts=frozenset({AddressFlag.SERVER, AddressFlag.PROFILE}),
    ),
    Verb(
        words="mcp",
        command_class=CommandClass.ANY,
        accepts=_WRITE | {AddressFlag.CLUSTER},
        document="query_document",
    ),
    Verb(
        words="ui",
        command_class=CommandClass.ANY,
        accepts=_WRITE | {AddressFlag.CLUSTER},
        document="query_document",
    ),
    Verb(words="profile list", command_class=CommandClass.LOCAL),
    Verb(words="profile show", command_class=CommandClass.LOCAL),
    Verb(words="serve", command_class=CommandClass.CONTROL, accepts=frozenset({AddressFlag.CLUSTER})),
    Verb(words="doctor", command_class=CommandClass.LOCAL),
    Verb(words="completion", command_class=CommandClass.LOCAL),
    Verb(words="version", command_class=CommandClass.LOCAL),
)

GROUP_SUMMARIES = {
    "blob": "Look at the bytes of one Blob value.",
    "branch": "Work on a copy of the whole graph that costs nothing.",
    "changes": "Follow what changes in a graph.",
    "cluster": "Declare graphs, queries and policies in files, and apply them.",
    "commit": "Look at the history of a graph.",
    "policy": "Say who may do what, and check it before it counts.",
    "graphs": "Look at the graphs of a server.",
    "profile": "Look at the named scopes of the operator config.",
    "queries": "Look at the stored queries of a cluster.",
    "schema": "Look at the schema of a graph, and change it.",
}


def verb(words: str) -> Verb:
    """Return the row of a verb; asking for one without a row is a programming error."""
    return next(row for row in VERBS if row.words == words)
