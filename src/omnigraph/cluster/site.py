"""The storage root of a cluster: where its ledger, lock, catalog, sidecars and approvals are, and its graphs beside.

One `ControlStore` serves everything below `__cluster/`; paths given to it are relative to that.
"""

import os
from collections.abc import Mapping
from typing import Final

from omnigraph.base.values import dataclass
from omnigraph.cluster.diagnostics import DiagnosticCode, Refused
from omnigraph.cluster.ledger import LEDGER_PATH, graph_root_uri
from omnigraph.cluster.state import Ledger, parse_ledger, state_cas
from omnigraph.errors import StorageError
from omnigraph.storage.objects import ConditionsIgnored, ControlStore, ObjectChanged, ObjectExists, Token, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot

CONTROL_DIRECTORY: Final = "__cluster"
STATE_NAME: Final = "state.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLedger:
    """A ledger as one read saw it."""

    ledger: Ledger
    content: bytes
    token: Token

    @property
    def cas(self) -> str:
        """The name of its bytes."""
        return state_cas(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSite:
    """One storage root, opened; nothing has been read yet."""

    root: str
    """An absolute path, or a URI without a slash at its end."""
    objects: ControlStore
    """What is below `__cluster/`."""

    @classmethod
    def open(
        cls,
        root: str,
        environ: Mapping[str, str] = os.environ,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> "ClusterSite":
        """Open the storage root that `storage_root` found."""
        # A cluster may own a whole bucket, a graph may not: the control directory is addressable in both cases.
        location = GraphRoot.parse(f"{root.rstrip('/')}/{CONTROL_DIRECTORY}")
        return cls(root=root, objects=open_objects(location, StoreSettings.resolve(location, storage_options, environ)))

    @property
    def state_path(self) -> str:
        """Where the ledger is, for people."""
        return self.shown(STATE_NAME)

    def shown(self, name: str) -> str:
        """Spell the place of a control object for people."""
        return f"{self.root.rstrip('/')}/{CONTROL_DIRECTORY}/{name}"

    def graph_uri(self, graph_id: str) -> str:
        """Return the root of a graph, which is always derived."""
        return graph_root_uri(self.root, graph_id)

    def read_ledger(self, *, is_strict: bool = True) -> StoredLedger | None:
        """Read the ledger; None if there is none, `Refused` if it cannot be read or is none."""
        try:
            stored = self.objects.read(STATE_NAME)
        except StorageError as error:
            raise Refused(
                DiagnosticCode.STATE_READ_ERROR,
                LEDGER_PATH,
                f"{self.state_path} cannot be read: {error.message} Make it readable, or restore it from a copy.",
            ) from error
        if stored is None:
            return None
        ledger = parse_ledger(stored.content, is_strict=is_strict)
        return StoredLedger(ledger=ledger, content=stored.content, token=stored.token)

    def write_ledger(self, ledger: Ledger, *, over: StoredLedger | None) -> StoredLedger:
        """Write the ledger over exactly the one that was read, or where there was none."""
        content = ledger.to_bytes()
        try:
            if over is None:
                token = self.objects.create(STATE_NAME, content)
            else:
                token = self.objects.replace(STATE_NAME, content, over.token)
        except (ObjectChanged, ObjectExists):
            raise Refused(
                DiagnosticCode.STATE_CAS_MISMATCH,
                LEDGER_PATH,
                f"{self.state_path} was changed by somebody else while this command ran; it wrote nothing there. Look "
                "at `omnigraph cluster status`, and run the command again.",
            ) from None
        except StorageError as error:
            raise Refused(
                DiagnosticCode.STATE_WRITE_ERROR,
                LEDGER_PATH,
                f"{self.state_path} could not be written: {error.message} Run the command again.",
            ) from error
        return StoredLedger(ledger=ledger, content=content, token=token)

    def prove_conditional_writes(self) -> None:
        """Refuse a store that ignores the conditions of writes, before anything depends on them."""
        try:
            self.objects.probe()
        except StorageError as error:
            is_ignored = isinstance(error, ConditionsIgnored)
            code = (
                DiagnosticCode.STORAGE_CONDITIONAL_WRITES_UNSUPPORTED if is_ignored else DiagnosticCode.STATE_LOCK_ERROR
            )
            raise Refused(code, CONTROL_DIRECTORY, f"{self.root} cannot hold a cluster: {error.message}") from error
