"""Writing frames through the data source: workers check and write the rows, one process commits them.

Spark calls back in processes of its own, without a session: one plans, many write a partition each, one commits. What
they share travels with the writer and with the messages of the partitions.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, get_args
from urllib.parse import quote

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from omnigraph.base import work
from omnigraph.cluster.direct import policy_at
from omnigraph.connectors.spark.narrating import Narrator, heard, tell_begin, tell_end
from omnigraph.connectors.spark.options import Options
from omnigraph.connectors.spark.telling import sentence_first
from omnigraph.engine.local import LocalEngine
from omnigraph.errors import OmniError, Usage
from omnigraph.graphs.authorizing import Authorizer, PolicyAction
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.pipeline.load.bulk.partitions import FrameTask, PartitionOutcome, keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.request import FrameLoadRequest, LoadMode
from omnigraph.policy.engine import PolicyEngine
from omnigraph.storage.store import GraphStore
from omnigraph.storage.worker_files import shared_with_workers

_MAX_ERRORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """What `.option(…)` says about a write."""

    uri: str
    type_name: str | None
    """None is a frame of whole records."""
    mode: LoadMode
    branch: str
    actor_id: str | None
    policy: str | None
    """The file of the bundle that must allow the write; None is that of the cluster, if the graph is in one."""
    message: str | None
    max_errors: int
    newest_by: str | None
    bad_records_path: str | None
    """Where records that cannot be loaded are written down; None lets them reject the load."""
    shows_progress: bool
    """Whether processes that nobody has told about logging write down how far they are."""
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How to reach the store, over what the environment of a worker says; may hold credentials."""

    @classmethod
    def of(cls, options: Options, *, overwrite: bool, is_batch: bool = False) -> "WriteOptions":
        """Read the options; `overwrite` is what Spark's own save mode says.

        A frame says how far it is unless told otherwise. Batches of a stream come every few seconds, for months: they
        do so only if told to.
        """
        max_errors = options.number("maxErrors")
        return cls(
            uri=options.required("graph"),
            type_name=options.get("type"),
            mode=_mode(options.get("loadMode"), overwrite=overwrite),
            branch=options.get("branch") or MAIN_BRANCH,
            actor_id=options.get("actor"),
            policy=options.get("policy"),
            message=options.get("message"),
            max_errors=_MAX_ERRORS if max_errors is None else max_errors,
            newest_by=options.get("newestBy"),
            bad_records_path=options.get("badRecordsPath"),
            shows_progress=options.flag("progress", otherwise=not is_batch),
            storage=options.storage,
        )

    def context(self) -> GraphContext:
        """Open the graph in this process, with what the options and its environment say about the store."""
        return GraphContext.over(GraphStore.open(self.uri, self.storage), LocalEngine())

    def keep(self, task: FrameTask, batches: Iterator[pa.RecordBatch]) -> PartitionOutcome:
        """Check and keep the rows of the partition that this worker has."""
        partition = partition_number()
        with heard(self.uri, shows=self.shows_progress), ExitStack() as held:
            if self.storage:
                store = GraphStore.open(task.load.uri, self.storage)
                held.enter_context(shared_with_workers(store, task.load.operation_id))
            held.enter_context(work.reporting(Narrator().rows_of_partition(partition)))
            return keep_partition(task, partition, batches)

    def commit(
        self,
        load: FrameLoad,
        messages: list[WriterCommitMessage | None],
        *,
        what: str = "the frame",
        batch: StreamBatch | None = None,
        bad_records: str | None = None,
    ) -> None:
        """Publish what the workers have kept, and say so."""
        kept = [message.kept for message in messages if isinstance(message, PartitionMessage)]
        rows = sum(outcome.lines for partition in kept for outcome in partition.outcomes)
        with heard(self.uri, shows=self.shows_progress), naming_records():
            commit = load.commit(self.context(), kept, Narrator(), batch=batch, bad_records=bad_records)
            tell_end(what, rows, len(kept), commit)

    def begin(self, names: list[str]) -> FrameLoad:
        """Begin a load of a frame with these columns, if the policy allows it; runs on the driver, before any task."""
        context = self.context()
        authorizer: Authorizer | None
        if self.policy is not None:
            authorizer = PolicyEngine.load_graph(self.policy, graph_id=self.uri)
        else:
            authorizer = policy_at(context.store.uri, storage_options=self.storage, events=Narrator())
        if authorizer is not None:
            authorizer.authorize(PolicyAction.CHANGE, actor=self.actor_id, branch=self.branch)
        request = FrameLoadRequest(
            type=self.type_name,
            mode=self.mode,
            branch=self.branch,
            actor=self.actor_id,
            message=self.message,
            max_errors=self.max_errors,
            newest_by=self.newest_by,
            sets_aside=self.bad_records_path is not None,
        )
        return FrameLoad.begin(context, request, names)

    def bad_records(self, *names: str) -> str | None:
        """Name the file of one load's bad records, below the path that the options give."""
        if self.bad_records_path is None:
            return None
        return "/".join([self.bad_records_path.rstrip("/"), *(_file_name(name) for name in names)]) + ".jsonl"


def _file_name(text: str) -> str:
    """Spell any name as one of a file: nothing in it leads to another directory."""
    return quote(text, safe=" ").replace(".", "%2E")


def _mode(asked: str | None, *, overwrite: bool) -> LoadMode:
    modes: tuple[LoadMode, ...] = get_args(LoadMode)
    mode = asked or ("overwrite" if overwrite else None)
    for known in modes:
        if mode == known and (not overwrite or known == "overwrite"):
            return known
    if overwrite:
        raise Usage(f'.mode("overwrite") replaces all rows of the type; loadMode says {asked}. Use .mode("append").')
    raise Usage(
        f'Writing with omnigraph needs .option("loadMode", …), one of {", ".join(modes)}; it is {asked or "missing"}.',
        flag="loadMode",
    )


@dataclass(frozen=True)
class PartitionMessage(WriterCommitMessage):
    """What a worker tells whoever commits."""

    kept: PartitionOutcome


@sentence_first("write", "commit", "abort")
class FrameWriter(DataSourceArrowWriter):
    """Writes a frame as one commit."""

    def __init__(self, options: WriteOptions, load: FrameLoad) -> None:
        self._options = options
        self._load = load
        with heard(options.uri, shows=options.shows_progress):
            what = f"rows of {options.type_name}" if options.type_name is not None else "records"
            tell_begin(what, f"branch {options.branch} of {options.uri}, {options.mode}")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionMessage:
        """Check and keep the rows of one partition, in a worker."""
        return PartitionMessage(self._options.keep(self._load.task, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the workers have kept."""
        bad_records = self._options.bad_records(self._load.task.load.operation_id)
        self._options.commit(self._load, messages, bad_records=bad_records)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what the workers have kept."""
        del messages
        self._load.abandon(self._options.context().store)


@contextmanager
def naming_records() -> Iterator[None]:
    """Put the rejected records into the message of an error: its text is all of it that passes through Spark."""
    try:
        yield
    except OmniError as error:
        entries = error.details.get("errors", ())
        places = [f"{entry.get('file')}:{entry.get('line')}: {entry['message']}" for entry in entries]
        error.args = ("\n  ".join([error.message, *places]),)
        raise


def partition_number() -> int:
    """Return which partition this worker has."""
    context: Any = TaskContext.get()
    return int(context.partitionId())
