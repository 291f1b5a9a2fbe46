"""Where a table's HEAD is not its pin, and what made the versions in between."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import pyarrow as pa

from omnigraph.base import clock, waits
from omnigraph.base.values import dataclass
from omnigraph.catalog.arrow import PRIMARY_KEY_METADATA, PROPERTY_ID_METADATA, table_schema
from omnigraph.catalog.model import Catalog, TableKey
from omnigraph.catalog.type_names import find_types
from omnigraph.errors import HistoricalVersionReclaimed
from omnigraph.graphs.context import GraphContext
from omnigraph.maintenance.unreadable import UNREADABLE, problem_of, refuse_unreachable
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.manifest.snapshot import GraphSnapshot, TablePin
from omnigraph.storage.operations import (
    OperationName,
    ReadOperations,
    TableDirectory,
    TableOperation,
    readable_operations,
)
from omnigraph.storage.refs import has_ref, list_refs
from omnigraph.storage.tables import Table, TableAddress

_PAUSE_SECONDS = 0.1

# An index build or a changed setting is harmless most of the time, which is not the same as proven.
_VERIFIED = {OperationName.RESERVE_FRAGMENTS, OperationName.REWRITE}


class Classification(StrEnum):
    """What the versions above a pin amount to."""

    NO_DRIFT = "no_drift"
    VERIFIED_MAINTENANCE = "verified_maintenance"
    SUSPICIOUS = "suspicious"
    UNVERIFIABLE = "unverifiable"
    BEHIND = "behind"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDrift:
    """One table of one branch: its pin, its HEAD and every operation between them."""

    branch: str
    pin: TablePin
    pinned: Table | None
    """The state that the graph pins; None when that version is gone or cannot be read."""
    head: Table | None
    operations: tuple[TableOperation, ...] = ()
    """What made each version in (pin, HEAD], as far as that can be read."""
    unreadable: tuple[str, ...] = ()
    """What is missing from `operations`, and why."""
    unfit_because: str | None = None
    """Why the graph could not be used with HEAD at all; None when its columns are those of the schema."""
    is_stray: bool = False
    """Whether the branch inherits the table, and the ref that HEAD is on belongs to a first write that was given up."""
    pin_problem: str | None = None
    """Why there is no pinned state to compare with, or to go back to."""
    problem: str | None = None
    """Why the table could not be looked at; nothing else is known of it then."""

    @property
    def head_version(self) -> int | None:
        """HEAD's version; None when the table is gone."""
        return None if self.head is None else int(self.head.version)

    @property
    def classification(self) -> Classification:
        """Judge by the names in the transaction files; an unknown operation is never harmless."""
        if self.problem is not None:
            return Classification.UNVERIFIABLE
        operations = None if self.unreadable else self.operations
        found = classify_drift(pin_version=self.pin.version, head_version=self.head_version, operations=operations)
        # A fork that was never committed to holds what its branch inherits, and is in the way of the next first write.
        is_empty_fork = self.is_stray and found is Classification.NO_DRIFT
        return Classification.VERIFIED_MAINTENANCE if is_empty_fork else found

    def at_pin(self) -> "TableDrift":
        """Return the table as the graph has it, without what lies above; itself where the pin cannot be opened."""
        if self.pinned is None:
            return self
        return TableDrift(branch=self.branch, pin=self.pin, pinned=None, head=self.pinned)


def classify_drift(
    *, pin_version: int, head_version: int | None, operations: Sequence[TableOperation] | None
) -> Classification:
    """Say what lies between a pin and HEAD."""
    if head_version is None or head_version < pin_version:
        return Classification.BEHIND
    if head_version == pin_version:
        return Classification.NO_DRIFT
    if operations is None:
        return Classification.UNVERIFIABLE
    if all(made.name in _VERIFIED for made in operations):
        return Classification.VERIFIED_MAINTENANCE
    return Classification.SUSPICIOUS


