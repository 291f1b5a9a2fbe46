"""The session that the calling process has already: a notebook's, that of spark-submit."""


def has_active_session() -> bool:
    """Whether there is one."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None
