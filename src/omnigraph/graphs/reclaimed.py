"""Telling a version that cleanup took from a store that failed: both answer "not found" in the middle of a read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from omnigraph.errors import HistoricalVersionReclaimed, StorageError
from omnigraph.graphs.context import GraphContext
from omnigraph.graphs.holding import is_cleanup_running
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.version_files import version_path


@contextmanager
def telling_reclaimed(context: GraphContext, pins: Iterable[TablePin]) -> Iterator[None]:
    """Raise `HistoricalVersionReclaimed` for a read that failed because a version is gone, or is being removed.

    A missing file of a version that is still there is damage, and stays the storage error that it is.
    """
    try:
        yield
    except HistoricalVersionReclaimed as error:
        # Storage knows a table by its path; whoever reads the message knows it by its type.
        gone = next((pin for pin in pins if pin.address.path == error.details["table_key"]), None)
        if gone is None:
            raise
        raise _reclaimed(gone) from error
    except StorageError as error:
        if error.details["storage_kind"] != "not_found":
            raise
        gone = next((pin for pin in pins if _is_gone(context, pin)), None)
        if gone is None:
            raise
        raise _reclaimed(gone) from error


def _reclaimed(gone: TablePin) -> HistoricalVersionReclaimed:
    return HistoricalVersionReclaimed(
        f"Version {gone.version} of {gone.table_key} is gone: cleanup, a hard drop or the deletion of its branch "
        "removed it. Take a new snapshot.",
        table_key=gone.table_key,
        version=gone.version,
    )


def _is_gone(context: GraphContext, pin: TablePin) -> bool:
    """Whether a version's manifest is gone; while a cleanup runs, its data may be gone already and it not yet."""

    def is_there() -> bool:
        return context.store.objects.read(version_path(pin.address.path, pin.version)) is not None

    return not is_there() or is_cleanup_running(context) or not is_there()