def find_drift(
    context: GraphContext, branch: str, table_keys: Sequence[TableKey] = (), *, with_strays: bool = False
) -> list[TableDrift]:
    """Look at every table that a branch owns; tables it inherits are their owner's matter.

    With strays, also at refs that the branch should not have yet, which takes a listing per inherited table.
    """
    snapshot = context.manifest.load(branch).snapshot
    catalog = context.schemas.catalog(snapshot.schema)
    pins = [pin for pin in snapshot.pins.values() if not table_keys or pin.table_key in table_keys]
    owned = [_look(context, branch, pin, catalog) for pin in pins if pin.ref == snapshot.own_ref]
    if not with_strays or snapshot.own_ref is None:
        return owned
    inherited = [pin for pin in pins if pin.ref != snapshot.own_ref]
    strays = [_look_for_stray(context, branch, pin, snapshot.own_ref, catalog) for pin in inherited]
    return [*owned, *(stray for stray in strays if stray is not None)]


def find_lasting_drift(
    context: GraphContext, branch: str, table_keys: Sequence[TableKey] = (), *, with_strays: bool = False
) -> list[TableDrift]:
    """Look at every table that a branch owns, and again while what looks like drift may be a write under way.

    Between its table commits and its publish a live writer's tables are ahead of their pins. Drift counts when two
    looks show the same and nobody was writing to the branch in between. Where a pin has moved meanwhile, or reached
    HEAD, what was ahead of it was a write: no writer publishes over drift. So a branch that is written to all the time
    is not waited for, and its tables are told of as they are pinned.
    """
    deadline = clock.monotonic_seconds() + waits.WRITER_SECONDS
    former: set[tuple[TableKey, int, int | None]] = set()
    suspected: dict[TableKey, int] = {}
    written: set[TableKey] = set()
    while True:
        found = find_drift(context, branch, table_keys, with_strays=with_strays)
        ahead = {drift.pin.table_key: drift for drift in found if drift.classification is not Classification.NO_DRIFT}
        written |= {key for key, version in suspected.items() if key not in ahead or ahead[key].pin.version != version}
        found = [drift.at_pin() if drift.pin.table_key in written else drift for drift in found]
        drifted = {
            (drift.pin.table_key, drift.pin.version, drift.head_version)
            for drift in found
            if drift.classification is not Classification.NO_DRIFT
        }
        if drifted <= former or clock.monotonic_seconds() > deadline:
            return found
        former = set() if _is_being_written(context, branch) else drifted
        suspected = {key: version for key, version, _ in drifted} | suspected
        clock.sleep_seconds(_PAUSE_SECONDS)


def _is_being_written(context: GraphContext, branch: str) -> bool:
    return context.store.locks.holder(f"branch/{branch}", store_clock=None) is not None


def branches_to_examine(context: GraphContext, branch: str | None) -> list[str]:
    """Return the branch that was asked for, or all live ones."""
    return [branch] if branch is not None else [MAIN_BRANCH, *context.manifest.branch_names()]


def check_table_keys(snapshots: Iterable[GraphSnapshot], table_keys: Sequence[str]) -> tuple[TableKey, ...]:
    """Return the keys of the named tables, or raise for the first that no examined branch has."""
    return find_types(table_keys, {key for snapshot in snapshots for key in snapshot.pins}, what="table")


def _look(context: GraphContext, branch: str, pin: TablePin, catalog: Catalog) -> TableDrift:
    """Look at one table; one that cannot be read is a finding, so that the others are still looked at."""
    try:
        head = context.store.tables.head(pin.address)
        if head is None or head.version <= pin.version:
            return TableDrift(branch=branch, pin=pin, pinned=None, head=head)
        pinned, pin_problem = _pinned(context, pin)
        found = _operations(context, pin.address, after=pin.version, up_to=head.version)
        return TableDrift(
            branch=branch,
            pin=pin,
            pinned=pinned,
            pin_problem=pin_problem,
            head=head,
            operations=found.operations,
            unreadable=found.unreadable,
            unfit_because=_unfit_because(head, pinned, pin, catalog),
        )
    except UNREADABLE as error:
        return _unlooked(branch, pin, error)


