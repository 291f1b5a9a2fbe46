"""Writing batches of a stream from `foreachBatch`, which takes `update` queries; Spark lets no Python sink do so."""

from typing import Any

from omnigraph.connectors.spark.registration import register


class EachBatch:
    """Writes every batch that it is called with as one commit, exactly once."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def __call__(self, frame: Any, batch_id: int) -> None:
        """Write one batch."""
        register(frame.sparkSession)
        frame.write.format("omnigraph").options(**self._options, batchId=str(batch_id)).mode("append").save()


def each_batch(graph: str, **options: Any) -> EachBatch:
    """Return what `foreachBatch` calls; options are those of the sink, and `loadMode` is merge without it.

    counts.writeStream.outputMode("update").foreachBatch(each_batch(uri, type="Visitor"))
    """
    return EachBatch({"graph": graph, "loadMode": "merge", **{name: str(value) for name, value in options.items()}})
