"""Keeping the graph's own tables small while they are written: what each commit leaves there is folded by and by.

Manifest and log gain a fragment with every commit, and publishing looks into all of them. `optimize` makes one of them,
but a writer that commits twenty times a second would be at half its speed before anybody runs that. The rows stay what
they are, and these tables are read at their newest version, so there is nothing to publish and nothing to recover.
"""

from omnigraph.base.logs import logger_of
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import Commit
from omnigraph.manifest.log import ACTORS, COMMITS
from omnigraph.storage.folding import fold_small_fragments
from omnigraph.storage.tables import TableAddress
from omnigraph.storage.transactions import CommitInterleaved

_log = logger_of(__name__)


def tidy_internal_tables(context: GraphContext, commit: Commit) -> None:
    """Fold what many commits left in the tables that this one was written to; the branch's gate is held."""
    manifest = context.manifest.load(commit.graph_branch).table.address
    for address in (manifest, COMMITS, *((ACTORS,) if commit.actor_id is not None else ())):
        _fold(context, address)


def _fold(context: GraphContext, address: TableAddress) -> None:
    tables = context.store.tables
    head = tables.head(address)
    if head is None:
        return
    try:
        folded = fold_small_fragments(tables, head)
    except CommitInterleaved as faster:
        _log.debug("%s; the next commit folds its fragments", faster)
        return
    if folded is not None:
        _log.debug("folded small fragments of %s at version %d", address.path, folded.version)
