"""The table as rewrites are going to leave it, for indexes that are built before these rewrites are committed.

An index with row addresses names rows by the number of their fragment, and Lance gives a new fragment its number only
in the commit. So we choose the numbers ourselves, well above those that writers use up meanwhile, and commit the new
fragments with them as a version beside the line of versions, which no reader ever sees: workers open it and build on
it. The rewrites are then committed with these very numbers (`compaction.stage_rewrites`).

A number is never used twice: an index may still have entries for the fragment that had it.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from omnigraph.base import faults
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.access import TableAccess
from omnigraph.storage.file_references import manifest_path
from omnigraph.storage.layout import FragmentLayout
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.proto_messages import TYPES, declare_messages, field
from omnigraph.storage.store import GraphStore
from omnigraph.storage.stored_settings import commit_beside_the_line
from omnigraph.storage.tables import StateAddress, Table
from omnigraph.storage.version_files import detached_path, manifest_message

FRAGMENTS_MEANWHILE: Final = 4_096
"""How many fragments writers may add before the numbers are used up that were chosen; there are four billion."""
_ROWS_OF_THEIR_OWN = {"row_id_meta": None, "created_at_version_meta": None, "last_updated_at_version_meta": None}
"""What is left out of a fragment so that its rows get new ids: the old rows have theirs in the same state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenState:
    """A state that no reader sees: a pinned one, and beside its fragments those that rewrites made of them."""

    access: TableAccess
    results: tuple[str, ...]
    """The rewrites, their new fragments numbered."""
    new_fragments: tuple[FragmentLayout, ...]

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the new fragments."""
        return frozenset(fragment.fragment_id for fragment in self.new_fragments)


def foresee(store: GraphStore, pinned: Table, results: Sequence[str], *, meanwhile: int) -> ForeseenState:
    """Show a pinned state after rewrites of it; writers may add as many fragments as `meanwhile` says.

    Whoever asks removes the state again (`drop_foreseen`) once everything is built on it.
    """
    numbered = _numbered(results, first=highest_fragment_number(store.objects, pinned) + 1 + meanwhile)
    made = [json.loads(result) for result in numbered]
    version = commit_beside_the_line(pinned, lambda: _with_new_fragments(made))
    faults.reach("optimize.after_foresight")
    return ForeseenState(
        access=TableAccess(graph_uri=store.uri, state=StateAddress(address=pinned.address, version=version)),
        results=numbered,
        new_fragments=tuple(_layout(new) for result in made for new in result["new_fragments"]),
    )


def drop_foreseen(objects: ControlStore, state: ForeseenState) -> None:
    """Remove a foreseen state; the files of the rewrites and of what was built stay."""
    objects.delete(detached_path(state.access.address.path, state.access.state.version))


def highest_fragment_number(objects: ControlStore, table: Table) -> int:
    """Return the highest number that a fragment of this table ever had, -1 if it never had any.

    Lance keeps it in the manifest; the fragments that are there do not tell, since the last one may be gone.
    """
    path = manifest_path(table.address, table.version)
    stored = objects.read(path)
    try:
        manifest = _Manifest.read(manifest_message(stored.content if stored is not None else b""))
    except ValueError as error:
        uri = f"{objects.root.uri}/{path}"
        raise StorageError(f"The manifest {uri} cannot be read: {error}.", storage_kind="permanent", uri=uri) from error
    there = max((fragment.fragment_id for fragment in table.dataset.get_fragments()), default=-1)
    return max(there, manifest.max_fragment_id) if manifest.HasField("max_fragment_id") else there


def _numbered(results: Sequence[str], *, first: int) -> tuple[str, ...]:
    """Give every new fragment a number, the highest to those made of the oldest ones: these change least.

    An index is of use only if its highest number is taken in the end, whatever becomes of the others.
    """
    made = [json.loads(result) for result in results]
    number = first
    for result in sorted(made, key=lambda result: -min(old["id"] for old in result["original_fragments"])):
        for new in result["new_fragments"]:
            new["id"] = number
            number += 1
    return tuple(json.dumps(result) for result in made)


def _with_new_fragments(made: Sequence[dict[str, Any]]) -> Any:
    """Describe what the rewrites made as rows beside those that they replace, which nobody asks for in this state.

    A change that took these out would have Lance look up every row that it moves: seconds per million, on the driver.
    """
    from lance import LanceOperation
    from lance.fragment import FragmentMetadata

    fragments = [new | _ROWS_OF_THEIR_OWN for result in made for new in result["new_fragments"]]
    return LanceOperation.Append([FragmentMetadata.from_json(json.dumps(fragment)) for fragment in fragments])


def _layout(new: dict[str, Any]) -> FragmentLayout:
    return FragmentLayout(
        fragment_id=new["id"],
        physical_rows=new["physical_rows"],
        deleted_rows=0,
        bytes=sum(file["file_size_bytes"] or 0 for file in new["files"]),
    )


_Manifest = declare_messages(
    "omnigraph.lance_fragment_numbers", {"Manifest": [field("max_fragment_id", 11, TYPES.TYPE_UINT32)]}
)["Manifest"]
