"""The graph inside Spark, as users import it: `from omnigraph.spark import register`."""

from omnigraph.connectors.spark import (
    GraphFrames,
    OmniGraphSource,
    each_batch,
    graph_frames,
    register,
    type_frame,
)

__all__ = ["GraphFrames", "OmniGraphSource", "each_batch", "graph_frames", "register", "type_frame"]
