"""No write builds on a table that has lost files: its commit would look fine, and cleanup could take the last copy.

A process looks once at each table that it writes to: the manifest of the pinned version, and whether its data and
deletion files are there with their sizes. What it commits itself on top of a whole state is whole, because staged files
are looked for under the gates, so that further writes look at nothing.
"""

from collections.abc import Iterable
from threading import Lock

from omnigraph.errors import OmniError, TableDamaged
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.file_references import FileKind, LostFile, manifest_path, missing_or_short
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.version_facts import ManifestUnreadable, read_version_facts

_ROWS_NEED = frozenset({FileKind.DATA, FileKind.DELETIONS, FileKind.ROW_METADATA})
"""Without an index rows can be read; `optimize` builds one anew."""
_STATES_MAX = 4_096


class WholeTables:
    """Remembers which table states have all their files."""

    def __init__(self) -> None:
        self._known: set[tuple[TableAddress, int]] = set()
        self._lock = Lock()

    def expect(self, objects: ControlStore, pins: Iterable[TablePin]) -> None:
        """Raise `TableDamaged` for the first pinned state that has lost files."""
        for pin in pins:
            if (pin.address, pin.version) in self._known:
                continue
            lost = lost_rows(objects, pin)
            if lost:
                raise _damaged(objects, pin, lost)
            self.add(pin.address, pin.version)

    def note_landed(self, table: Table) -> None:
        """Remember a state that was committed on top of a whole one."""
        self.add(table.address, table.version)

    def add(self, address: TableAddress, version: int) -> None:
        """Remember a state as whole."""
        with self._lock:
            if len(self._known) >= _STATES_MAX:
                self._known.clear()
            self._known.add((address, version))


def lost_rows(objects: ControlStore, pin: TablePin) -> tuple[LostFile, ...]:
    """Return the files of a pinned state without which rows cannot be read, and that are not there as written."""
    try:
        facts = read_version_facts(objects, pin.address, pin.version)
    except ManifestUnreadable as unreadable:
        return (LostFile(manifest_path(pin.address, pin.version), FileKind.MANIFEST, str(unreadable)),)
    needed = [file for file in facts.files if file.kind in _ROWS_NEED]
    return missing_or_short(needed, objects.sizes_of({file.path for file in needed}))


def explain_failure(objects: ControlStore, pins: Iterable[TablePin], error: OmniError) -> OmniError:
    """Return why preparing a write failed: lost files if there are any, else the failure itself."""
    for pin in pins:
        try:
            lost = lost_rows(objects, pin)
        except OmniError:
            return error
        if lost:
            return _damaged(objects, pin, lost)
    return error


def _damaged(objects: ControlStore, pin: TablePin, lost: tuple[LostFile, ...]) -> TableDamaged:
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return TableDamaged(
        f"Table {pin.table_key} is damaged: {lost[0].kind} {lost[0]}{more}. Nothing was written. Restore what is lost "
        f"from a backup; `omnigraph verify {objects.root.uri}` lists it, and which versions can still be read.",
        table_key=pin.table_key,
        version=pin.version,
        files=[file.path for file in lost],
    )
