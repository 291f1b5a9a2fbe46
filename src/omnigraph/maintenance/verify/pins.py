"""Observe: every table version that some graph version pins, folded from all rows of the manifests at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.maintenance.verify.report import spell_numbers
from omnigraph.manifest.pinned_state import PinnedState, pinned_state
from omnigraph.manifest.rows import ManifestRow, ObjectType
from omnigraph.manifest.snapshot import TablePin
from omnigraph.manifest.state import ManifestState
from omnigraph.storage.tables import StateAddress, TableAddress

Ranges = dict[str, list[range]]
"""Graph versions by branch."""


@dataclass(slots=True, kw_only=True)
class ShownVersion:
    """One version of one table, and the graph versions that show it."""

    pin: TablePin
    state: PinnedState
    shown_in: Ranges = field(default_factory=lambda: defaultdict(list))
    is_current: bool = False
    """Whether the head of a branch shows it: cleanup never takes such a version."""

    @property
    def address(self) -> TableAddress:
        """Where it lies."""
        return self.pin.address


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedVersions:
    """All of them, and the checksums that were recorded with them."""

    versions: tuple[ShownVersion, ...]
    checksums: Mapping[str, Mapping[str, str]]
    """By the location of a table."""
    graph_versions: Mapping[str, int]
    """How many graph versions each branch has."""

    def by_location(self) -> dict[str, list[ShownVersion]]:
        """Group by table directory, in the order of table keys."""
        grouped: defaultdict[str, list[ShownVersion]] = defaultdict(list)
        for found in sorted(self.versions, key=lambda one: (one.pin.table_key, one.pin.ref or "", one.pin.version)):
            grouped[found.pin.location].append(found)
        return dict(grouped)


def gather_pins(states: Iterable[ManifestState]) -> PinnedVersions:
    """Fold the manifests of some branches."""
    found: dict[StateAddress, ShownVersion] = {}
    checksums: defaultdict[str, dict[str, str]] = defaultdict(dict)
    graph_versions = {}
    for state in states:
        branch = state.branch.name
        graph_versions[branch] = state.head.graph_version
        for pin, pinned, shown in _pins_of(state):
            checksums[pin.location].update(pinned.checksums)
            one = found.setdefault(pin.state, ShownVersion(pin=pin, state=pinned))
            one.shown_in[branch].append(shown)
            if shown.stop == state.head.graph_version + 1:
                one.is_current = True
    return PinnedVersions(versions=tuple(found.values()), checksums=dict(checksums), graph_versions=graph_versions)


def _pins_of(state: ManifestState) -> Iterator[tuple[TablePin, PinnedState, range]]:
    """Yield every pin of a branch with what its row says and the graph versions it holds in."""
    kinds = [ObjectType.TABLE.value, ObjectType.TABLE_VERSION.value, ObjectType.TABLE_TOMBSTONE.value]
    wanted = pc.is_in(state.rows["object_type"], value_set=pa.array(kinds, pa.string()))
    by_table: defaultdict[TableIdentity, dict[ObjectType, list[ManifestRow]]] = defaultdict(lambda: defaultdict(list))
    for record in state.rows.filter(wanted).to_pylist():
        row = ManifestRow.from_columns(record)
        by_table[row.identity][row.object_type].append(row)
    graph_id = state.snapshot.schema.identity_domain
    for identity, rows in by_table.items():
        named = sorted(rows[ObjectType.TABLE], key=lambda row: row.graph_version)
        if not named or named[-1].location is None:
            continue  # Half a table fails the fold of the snapshot, which says so.
        ends = [row.graph_version for row in rows[ObjectType.TABLE_TOMBSTONE]] or [state.head.graph_version + 1]
        pins = sorted(rows[ObjectType.TABLE_VERSION], key=lambda row: row.graph_version)
        for row, after in zip(pins, [*(later.graph_version for later in pins[1:]), ends[0]], strict=True):
            pinned = pinned_state(row)
            assert row.table_version is not None
            pin = TablePin(
                table_key=TableKey(named[-1].table_key),
                identity=identity,
                location=named[-1].location,
                ref=row.table_branch,
                version=row.table_version,
                row_count=row.row_count or 0,
                graph_id=graph_id,
                is_marked=pinned.is_marked,
            )
            yield pin, pinned, range(row.graph_version, max(after, row.graph_version))


def spell_shown(versions: Iterable[ShownVersion]) -> str:
    """Say in which graph versions some table versions are shown: `graph versions 3-5 of main, 4 of review`."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for version in versions:
        for branch, ranges in version.shown_in.items():
            for shown in ranges:
                numbers[branch].update(shown)
    spelled = [f"{spell_numbers(sorted(found))} of {branch}" for branch, found in numbers.items() if found]
    many = sum(len(found) for found in numbers.values()) > 1
    return f"graph version{'s' if many else ''} {', '.join(spelled)}" if spelled else "no graph version"
