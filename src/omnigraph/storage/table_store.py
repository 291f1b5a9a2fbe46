"""Opening tables: the one door between the graph and `lance.dataset`, and the states that stay open behind it.

Nothing above this module ever sees a Lance URI or passes a dataset around.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from omnigraph.base.logs import logger_of
from omnigraph.errors import HistoricalVersionReclaimed
from omnigraph.storage.known_heads import KnownHeads, identity
from omnigraph.storage.lance_errors import LanceFailure, classify, lance_failures, storage_error, translated
from omnigraph.storage.objects import ControlStore
from omnigraph.storage.open_states import OpenStates
from omnigraph.storage.sessions import new_session
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.uris import GraphRoot

_log = logger_of(__name__)


def _as_expected(table: Table, address: TableAddress, *, is_pin: bool = True) -> Table:
    """Return the table, or raise `TableReplaced` when it is not the one that the caller's pin means."""
    if address.expected is not None:
        address.expected.check(table.identity_mark, place=address.path, is_pin=is_pin)
    return table


class TableStore:
    """Opens tables below one graph root and keeps recently used states open.

    States are immutable. Only the directory of a deleted ref, or of a new table that was undone, is ever used again,
    and whoever removes one says so (`forget`, `forget_table`); so no handle goes stale.
    """

    def __init__(self, root: GraphRoot, storage_options: Mapping[str, str] | None, objects: ControlStore) -> None:
        self.objects = objects
        """The same store, for the bytes of a table's own files."""
        self._root = root
        self._local_root = f"{root.uri}/" if root.is_local else None
        self._storage_options = dict(storage_options) if storage_options else None
        self._session: Any = None
        self._session_lock = Lock()
        self._handles: OpenStates[TableAddress, Table] = OpenStates()
        self._heads = KnownHeads()

    @property
    def storage_options(self) -> dict[str, str] | None:
        """What Lance needs to reach the store; holds credentials, so never print it."""
        return self._storage_options

    @property
    def session(self) -> Any:
        """What Lance keeps in memory for all tables; who opens or makes one without it gets another, for good."""
        with self._session_lock:
            if self._session is None:
                self._session = new_session()
            return self._session

    def uri(self, address: TableAddress) -> str:
        """Return the Lance URI of an address."""
        return self._root.table_uri(address.path)

    def open(self, address: TableAddress, version: int) -> Table:
        """Open one state; raise `HistoricalVersionReclaimed` when that version is gone."""
        cached = self._handles.find(address, version)
        if cached is not None:
            return _as_expected(cached, address)
        try:
            table = Table(address, self._dataset(address, version))
        except lance_failures() as error:
            if classify(error) is LanceFailure.NOT_FOUND:
                raise HistoricalVersionReclaimed(
                    f"Version {version} of {address.path} is gone: cleanup, a hard drop or the deletion of its branch "
                    "removed it. Take a new snapshot.",
                    table_key=address.path,
                    version=version,
                ) from error
            raise storage_error(error, doing=f"opening {address.path} version {version}", uri=address.path) from error
        return self.remember(_as_expected(table, address))

    def head(self, address: TableAddress) -> Table | None:
        """Open the newest version on a ref; None when there is no table."""
        versions = self._versions(address)
        if versions is not None and (known := self._heads.find(versions)) is not None:
            cached = self._handles.find(address, known)
            if cached is not None:
                return _as_expected(cached, address, is_pin=False)
        directory = identity(versions) if versions is not None else None
        try:
            table = Table(address, self._dataset(address, None))
        except lance_failures() as error:
            if classify(error) is LanceFailure.NOT_FOUND:
                return None
            raise storage_error(error, doing=f"opening {address.path}", uri=address.path) from error
        self.remember(_as_expected(table, address, is_pin=False))
        if versions is not None:
            self._heads.remember(versions, table.version, directory=directory)
        return table

    def landed(self, table: Table) -> Table:
        """Keep a state that a commit of ours just made: nobody has to look for the newest one right after."""
        versions = self._versions(table.address)
        if versions is not None:
            self._heads.remember(versions, table.version, directory=identity(versions))
        return self.remember(table)

    def created(self, table: Table) -> Table:
        """Keep the first state of a table that a commit made by its address, in the session that all others share."""
        try:
            table = Table(table.address, self._dataset(table.address, table.version))
        except lance_failures():
            _log.debug("the new table %s stays open as it was made", table.address.path)
        return self.landed(table)

    def is_newest(self, table: Table) -> bool:
        """Whether a state is still the newest on its ref."""
        versions = self._versions(table.address)
        if versions is None:
            return table.latest_version() == table.version
        newest = self._heads.find(versions)
        if newest is None:
            directory = identity(versions)
            newest = table.latest_version()
            if newest == table.version:
                # A writer that is about to commit touches the directory; that is no reason to list it at every look.
                self._heads.remember(versions, newest, directory=directory)
        return newest == table.version

    def fresh_head(self, address: TableAddress) -> Table:
        """Open the newest version on a handle of its own, which a commit may move on; raise when there is no table."""
        return self.fresh(address, None)

    def fresh(self, address: TableAddress, version: int | None) -> Table:
        """Open a state on a handle of its own: some calls of Lance want a handle to themselves while they run."""
        known = self._handles.find(address, version) if version is not None else None
        if known is not None:
            return _as_expected(Table(address, known.own_handle()), address)
        with translated(doing=f"opening {address.path}", uri=address.path):
            dataset = self._dataset(address, version)
        return _as_expected(Table(address, dataset), address)

    def remember(self, table: Table) -> Table:
        """Keep a state open for later readers."""
        self._handles.keep(table.address, table.version, table)
        return table

    def forget(self, address: TableAddress) -> None:
        """Close all states of a ref that is being deleted: its name may come back with other content."""
        self._handles.forget(lambda held: held == address)
        self._forget_heads(address.path)

    def forget_table(self, location: str) -> None:
        """Close all states of a table, on every ref: some of them, or all, are being removed."""
        self._handles.forget(lambda held: held.location == location)
        self._forget_heads(location)

    def _forget_heads(self, path: str) -> None:
        if self._root.is_local:
            self._heads.forget(f"{self._root.uri}/{path}")

    def _versions(self, address: TableAddress) -> str | None:
        """Return the directory of a table's versions; None on S3, where a listing begins with the newest."""
        return None if self._local_root is None else f"{self._local_root}{address.path}/_versions"

    def _dataset(self, address: TableAddress, version: int | None) -> Any:
        import lance

        return lance.dataset(
            self.uri(address), version=version, storage_options=self._storage_options, session=self.session
        )
