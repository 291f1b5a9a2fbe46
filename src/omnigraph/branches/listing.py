"""Which branches there are, and what each of them holds."""

from omnigraph.base.showing import Shown
from omnigraph.base.values import dataclass
from omnigraph.errors import BranchNotFound
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.commits import MAIN_BRANCH, CommitId
from omnigraph.manifest.rows import MANIFEST
from omnigraph.storage.refs import list_refs


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BranchSummary(Shown):
    """One live branch."""

    name: str
    head: CommitId
    graph_version: int
    parent: str | None
    """The branch it was created from; None for `main`."""
    created_at_us: int | None
    owned_tables: tuple[str, ...]
    """Tables that the branch has written to; all others are read where its parent has them."""


def live_branches(context: GraphContext) -> list[str]:
    """Return the names of the branches that users see, `main` first."""
    return [MAIN_BRANCH, *context.manifest.branch_names()]


def list_branches(context: GraphContext) -> list[BranchSummary]:
    """Describe every live branch, sorted by name; one that is deleted while we look is left out."""
    summaries = []
    for name in live_branches(context):
        try:
            summaries.append(_summary(context, name))
        except BranchNotFound:
            continue
    return sorted(summaries, key=lambda summary: summary.name)


def _summary(context: GraphContext, name: str) -> BranchSummary:
    ref = list_refs(context.store.tables, MANIFEST.location).get(name)
    state = context.manifest.load(name)
    pins = state.snapshot.pins.values()
    is_main = name == MAIN_BRANCH
    return BranchSummary(
        name=name,
        head=state.head.graph_commit_id,
        graph_version=state.head.graph_version,
        parent=None if is_main else (ref.parent if ref is not None and ref.parent else MAIN_BRANCH),
        created_at_us=None if is_main or ref is None else ref.created_at_s * 1_000_000,
        owned_tables=tuple(pin.table_key for pin in pins if pin.ref == state.snapshot.own_ref),
    )
