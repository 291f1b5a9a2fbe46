"""What a write is before it touches anything: a description of the writer, and a change that is staged in full."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableIdentity, TableKey
from omnigraph.graphs.capture import Capture
from omnigraph.manifest.commits import CommitId, CommitKind
from omnigraph.manifest.snapshot import TablePin
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.transactions import StagedCommit
from omnigraph.writes.creation import NewTable
from omnigraph.writes.manifest_delta import ManifestDelta
from omnigraph.writes.sidecar import Purge, SidecarKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTable:
    """One table's staged change: a chain of transactions on top of its pin."""

    pin: TablePin
    target: TableAddress
    """Where the chain lands: where the pin is, or the branch's own ref, forked from the pin by this very write."""
    chain: tuple[StagedCommit, ...]
    renamed_to: TableKey | None = None
    """What the table is called once the write is published, if that is another name."""

    @property
    def table_key(self) -> TableKey:
        """What the table is called once the write is published."""
        return self.renamed_to or self.pin.table_key

    @property
    def identity(self) -> TableIdentity:
        """What names the table for ever."""
        return self.pin.identity

    @property
    def is_first_touch(self) -> bool:
        """Whether the branch inherits the table so far and must fork it."""
        return self.target != self.pin.address


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """A change that is staged in full and has touched nothing yet."""

    tables: tuple[PreparedTable, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created: tuple[NewTable, ...] = ()
    manifest: ManifestDelta = field(default_factory=ManifestDelta)
    purges: tuple[Purge, ...] = ()
    """What is removed for good once the write is published."""
    last_check: Callable[[], None] | None = None
    """Looks under the gates at what the branch itself does not show, and raises to refuse; nothing is touched yet."""
    pointers: tuple[TablePin, ...] = ()
    """Pins that move to a state which exists already, without a table effect."""
    merged_parent: CommitId | None = None
    """The second parent of the commit, for a merge."""
    also_gated: tuple[str, ...] = ()
    """Further branches whose gates the write takes, and whose interrupted operations it settles first."""

    @property
    def effects(self) -> tuple[NewTable | PreparedTable, ...]:
        """Everything that is committed to tables, in the order in which it happens."""
        return (*self.created, *self.tables)

    @property
    def moved(self) -> tuple[TableKey, ...]:
        """The tables that the branch shows already and whose pins the write moves."""
        return (*(table.pin.table_key for table in self.tables), *(pin.table_key for pin in self.pointers))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIdentity:
    """Who writes, under which ids; minted before anything is staged, so that staged files can be told apart."""

    operation_id: str
    commit_id: CommitId
    kind: SidecarKind
    commit_kind: CommitKind
    actor_id: str | None

    @classmethod
    def mint(cls, kind: SidecarKind, commit_kind: CommitKind, actor_id: str | None) -> "WriteIdentity":
        """Mint the ids of one attempt."""
        return cls(
            operation_id=ids.new_ulid(),
            commit_id=CommitId(ids.new_ulid()),
            kind=kind,
            commit_kind=commit_kind,
            actor_id=actor_id,
        )

    @property
    def transaction_properties(self) -> Mapping[str, str]:
        """What every Lance transaction of this operation carries."""
        return {
            "omnigraph.operation_id": self.operation_id,
            "omnigraph.kind": self.kind.value,
            "omnigraph.commit_id": self.commit_id,
        }


class Writer(Protocol):
    """The description of one write: what kind it is, whether it may start over, and how it is prepared."""

    kind: SidecarKind
    commit_kind: CommitKind
    branch: str
    actor_id: str | None
    expected_head: str | None

    @property
    def is_strict(self) -> bool:
        """Whether a moved head is an error for the caller instead of a reason to prepare again."""
        ...

    def prepare(self, capture: Capture, identity: WriteIdentity) -> PreparedWrite | None:
        """Check and stage the change against one capture; None when it changes nothing. Commits nothing."""
        ...
