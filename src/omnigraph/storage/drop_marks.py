"""When a table was dropped, by the store's clock: a mark beside its files, which goes with them.

The commit that drops a table says it too, by the clock of whichever machine made it.
"""

from omnigraph.storage.objects import ControlStore, ObjectExists

_NAME = "_dropped.json"


def mark_dropped(objects: ControlStore, location: str, content: bytes) -> None:
    """Leave the mark; the first one counts."""
    try:
        objects.create(f"{location}/{_NAME}", content)
    except ObjectExists:
        return


def dropped_at(objects: ControlStore, location: str) -> float | None:
    """Return when the mark was left, in seconds of the store; None if there is none."""
    mark = objects.read(f"{location}/{_NAME}")
    return None if mark is None else mark.last_modified
