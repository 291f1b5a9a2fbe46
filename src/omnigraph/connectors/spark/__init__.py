"""The graph inside Spark: a data source that workers read by themselves, and frames for graph algorithms.

from omnigraph.spark import register

register(spark)
people = spark.read.format("omnigraph").option("graph", uri).option("type", "Person").load()
"""

from omnigraph.connectors.spark.each_batch import each_batch
from omnigraph.connectors.spark.frames import GraphFrames, graph_frames, type_frame
from omnigraph.connectors.spark.registration import register
from omnigraph.connectors.spark.source import OmniGraphSource

__all__ = ["GraphFrames", "OmniGraphSource", "each_batch", "graph_frames", "register", "type_frame"]
