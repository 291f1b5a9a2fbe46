"""Which files one version of a table needs, how large each must be, and which of them are gone.

The answer comes from the version's own manifest file and from a listing of the table's directory, never from opening
the table: Lance opens a table whose data files are gone, and says so only to whoever reads them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any, TypeVar

from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.proto_messages import TYPES, declare_messages, field
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.version_files import manifest_message, message_at, version_file

_REMOTE_READS_AT_ONCE = 16
_DELETION_SUFFIXES = {0: "arrow", 1: "bin"}
_INDEXES_WITHOUT_FILES = "__lance"
"""What Lance keeps about itself in the list of indexes may have no files at all."""


_Seen = TypeVar("_Seen")


class FileKind(StrEnum):
    """What a file holds."""

    MANIFEST = "manifest"
    DATA = "data file"
    DELETIONS = "deletion file"
    INDEX = "index file"
    ROW_METADATA = "row metadata file"


@dataclass(frozen=True, slots=True)
class FileReference:
    """One file that a version needs."""

    path: str
    """Relative to the graph's root; a directory, with its slash, when only that is known of an index."""
    kind: FileKind
    size: int | None
    """What the manifest says that it has; None where it does not say."""


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file that a version needs and that is not there as it was written."""

    path: str
    kind: FileKind
    problem: str
    """What is wrong with it, as the end of a sentence: `is missing`, `has 10 of 927 bytes`."""

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def files_of_version(objects: ControlStore, address: TableAddress, version: int) -> tuple[FileReference, ...]:
    """Return every file that a version of a ref needs, its own manifest first.

    Raises `StorageError` when the manifest is missing or cannot be understood.
    """
    path = manifest_path(address, version)
    stored = objects.read(path)
    if stored is None:
        raise _unreadable(objects, path, "is missing", kind="not_found")
    try:
        return (
            FileReference(path, FileKind.MANIFEST, len(stored.content)),
            *references_in(stored.content, address, version),
        )
    except ValueError as error:
        raise _unreadable(objects, path, f"cannot be read: {error}", kind="permanent") from error


def manifest_path(address: TableAddress, version: int) -> str:
    """Return the path of a version's manifest, relative to the graph's root."""
    return f"{address.path}/_versions/{version_file(version)}"


def written_files(target: TableAddress, fragments: Iterable[Any]) -> tuple[FileReference, ...]:
    """Return the data files of fragments that were written below `target` and that nothing refers to yet."""
    return tuple(
        FileReference(f"{target.path}/data/{file.path}", FileKind.DATA, file.file_size_bytes or None)
        for fragment in fragments
        for file in fragment.files
    )


def written_deletions(target: TableAddress, fragments: Iterable[Any]) -> tuple[FileReference, ...]:
    """Return the deletion files that were written below `target` for fragments of it."""
    return tuple(
        FileReference(f"{target.path}/{fragment.deletion_file.path(fragment.id)}", FileKind.DELETIONS, None)
        for fragment in fragments
    )


def written_index(target: TableAddress, segment: Any) -> tuple[FileReference, ...]:
    """Return the files of an index segment that was built below `target` and is not committed yet."""
    directory = f"{target.path}/_indices/{segment.uuid}/"
    return tuple(
        FileReference(f"{directory}{file.path}", FileKind.INDEX, file.size_bytes) for file in segment.files or ()
    )


def missing_or_short(references: Iterable[FileReference], present: Mapping[str, int]) -> tuple[LostFile, ...]:
    """Compare what is needed with a listing of the table's directory (`ControlStore.sizes`)."""
    directories = {path.rpartition("/")[0] + "/" for path in present}
    lost = []
    for reference in references:
        problem = _problem(reference, present, directories)
        if problem is not None:
            lost.append(LostFile(reference.path, reference.kind, problem))
    return tuple(lost)


def lost_files_of(objects: ControlStore, address: TableAddress, version: int) -> tuple[LostFile, ...]:
    """Look for everything that one version needs, file by file: what else the table has is not even listed.

    Raises `StorageError` when the version's manifest is missing or cannot be understood.
    """
    references = files_of_version(objects, address, version)
    present = dict(objects.sizes_of([needed.path for needed in references if not needed.path.endswith("/")]))
    for directory in (needed.path for needed in references if needed.path.endswith("/")):
        present |= objects.sizes(directory)
    return missing_or_short(references, present)


