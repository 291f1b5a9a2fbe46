"""Loads one batch of a stream, as the sink does, without Spark: a process for tests to kill.

    python batch_child.py GRAPH BATCH BAD CODE…

prints the commit id, or nothing if the batch was there. The code `?` is a record that cannot be loaded; it is set aside
in the file BAD.
"""

import sys

import pyarrow as pa

from omnigraph.base.events import ignore_events
from omnigraph.engine.local import LocalEngine
from omnigraph.graphs.context import GraphContext
from omnigraph.pipeline.load.bulk.partitions import keep_partition
from omnigraph.pipeline.load.frames import FrameLoad
from omnigraph.pipeline.load.once import StreamBatch
from omnigraph.pipeline.load.request import FrameLoadRequest
from omnigraph.storage.store import GraphStore


def load_batch(uri: str, batch_id: int, bad_records: str, codes: list[str]) -> str | None:
    context = GraphContext.over(GraphStore.open(uri), LocalEngine())
    load = FrameLoad.begin(context, FrameLoadRequest(type="Port", mode="append", sets_aside=True), ["code"])
    rows = pa.table({"code": [None if code == "?" else code for code in codes]})
    kept = keep_partition(load.task, 0, rows.to_batches())
    batch = StreamBatch(query_id="q", batch_id=batch_id)
    commit = load.commit(context, [kept], ignore_events, batch=batch, bad_records=bad_records)
    return commit.graph_commit_id if commit is not None else None


if __name__ == "__main__":
    sys.stdout.write(load_batch(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]) or "")
