"""The commit log and the graph versions: every version has its commit, every commit its parents."""

from collections import Counter
from collections.abc import Iterator

import pyarrow.compute as pc

from omnigraph.errors import OmniError
from omnigraph.maintenance.verify.report import Problem, ProblemKind
from omnigraph.manifest.ancestry import History, parents_of
from omnigraph.manifest.commits import MAIN_BRANCH, Commit, CommitId
from omnigraph.manifest.log import COMMITS, CommitLog
from omnigraph.manifest.rows import HEAD_OBJECT_ID
from omnigraph.manifest.state import ManifestState

_REMEDY = f"restore {COMMITS.location} from a backup"


def log_problems(log: CommitLog, states: list[ManifestState]) -> Iterator[Problem]:
    """Compare the log with what the manifests of some branches say."""
    try:
        logged = log.logged()
    except (OmniError, OSError, ValueError, RuntimeError) as error:
        yield _problem(f"the commit log cannot be read: {error}")
        return
    times = Counter(commit.graph_commit_id for commit in logged)
    if doubled := sorted(one for one, count in times.items() if count > 1):
        yield _problem(f"the commit log holds {', '.join(doubled)} more than once")
    for state in states:
        history = {**{commit.graph_commit_id: commit for commit in logged}, state.head.graph_commit_id: state.head}
        yield from _line_problems(state, history)


def _line_problems(state: ManifestState, history: History) -> Iterator[Problem]:
    branch = state.branch.name
    recorded = _commit_by_version(state)
    current: Commit | None = state.head
    while current is not None:
        named = recorded.get(current.graph_version)
        if named is not None and named != current.graph_commit_id:
            yield _problem(
                f"graph version {current.graph_version} of {branch} was made by {named}, but its history has "
                f"{current.graph_commit_id} there",
                branch=branch,
            )
        unknown = [parent for parent in parents_of(current) if parent not in history]
        parent = current.parent_commit_id
        if parent is not None and parent in history and history[parent].graph_version != current.graph_version - 1:
            yield _problem(
                f"commit {current.graph_commit_id} made graph version {current.graph_version} of {branch}, and its "
                f"parent {parent} made {history[parent].graph_version}",
                branch=branch,
            )
        if unknown:
            yield _unlogged(branch, current, unknown)
        current = history.get(parent) if parent is not None else None


def _unlogged(branch: str, commit: Commit, unknown: list[CommitId]) -> Problem:
    return _problem(
        f"{' and '.join(unknown)}, parent of {commit.graph_commit_id} on {branch}, is in no log",
        lost=(
            f"graph versions of {branch} before {commit.graph_version} can no longer be addressed, listed or merged "
            f"from; {branch} itself can be read"
        ),
        branch=branch,
    )


def _commit_by_version(state: ManifestState) -> dict[int, str]:
    rows = state.rows.filter(pc.not_equal(state.rows["object_id"], HEAD_OBJECT_ID))
    pairs = rows.group_by(["graph_version", "graph_commit_id"]).aggregate([])
    return dict(zip(pairs["graph_version"].to_pylist(), pairs["graph_commit_id"].to_pylist(), strict=True))


def _problem(message: str, *, lost: str | None = None, branch: str | None = None) -> Problem:
    return Problem(
        kind=ProblemKind.LOG_INCOMPLETE,
        message=message,
        lost=lost,
        remedy=_REMEDY,
        table_key=COMMITS.location,
        branch=None if branch == MAIN_BRANCH else branch,
    )
