"""The session that the calling process has already: a notebook's, or what `spark-submit` has prepared."""

from omnigraph.engine.spark.private import known_to_pyspark
from omnigraph.engine.spark.session import callers_session


def has_active_session() -> bool:
    """Whether there is one; makes none."""
    from pyspark.sql import is_remote

    return callers_session() is not None if is_remote() else known_to_pyspark()[0] is not None