def lost_files(
    objects: ControlStore, address: TableAddress, versions: Iterable[int], present: Mapping[str, int]
) -> dict[LostFile, tuple[int, ...]]:
    """Look for everything that some versions of one ref need; return what is lost, each with the versions that need it.

    `present` is one listing of the whole table (`objects.sizes(f"{location}/")`), made after the versions were chosen:
    files that are added meanwhile do not matter, and nothing that these versions need is ever removed beside this. A
    version whose manifest cannot be understood is among what is lost.
    """
    needing: dict[LostFile, list[int]] = {}

    def look(version: int) -> tuple[int, tuple[LostFile, ...]]:
        try:
            return version, missing_or_short(files_of_version(objects, address, version), present)
        except StorageError as error:
            if error.details["storage_kind"] not in {"not_found", "permanent"}:
                raise
            problem = "is missing" if error.details["storage_kind"] == "not_found" else "cannot be read"
            return version, (LostFile(manifest_path(address, version), FileKind.MANIFEST, problem),)

    for version, lost in _each(look, sorted(versions), is_local=objects.root.is_local):
        for file in lost:
            needing.setdefault(file, []).append(version)
    return {file: tuple(needed_by) for file, needed_by in needing.items()}


def each_version(
    objects: ControlStore, address: TableAddress, versions: Iterable[int]
) -> Iterator[tuple[FileReference, ...]]:
    """Yield what each of some versions of one ref needs; see `files_of_version`."""
    return _each(
        lambda version: files_of_version(objects, address, version), list(versions), is_local=objects.root.is_local
    )


def _each(look: Callable[[int], _Seen], versions: list[int], *, is_local: bool) -> Iterator[_Seen]:
    """Look at versions one after the other, or several at once where each read is a wait for the network."""
    if is_local or len(versions) == 1:
        yield from map(look, versions)
        return
    with ThreadPoolExecutor(max_workers=_REMOTE_READS_AT_ONCE, thread_name_prefix="omnigraph-files") as pool:
        yield from pool.map(look, versions)


def _problem(reference: FileReference, present: Mapping[str, int], directories: set[str]) -> str | None:
    if reference.path.endswith("/"):
        return None if reference.path in directories else "has no files"
    found = present.get(reference.path)
    if found is None:
        return "is missing"
    if reference.size is not None and found != reference.size:
        return (
            f"has {found} of {reference.size} bytes"
            if found < reference.size
            else f"has {found} bytes, not {reference.size}"
        )
    return "is empty" if found == 0 else None


def references_in(content: bytes, address: TableAddress, version: int) -> Iterator[FileReference]:
    """Yield the files that the manifest with this content refers to; raise ValueError when it is none."""
    manifest = _Manifest.read(manifest_message(content))
    if manifest.version != version:
        raise ValueError(f"it is the manifest of version {manifest.version}")
    roots = _Roots(address, manifest.base_paths)
    for fragment in manifest.fragments:
        yield from _of_fragment(fragment, roots)
    if manifest.HasField("index_section"):
        for index in _IndexSection.read(message_at(content, manifest.index_section)).indices:
            yield from _of_index(index, roots)


def _of_fragment(fragment: Any, roots: "_Roots") -> Iterator[FileReference]:
    for file in (*fragment.files, *(overlay.data_file for overlay in fragment.overlays)):
        yield FileReference(roots.data_file(file), FileKind.DATA, file.file_size_bytes or None)
    if fragment.HasField("deletion_file"):
        yield FileReference(roots.deletion_file(fragment.id, fragment.deletion_file), FileKind.DELETIONS, None)
    for name in ("external_row_ids", "external_last_updated", "external_created"):
        if fragment.HasField(name):
            yield FileReference(f"{roots.own}/{getattr(fragment, name).path}", FileKind.ROW_METADATA, None)


def _of_index(index: Any, roots: "_Roots") -> Iterator[FileReference]:
    directory = f"{roots.of(index)}/_indices/{_spelled(index.uuid.uuid)}/"
    for file in index.files:
        yield FileReference(f"{directory}{file.path}", FileKind.INDEX, file.size_bytes)
    if not index.files and not index.name.startswith(_INDEXES_WITHOUT_FILES):
        yield FileReference(directory, FileKind.INDEX, None)