def _unlooked(branch: str, pin: TablePin, error: BaseException) -> TableDrift:
    refuse_unreachable(error)
    return TableDrift(branch=branch, pin=pin, pinned=None, head=None, problem=problem_of(str(error)))


def _look_for_stray(
    context: GraphContext, branch: str, pin: TablePin, own_ref: str, catalog: Catalog
) -> TableDrift | None:
    try:
        return _stray(context, branch, pin, own_ref, catalog)
    except UNREADABLE as error:
        return _unlooked(branch, pin, error)


def _stray(context: GraphContext, branch: str, pin: TablePin, own_ref: str, catalog: Catalog) -> TableDrift | None:
    if not has_ref(context.store.objects, pin.location, own_ref):
        # Without a listing: an unreadable ref of somebody else's is not this branch's matter.
        return None
    ref = list_refs(context.store.tables, pin.location).get(own_ref)
    address = pin.address_on(own_ref)
    head = context.store.tables.head(address) if ref is not None else None
    if ref is None or head is None:
        return None
    pinned, pin_problem = _pinned(context, pin)
    is_forked_from_pin = (ref.parent, ref.parent_version) == (pin.ref, pin.version)
    elsewhere = f"it was forked from version {ref.parent_version}, not from what the branch pins; use --discard"
    found = _operations(context, address, after=pin.version, up_to=head.version) if is_forked_from_pin else None
    return TableDrift(
        branch=branch,
        pin=pin,
        pinned=pinned,
        pin_problem=pin_problem,
        head=head,
        operations=found.operations if found is not None else (),
        unreadable=found.unreadable if found is not None else (elsewhere,),
        unfit_because=_unfit_because(head, pinned, pin, catalog) if is_forked_from_pin else elsewhere,
        is_stray=True,
    )


def _pinned(context: GraphContext, pin: TablePin) -> tuple[Table | None, str | None]:
    """Open the pinned state, or say why there is none."""
    try:
        return pin.state.open(context.store.tables), None
    except HistoricalVersionReclaimed:
        return None, f"version {pin.version}, which the graph pins, is gone"
    except UNREADABLE as error:
        refuse_unreachable(error)
        return None, f"version {pin.version}, which the graph pins, cannot be read ({problem_of(str(error))})"


def _operations(context: GraphContext, address: TableAddress, *, after: int, up_to: int) -> ReadOperations:
    directory = TableDirectory(context.store.objects, address.location)
    return readable_operations(directory, ref=address.ref, after=after, up_to=up_to)


def _unfit_because(head: Table, pinned: Table | None, pin: TablePin, catalog: Catalog) -> str | None:
    way_out = "use --discard to go back to the pin" if pinned is not None else "restore the table from a backup"
    declared = {field.name: _stored(field.type) for field in table_schema(catalog.type_by_table_key[pin.table_key])}
    found = {field.name: _stored(field.type) for field in head.schema}
    for name in sorted({*declared, *found}):
        if declared.get(name) != found.get(name):
            return (
                f"column {name!r} is {found.get(name, 'missing')} in version {head.version} but the schema says "
                f"{declared.get(name, 'that there is none')}; {way_out}"
            )
    if pinned is not None and head.identity_mark != pinned.identity_mark:
        return f"version {head.version} no longer says which table it is; {way_out}"
    accepted = pinned.schema if pinned is not None else table_schema(catalog.type_by_table_key[pin.table_key])
    for field in head.schema:
        if _marks(field) != _marks(accepted.field(field.name)):
            return (
                f"column {field.name!r} of version {head.version} was made anew behind the graph's back: whether it "
                f"may be null, or the marks by which the graph knows it, differ from the pin's; {way_out}"
            )
    return None


def _marks(field: pa.Field) -> tuple[object, ...]:
    """Return what writes and schema changes rely on beside the name and the type of a column."""
    metadata = field.metadata or {}
    return field.nullable, *(metadata.get(key.encode()) for key in (PROPERTY_ID_METADATA, PRIMARY_KEY_METADATA))


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return what a column is made of: Lance shows blobs as an extension type, a schema may spell their parts."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
