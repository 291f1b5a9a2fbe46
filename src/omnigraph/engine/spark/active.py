"""The session that the calling process has already: a notebook's, that of spark-submit."""

import sys


def has_active_session() -> bool:
    """Whether there is one; a process that never imported PySpark has none, and need not import it now."""
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None
