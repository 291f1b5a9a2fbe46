"""The cheap part, table by table: files, identity and row counts of every pinned version, from listings and manifests.

A version that older graph versions pin and that is not there any more was reclaimed by cleanup; what the head of a
branch shows never is. Nothing is locked: what looks lost is looked for once more, because cleanup may run meanwhile.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace

from omnigraph.base.events import Phase
from omnigraph.base.units import counted
from omnigraph.base.values import dataclass
from omnigraph.maintenance.verify.pins import ShownVersion, spell_shown
from omnigraph.maintenance.verify.report import Problem, ProblemKind
from omnigraph.manifest.snapshot import branch_of
from omnigraph.storage.checksums import FileSum, blob_directory, short_name
from omnigraph.storage.file_references import FileKind, FileReference, LostFile, manifest_path, missing_or_short
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.version_facts import ManifestUnreadable, VersionFacts, read_version_facts

_READS_AT_ONCE = 16


@dataclass(slots=True, kw_only=True)
class FilesToVerify:
    """What one table directory holds for the graph."""

    location: str
    present: Mapping[str, int]
    """One listing: every file below the directory with its size."""
    checksums: Mapping[str, str]
    facts: dict[int, VersionFacts] = field(default_factory=dict)
    """By the place of a version in `versions`."""
    versions: list[ShownVersion] = field(default_factory=list)
    """Those that are there."""
    reclaimed: int = 0
    problems: list[Problem] = field(default_factory=list)
    harmed: set[int] = field(default_factory=set)
    """Places of versions that cannot be read whole."""

    @property
    def needed(self) -> dict[str, FileReference]:
        """Every file that some version needs, by path."""
        return {file.path: file for facts in self.facts.values() for file in facts.files}

    def places_needing(self, path: str) -> list[int]:
        """Return the places of the versions that need a file."""
        return [place for place, facts in self.facts.items() if any(file.path == path for file in facts.files)]

    def harm(self, places: Iterable[int], kind: ProblemKind, message: str, *, file: str | None = None) -> None:
        """Note what is wrong with some versions; rows of these cannot be read whole."""
        self.harmed.update(places)
        self._note(places, kind, message, file=file)

    def note_index(self, places: Iterable[int], message: str, *, file: str, remedy: str) -> None:
        """Note that files of an index are gone; no row is lost with it."""
        self._note(places, ProblemKind.INDEX_LOST, message, file=file, remedy=remedy)

    def _note(
        self,
        places: Iterable[int],
        kind: ProblemKind,
        message: str,
        *,
        file: str | None = None,
        remedy: str | None = None,
    ) -> None:
        affected = [self.versions[place] for place in places]
        pin = affected[0].pin
        self.problems.append(
            Problem(
                kind=kind,
                message=message,
                lost="no row is lost: reads go without the index"
                if remedy
                else f"it is needed by {spell_shown(affected)}",
                remedy=remedy,
                table_key=pin.table_key,
                branch=None if pin.ref is None else branch_of(pin.ref),
                versions=tuple(sorted({one.pin.version for one in affected})),
                file=file,
            )
        )

    def still_readable(self) -> str:
        """Say which graph versions show this table whole."""
        whole = [one for place, one in enumerate(self.versions) if place in self.facts and place not in self.harmed]
        return spell_shown(whole)


def look_at_table(
    objects: ControlStore, pinned: Sequence[ShownVersion], checksums: Mapping[str, str], uri: str, watch: Phase | None
) -> FilesToVerify:
    """Look at every pinned version of one table directory."""
    location = pinned[0].pin.location
    seen = FilesToVerify(location=location, present=objects.sizes(f"{location}/"), checksums=checksums)
    unreadable: dict[int, str] = {}
    for one in pinned:
        if one.is_current or manifest_path(one.address, one.pin.version) in seen.present:
            seen.versions.append(one)
        else:
            seen.reclaimed += 1
    for place, found in enumerate(_read_all(objects, seen.versions)):
        if isinstance(found, VersionFacts):
            seen.facts[place] = found
        else:
            unreadable[place] = str(found)
        if watch is not None:
            watch.advance()
    _drop_reclaimed_meanwhile(objects, seen, unreadable)
    for place, problem in unreadable.items():
        path = manifest_path(seen.versions[place].address, seen.versions[place].pin.version)
        seen.harm([place], ProblemKind.FILE_LOST, f"{path} {problem}", file=path)
    _compare_files(seen, uri)
    for place, facts in seen.facts.items():
        _compare_identity(seen, place, facts)
    return seen


def told_with_what_is_left(seen: FilesToVerify) -> Iterator[Problem]:
    """Add to each problem of a table what can still be read."""
    readable = seen.still_readable()
    for problem in seen.problems:
        is_harm = seen.harmed and problem.remedy is None
        yield replace(problem, lost=f"{problem.lost}; the table is whole in {readable}") if is_harm else problem


def _read_all(objects: ControlStore, versions: Sequence[ShownVersion]) -> Iterator[VersionFacts | ManifestUnreadable]:
    def read(one: ShownVersion) -> VersionFacts | ManifestUnreadable:
        try:
            return read_version_facts(objects, one.address, one.pin.version)
        except ManifestUnreadable as unreadable:
            return unreadable

    if objects.root.is_local:
        yield from map(read, versions)
        return
    with ThreadPoolExecutor(max_workers=_READS_AT_ONCE, thread_name_prefix="omnigraph-verify") as pool:
        yield from pool.map(read, versions)


def _drop_reclaimed_meanwhile(objects: ControlStore, seen: FilesToVerify, unreadable: dict[int, str]) -> None:
    """Forget versions that a cleanup removed since the listing."""
    lost = _lost(seen)
    suspects = {*unreadable, *(place for places in lost.values() for place in places)}
    for place in suspects:
        one = seen.versions[place]
        if not one.is_current and objects.read(manifest_path(one.address, one.pin.version)) is None:
            unreadable.pop(place, None)
            seen.facts.pop(place, None)
            seen.reclaimed += 1


def _lost(seen: FilesToVerify) -> dict[LostFile, list[int]]:
    needing: defaultdict[LostFile, list[int]] = defaultdict(list)
    for place, facts in seen.facts.items():
        for file in missing_or_short(facts.files, seen.present):
            needing[file].append(place)
    return needing


def _compare_files(seen: FilesToVerify, uri: str) -> None:
    for lost, places in _lost(seen).items():
        if lost.kind is FileKind.INDEX:
            table = seen.versions[places[0]].pin.table_key
            remedy = f"omnigraph optimize {uri}"
            seen.note_index(places, f"an index of {table} lost {lost}", file=lost.path, remedy=remedy)
        else:
            seen.harm(places, ProblemKind.FILE_LOST, f"{lost.kind} {lost}", file=lost.path)
    for path, file in seen.needed.items():
        recorded = seen.checksums.get(short_name(path)) if file.kind is FileKind.DATA else None
        expected = FileSum.read(recorded) if recorded is not None else None
        if expected is not None and expected.blob_count:
            beside = [size for name, size in seen.present.items() if name.startswith(blob_directory(path))]
            if (len(beside), sum(beside)) != (expected.blob_count, expected.blob_bytes):
                problem = (
                    f"the blobs in {blob_directory(path)} are {counted(len(beside), 'file')} of {sum(beside)} bytes, "
                    f"not {expected.blob_count} of {expected.blob_bytes}"
                )
                seen.harm(seen.places_needing(path), ProblemKind.FILE_LOST, problem, file=blob_directory(path))


def _compare_identity(seen: FilesToVerify, place: int, facts: VersionFacts) -> None:
    one = seen.versions[place]
    expected, where = one.pin.expected, f"version {one.pin.version} in {one.address.path}"
    assert expected is not None
    if facts.identity_mark != expected.mark and (facts.identity_mark is not None or expected.is_marked):
        found = facts.identity_mark or "a table without an identity"
        problem = f"{where} is not {one.pin.table_key}: expected {expected.mark}, found {found}"
        seen.harm([place], ProblemKind.TABLE_REPLACED, problem, file=one.address.path)
    elif None not in (one.state.transaction_uuid, facts.transaction_uuid) and (
        one.state.transaction_uuid != facts.transaction_uuid
    ):
        problem = (
            f"{where} was made by transaction {facts.transaction_uuid}, and the graph pinned "
            f"{one.state.transaction_uuid}"
        )
        seen.harm([place], ProblemKind.TABLE_REPLACED, problem, file=one.address.path)
    elif facts.rows != one.pin.row_count:
        problem = f"{where} has {counted(facts.rows, 'row')}, and the graph recorded {one.pin.row_count}"
        seen.harm([place], ProblemKind.ROWS_DIFFER, problem)
