"""Commits that keep Lance from acting on stored settings, and those that must not bring such settings back.

Lance obeys stored auto-cleanup settings inside a commit, and would delete versions that branches read.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from omnigraph.base import ids
from omnigraph.catalog.arrow import TABLE_IDENTITY_METADATA
from omnigraph.storage.expected_tables import ExpectedTable
from omnigraph.storage.lance_errors import translated
from omnigraph.storage.tables import Table, TableAddress
from omnigraph.storage.transactions import StagedCommit, planned

_DETACHED_MIN = 1 << 63
_DETACHED_RETRIES = 5
"""Lance draws the number of a detached version; without a retry it gives up before the first draw."""


def stage_auto_cleanup_strip(table: Table, *, properties: Mapping[str, str]) -> StagedCommit | None:
    """Plan the commit that removes stored auto-cleanup settings; None when there are none."""
    return stage_upkeep(table, None, properties=properties)


def stage_upkeep(table: Table, expected: ExpectedTable | None, *, properties: Mapping[str, str]) -> StagedCommit | None:
    """Plan the commit that strips stored auto-cleanup settings and marks a table that has no mark yet, if it should."""
    from lance import LanceOperation

    keys = table.auto_cleanup_keys()
    mark = expected.mark if expected is not None and table.identity_mark is None else None
    if not keys and mark is None:
        return None
    strip = LanceOperation.UpdateMap(updates=dict.fromkeys(keys), replace=False) if keys else None
    marking = (
        LanceOperation.UpdateMap(updates={TABLE_IDENTITY_METADATA: mark}, replace=False) if mark is not None else None
    )
    operation = LanceOperation.UpdateConfig(config_updates=strip, schema_metadata_updates=marking)
    return planned(table, "UpdateConfig", properties, lambda _: operation)


def stage_restore(table: Table, earlier: Table, *, uuid: str, properties: Mapping[str, str]) -> StagedCommit:
    """Plan a restore of an earlier state on top of `table`, which must be HEAD."""
    from lance import LanceOperation

    staged = planned(table, "Restore", properties, lambda _: LanceOperation.Restore(_without_auto_cleanup(earlier)))
    return replace(staged, uuid=uuid)


def is_detached(version: int) -> bool:
    """Whether a version stands beside the line of versions that a table's readers see."""
    return version >= _DETACHED_MIN


def _without_auto_cleanup(table: Table) -> int:
    """Return a version with the content of a state and without stored auto-cleanup settings.

    A restore brings settings back too, and Lance obeys them inside that very commit: it would delete versions that
    branches read. Where a state has any, its stripped twin is committed beside the line of versions.
    """
    strip = stage_auto_cleanup_strip(table, properties={})
    return table.version if strip is None else _commit_detached(table.dataset, strip.build(table), table.address)


def commit_beside_the_line(table: Table, build: Callable[[], Any]) -> int:
    """Commit a change of a state as a version that stands beside the line of versions; return its number.

    No reader sees it, and HEAD stays where it is. Stored auto-cleanup settings are left behind first: Lance would obey
    them inside the commit.
    """
    from lance import LanceDataset

    base: LanceDataset = table.dataset
    strip = stage_auto_cleanup_strip(table, properties={})
    if strip is not None:
        base = base.checkout_version(_commit_detached(base, strip.build(table), table.address))
    return _commit_detached(base, build(), table.address)


def _commit_detached(base: Any, operation: Any, address: TableAddress) -> int:
    import lance
    from lance import Transaction

    transaction = Transaction(
        read_version=base.version, operation=operation, uuid=ids.new_uuid(), transaction_properties={}
    )
    with translated(doing=f"writing a version beside those of {address.path}", uri=address.path):
        made = lance.LanceDataset.commit(base, transaction, detached=True, max_retries=_DETACHED_RETRIES)
    return int(made.version)
