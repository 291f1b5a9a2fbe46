"""What many commits in a row only added to a table, read in one scan.

Where nothing but appends lies between two states, a row that only the later one has was inserted in the version that it
names, and is as it was then. So a page of small commits takes two opened states and one scan for each table, however
many commits there are. Every version on the way is still asked for what made it: one that cleanup took, or that did
anything else, leaves its commit to the comparison of its own two states, which tells what is wrong.
"""

from collections.abc import Iterator, Sequence

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import EntityType
from omnigraph.catalog.scalars import Scalar
from omnigraph.changes.compare import TableState
from omnigraph.changes.diff import Diff
from omnigraph.changes.entities import images_by_id
from omnigraph.changes.found import inserted
from omnigraph.changes.pairs import TypePair
from omnigraph.errors import OmniError
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.lineage import operation_names
from omnigraph.storage.operations import OperationName
from omnigraph.storage.row_changes import fragments_added_to, rows_with_versions
from omnigraph.storage.tables import TableAddress

_BYTES_MAX = 8 << 20
"""What is read at once: as much as two full pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Addition:
    """What one commit added to one table, as far as pins tell."""

    diff: Diff
    pair: TypePair
    entity: EntityType
    before: TablePin
    after: TablePin

    @property
    def rows(self) -> int:
        return self.after.row_count - self.before.row_count


def take_over_additions(context: GraphContext, diffs: Sequence[Diff], *, rows_max: int) -> None:
    """Find the changes of neighbouring commits together, where they added rows and did nothing else.

    The versions are held. What cannot be found like this is left to the diffs, failures included.
    """
    for run in _runs(diffs, rows_max):
        try:
            for part in _appended(context, run):
                _read(context, part)
        except OmniError:
            continue  # the diff that is concerned meets it again, and says which commit it is


def _runs(diffs: Sequence[Diff], rows_max: int) -> Iterator[list[_Addition]]:
    """Yield commits that may have added to one table one after another, up to so many rows."""
    by_address: dict[TableAddress, list[list[_Addition]]] = {}
    for diff in diffs:
        for pair in diff.pairs:
            found = None if diff.knows(pair.identity) else _addition(diff, pair)
            if found is None:
                continue
            runs = by_address.setdefault(found.after.address, [])
            if runs and runs[-1][-1].after == found.before and runs[-1][-1].entity == found.entity:
                runs[-1].append(found)
            else:
                runs.append([found])
    for run in (run for runs in by_address.values() for run in runs):
        rows, taken = 0, list[_Addition]()
        for addition in run:
            rows += addition.rows
            if rows > rows_max:
                break
            taken.append(addition)
        if taken:
            yield taken


def _addition(diff: Diff, pair: TypePair) -> _Addition | None:
    """Return what a commit may have added to a table; None where pins tell that it did something else."""
    before, after = pair.before, pair.after
    if before is None or after is None or before.filled or after.filled or before.entity != after.entity:
        return None
    if before.pin.address != after.pin.address or before.pin.version >= after.pin.version:
        return None
    if before.pin.row_count >= after.pin.row_count or _has_blobs(after.entity):
        return None
    return _Addition(diff=diff, pair=pair, entity=after.entity, before=before.pin, after=after.pin)


def _has_blobs(entity: EntityType) -> bool:
    """Whether a row may be much larger than its table says: those are read a few at a time."""
    return any(declared.type.scalar is Scalar.BLOB for declared in entity.properties)


def _appended(context: GraphContext, run: Sequence[_Addition]) -> Iterator[list[_Addition]]:
    """Yield the parts of a run that appends made, and nothing else, and of which every version is there."""
    versions = range(run[0].before.version, run[-1].after.version + 1)
    names = operation_names(context.store.objects, run[0].before.address, versions)
    part: list[_Addition] = []
    for addition in run:
        made = range(addition.before.version + 1, addition.after.version + 1)
        if addition.before.version in names and all(names.get(at) == OperationName.APPEND for at in made):
            part.append(addition)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _read(context: GraphContext, part: Sequence[_Addition]) -> None:
    tables, entity = context.store.tables, part[0].entity
    older, newer = (TableState(entity=entity, table=pin.state.open(tables)) for pin in (part[0].before, part[-1].after))
    new = fragments_added_to(older.table, newer.table)
    if not new or newer.table.bytes_of(new) > _BYTES_MAX:
        return
    rows, versions = rows_with_versions(newer.table, ["id", *newer.columns], new)
    images = images_by_id(rows, entity)
    ids_by_version: dict[int, list[str]] = {}
    for entity_id, version in zip(rows["id"].to_pylist(), versions, strict=True):
        ids_by_version.setdefault(version, []).append(entity_id)
    for addition in part:
        made = range(addition.before.version + 1, addition.after.version + 1)
        added = [entity_id for version in made for entity_id in ids_by_version.get(version, ())]
        # The manifest counted the rows too: whatever disagrees with it is looked at on its own.
        if len(added) == addition.rows:
            addition.diff.take_over(
                addition.pair.identity, inserted({entity_id: images[entity_id] for entity_id in added})
            )
