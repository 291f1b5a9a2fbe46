"""Reads of the query language on Spark: one statement over views of one snapshot, a frame as the answer."""

from typing import TYPE_CHECKING, Any
from weakref import finalize

from omnigraph.base.ids import new_ulid
from omnigraph.connectors.spark.views import register_views
from omnigraph.query.sql.dialects import SPARK
from omnigraph.query.sql.statement import Asked, statement_of

if TYPE_CHECKING:
    from omnigraph.graphs.snapshot import Snapshot
    from omnigraph.storage.store import GraphStore


def query_frame(spark: Any, store: "GraphStore", snapshot: "Snapshot", asked: Asked) -> Any:
    """Return the rows of a read as a frame; nothing is read before an action asks for it.

    The views that the statement names have names of their own, and go when nobody has the frame any more: a Connect
    server looks them up only then.
    """
    views = register_views(spark, store, snapshot, prefix=f"omnigraph_{new_ulid().lower()}")
    names = {str(key): name for key, name in views.name_by_table.items()}
    frame = spark.sql(statement_of(asked, SPARK, names))
    finalize(frame, _drop, spark, tuple(names.values())).atexit = False
    return frame


def _drop(spark: Any, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            spark.catalog.dropTempView(f"`{name}`")
        except Exception:  # noqa: BLE001  # the session is gone, and its views with it
            return
