"""Spark data frames as the input of a load."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from omnigraph.engine.spark.engine import SparkEngine
from omnigraph.engine.spark.session import OpenSession
from omnigraph.errors import Usage
from omnigraph.pipeline.load.bulk.partitions import keep_partition
from omnigraph.pipeline.load.frames import FrameInput
from omnigraph.pipeline.load.tables import ColumnMap


def frame_input(frame: Any, type_name: str, columns: ColumnMap, *, worker_environment: Mapping[str, str]) -> FrameInput:
    """Take a frame as the rows of one type, to be computed once on the workers of its own session."""
    if frame.isStreaming:
        raise Usage('A streaming frame never ends; write it with .writeStream.format("omnigraph").')
    engine = SparkEngine(OpenSession.beside(frame.sparkSession), worker_environment)
    return FrameInput(
        type_name=type_name,
        columns=columns,
        names=tuple(frame.columns),
        engine=engine,
        keep=lambda task: engine.map_partitions(frame, partial(keep_partition, task)),
    )
