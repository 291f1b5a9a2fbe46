"""The graph inside Spark: a data source that workers read by themselves, and frames for graph algorithms.

from omnigraph.spark import register

register(spark)
people = spark.read.format("omnigraph").option("graph", uri).option("type", "Person").load()
"""

from omnigraph.spark.each_batch import each_batch
from omnigraph.spark.frames import GraphFrames, graph_frames, type_frame
from omnigraph.spark.registration import register
from omnigraph.spark.source import OmniGraphSource

__all__ = ["GraphFrames", "OmniGraphSource", "each_batch", "graph_frames", "register", "type_frame"]
