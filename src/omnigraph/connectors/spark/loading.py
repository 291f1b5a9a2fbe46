"""Spark data frames as the input of a load."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from omnigraph.engine.interface import Watch
from omnigraph.engine.spark.engine import SparkEngine
from omnigraph.engine.spark.session import OpenSession
from omnigraph.errors import InvalidTarget, Usage
from omnigraph.pipeline.load.bulk.partitions import FrameTask, PartitionOutcome, keep_partition
from omnigraph.pipeline.load.frames import FrameInput, TypedFrame
from omnigraph.pipeline.load.tables import ColumnMap


def is_spark_frame(frame: Any) -> bool:
    """Whether a frame is one of Spark's, classic or Connect."""
    return hasattr(frame, "mapInArrow") and hasattr(frame, "sparkSession")


def frames_input(
    frame_by_type: Mapping[str, Any],
    columns_by_type: Mapping[str, ColumnMap],
    *,
    worker_environment: Mapping[str, str],
) -> FrameInput:
    """Take frames of one session, each as the rows of a type, to be computed once on its workers."""
    if not frame_by_type:
        raise InvalidTarget('There is no frame to load; give them by type, as in {"Person": people}.')
    for type_name, frame in frame_by_type.items():
        if not is_spark_frame(frame):
            raise InvalidTarget(f"What is given for {type_name} is no Spark data frame but a {type(frame).__name__}.")
        if frame.isStreaming:
            raise Usage('A streaming frame never ends; write it with .writeStream.format("omnigraph").')
    session, *others = (frame.sparkSession for frame in frame_by_type.values())
    if any(other is not session for other in others):
        raise InvalidTarget("The frames of one load come from one Spark session, and these come from several.")
    engine = SparkEngine(OpenSession.beside(session), worker_environment)

    def keeping(frame: Any) -> Callable[[FrameTask, Watch], Iterable[PartitionOutcome]]:
        return lambda task, watch: engine.map_partitions(frame, partial(keep_partition, task), watch=watch)

    typed = tuple(
        TypedFrame(
            type_name=type_name,
            columns=columns_by_type.get(type_name, ColumnMap()),
            names=tuple(frame.columns),
            keep=keeping(frame),
        )
        for type_name, frame in frame_by_type.items()
    )
    return FrameInput(frames=typed, engine=engine)