def _spelled(uuid: bytes) -> str:
    digits = uuid.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class _Roots:
    """Where the files of a version lie: in the tree of its ref, or in what that was forked from."""

    def __init__(self, address: TableAddress, bases: Iterable[Any]) -> None:
        self.own = address.path
        self._bases = {base.id: (_inside_graph(base.path, address.location), base.is_dataset_root) for base in bases}

    def of(self, file: Any) -> str:
        """Return the directory of the table or ref that a file belongs to."""
        return self._base(file)[0]

    def data_file(self, file: Any) -> str:
        root, is_table = self._base(file)
        return f"{root}/data/{file.path}" if is_table else f"{root}/{file.path}"

    def deletion_file(self, fragment_id: int, file: Any) -> str:
        suffix = _DELETION_SUFFIXES.get(file.file_type)
        if suffix is None:
            raise ValueError(f"it has a deletion file of the unknown type {file.file_type}")
        return f"{self.of(file)}/_deletions/{fragment_id}-{file.read_version}-{file.id}.{suffix}"

    def _base(self, file: Any) -> tuple[str, bool]:
        if not file.HasField("base_id"):
            return self.own, True
        if file.base_id not in self._bases:
            raise ValueError(f"it refers to base {file.base_id}, which it does not name")
        return self._bases[file.base_id]


def _inside_graph(base: str, location: str) -> str:
    """Return a base as a path below the graph's root.

    Lance writes down whole addresses, and one graph may have several of them: a symbolic link is one.
    """
    _, found, after = base.rstrip("/").rpartition(f"/{location}")
    is_here = bool(found) and (not after or after.startswith("/tree/"))
    return f"{location}{after}" if is_here else base


def _unreadable(objects: ControlStore, path: str, problem: str, *, kind: str) -> StorageError:
    uri = f"{objects.root.uri}/{path}"
    return StorageError(f"The manifest {uri} {problem}.", storage_kind=kind, uri=uri)


_CLASSES = declare_messages(
    "omnigraph.lance_references",
    {
        "Manifest": [
            field("fragments", 2, "Fragment", repeated=True),
            field("version", 3, TYPES.TYPE_UINT64),
            field("index_section", 6, TYPES.TYPE_UINT64),
            field("base_paths", 18, "BasePath", repeated=True),
        ],
        "BasePath": [
            field("id", 1, TYPES.TYPE_UINT32),
            field("is_dataset_root", 3, TYPES.TYPE_BOOL),
            field("path", 4, TYPES.TYPE_STRING),
        ],
        "Fragment": [
            field("id", 1, TYPES.TYPE_UINT64),
            field("files", 2, "DataFile", repeated=True),
            field("deletion_file", 3, "DeletionFile"),
            field("external_row_ids", 6, "ExternalFile"),
            field("external_last_updated", 8, "ExternalFile"),
            field("external_created", 10, "ExternalFile"),
            field("overlays", 11, "Overlay", repeated=True),
        ],
        "DataFile": [
            field("path", 1, TYPES.TYPE_STRING),
            field("file_size_bytes", 6, TYPES.TYPE_UINT64),
            field("base_id", 7, TYPES.TYPE_UINT32),
        ],
        "Overlay": [field("data_file", 1, "DataFile")],
        "DeletionFile": [
            field("file_type", 1, TYPES.TYPE_UINT32),
            field("read_version", 2, TYPES.TYPE_UINT64),
            field("id", 3, TYPES.TYPE_UINT64),
            field("base_id", 7, TYPES.TYPE_UINT32),
        ],
        "ExternalFile": [field("path", 1, TYPES.TYPE_STRING)],
        "Uuid": [field("uuid", 1, TYPES.TYPE_BYTES)],
        "IndexFile": [field("path", 1, TYPES.TYPE_STRING), field("size_bytes", 2, TYPES.TYPE_UINT64)],
        "Index": [
            field("uuid", 1, "Uuid"),
            field("name", 3, TYPES.TYPE_STRING),
            field("base_id", 9, TYPES.TYPE_UINT32),
            field("files", 10, "IndexFile", repeated=True),
        ],
        "IndexSection": [field("indices", 1, "Index", repeated=True)],
    },
)
_Manifest = _CLASSES["Manifest"]
_IndexSection = _CLASSES["IndexSection"]
