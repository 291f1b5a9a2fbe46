"""Reads of the query language on Spark: one statement over views of one snapshot, a frame as the answer."""

import os
from typing import TYPE_CHECKING, Any
from weakref import finalize

from omnigraph.base.ids import new_ulid
from omnigraph.connectors.spark.holding import is_connect
from omnigraph.connectors.spark.views import register_views
from omnigraph.engine.choice import EngineChoice
from omnigraph.engine.opening import require_pyspark
from omnigraph.errors import EngineUnavailable
from omnigraph.graphs.result import Result
from omnigraph.query.sql.answers import fitted
from omnigraph.query.sql.dialects import SPARK
from omnigraph.query.sql.statement import Asked, statement_of

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.storage.store import GraphStore


def query_frame(spark: Any, store: "GraphStore", snapshot: "Snapshot", asked: Asked) -> Any:
    """Return the rows of a read as a frame; nothing is read before an action asks for it.

    The views that the statement names have names of their own. A classic session has looked them up by now, a Connect
    server does so whenever the frame is asked.
    """
    views = register_views(spark, store, snapshot, prefix=f"omnigraph_{new_ulid().lower()}")
    names = {str(key): name for key, name in views.name_by_table.items()}
    frame = spark.sql(statement_of(asked, SPARK, names))
    if is_connect(spark):
        # Frames made from this one refer to its plan, and that to the views.
        finalize(frame._plan, _drop, spark, tuple(names.values())).atexit = False  # noqa: SLF001  # no public way
    else:
        _drop(spark, tuple(names.values()))
    return frame


def collected(store: "GraphStore", snapshot: "Snapshot", asked: Asked, choice: EngineChoice) -> Result:
    """Run a read on the session that is chosen and bring its rows here, in the types that every engine gives them."""
    require_pyspark("query")
    from omnigraph.engine.spark.session import open_session

    opened = open_session(choice, os.environ)
    with opened.in_use():
        rows = fitted(query_frame(opened.session, store, snapshot, asked).toArrow(), asked.read)
    return Result(rows, query_name=asked.read.name, branch=snapshot.branch, commit_id=snapshot.commit_id)


def callers_frame(store: "GraphStore", snapshot: "Snapshot", asked: Asked) -> Any:
    """Return the rows of a read as a frame of the session that the caller has."""
    require_pyspark("query")
    from omnigraph.engine.spark.session import callers_session

    session = callers_session()
    if session is None:
        raise EngineUnavailable(
            "A query with engine='spark' returns a frame of your Spark session, and there is none; make one with "
            "SparkSession.builder.getOrCreate() first.",
            engine="spark",
            missing="a Spark session",
        )
    return query_frame(session, store, snapshot, asked)


def _drop(spark: Any, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            spark.catalog.dropTempView(name)
        except Exception:  # noqa: BLE001  # the session is gone, and its views with it
            return
