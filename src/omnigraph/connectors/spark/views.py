"""The types of one snapshot as temporary views of a session, for SQL: Spark offers Python no catalog to put them in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base.showing import Shown
from omnigraph.catalog.model import TableKey
from omnigraph.catalog.type_names import bare_name, nodes_first
from omnigraph.connectors.spark.frames import type_frame
from omnigraph.connectors.spark.holding import hold_with_view, is_connect
from omnigraph.connectors.spark.registration import register
from omnigraph.errors import InvalidTarget
from omnigraph.graphs.snapshot import Snapshot
from omnigraph.storage.locks import HeldVersions
from omnigraph.storage.store import GraphStore


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RegisteredViews(Shown):
    """The views that were made, all of one snapshot."""

    branch: str
    commit_id: str
    name_by_table: Mapping[TableKey, str]
    """What each type is called in SQL."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the views, nodes before edges."""
        return tuple(self.name_by_table.values())


def register_views(spark: Any, store: GraphStore, snapshot: Snapshot, *, prefix: str) -> RegisteredViews:
    """Make one view per type, or none if two of them would be called alike; views of the same names are replaced."""
    names = view_names([pin.table_key for pin in snapshot.tables], prefix)
    pins = {pin.table_key: pin for pin in snapshot.tables}
    register(spark)
    frames = {key: type_frame(spark, store, snapshot, key) for key in names}
    for key, name in names.items():
        # A view takes one name, whatever is in it; the quotes are not part of it.
        frames[key].createOrReplaceTempView(f"`{name}`")
        if is_connect(spark):
            hold_with_view(spark, name, HeldVersions(store.objects, [pins[key].state]))
    return RegisteredViews(branch=snapshot.branch, commit_id=snapshot.commit_id, name_by_table=names)


def view_names(table_keys: list[TableKey], prefix: str) -> dict[TableKey, str]:
    """Call every type by the prefix and its name; one that a node and an edge type share gets its kind, too.

    Spark compares names without regard to case.
    """
    if prefix and not prefix.replace("_", "").isalnum():
        raise InvalidTarget(f"The prefix of views is made of letters, digits and underscores, not {prefix!r}.")
    begin = f"{prefix}_" if prefix else ""
    keys = nodes_first(table_keys)
    plain = {key: f"{begin}{bare_name(key)}" for key in keys}
    shared = _repeated(plain.values())
    names = {
        key: f"{begin}{key.replace(':', '_', 1)}" if name.casefold() in shared else name for key, name in plain.items()
    }
    clashing = _repeated(names.values())
    if clashing:
        alike = ", ".join(key for key, name in names.items() if name.casefold() in clashing)
        raise InvalidTarget(f"Spark compares the names of views without regard to case, and {alike} are then the same.")
    return names


def _repeated(names: Any) -> set[str]:
    folded = [name.casefold() for name in names]
    return {name for name in folded if folded.count(name) > 1}
