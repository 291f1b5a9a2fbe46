"""Snapshot addresses: a branch, `branch@N`, `branch~N` or a commit id."""

import re

from omnigraph.base import ids
from omnigraph.errors import InvalidTarget, SnapshotNotFound
from omnigraph.manifest.commits import MAIN_BRANCH, CommitId
from omnigraph.manifest.snapshot import GraphSnapshot
from omnigraph.writes.context import GraphContext

_VERSION = re.compile(r"(?P<branch>.+)@(?P<version>[0-9]+)")
_STEPS_BACK = re.compile(r"(?P<branch>.+)~(?P<steps>[0-9]+)")


def find_snapshot(
    context: GraphContext, *, branch: str | None, commit: str | None, version: int | None
) -> GraphSnapshot:
    """Return the snapshot that the arguments mean; without any, the head of `main`."""
    if commit is not None:
        if branch is not None or version is not None:
            raise InvalidTarget("A commit names its snapshot by itself; leave out branch and version.")
        return _at_commit(context, commit)
    if version is not None:
        return _at_version(context, branch or MAIN_BRANCH, version)
    return context.manifest.load(branch or MAIN_BRANCH).snapshot


def parse_snapshot_address(context: GraphContext, text: str) -> GraphSnapshot:
    """Return the snapshot that a written address means."""
    if ids.is_ulid(text):
        return _at_commit(context, text)
    if match := _VERSION.fullmatch(text):
        return _at_version(context, match["branch"], int(match["version"]))
    if match := _STEPS_BACK.fullmatch(text):
        return _steps_back(context, match["branch"], int(match["steps"]))
    return context.manifest.load(text).snapshot


def _at_commit(context: GraphContext, commit_id: str) -> GraphSnapshot:
    state = context.manifest.load(MAIN_BRANCH)
    commit = context.log.find(CommitId(commit_id), head=state.head)
    return state.snapshot_at(commit.graph_version, commit.graph_commit_id)


def _at_version(context: GraphContext, branch: str, version: int) -> GraphSnapshot:
    state = context.manifest.load(branch)
    if not 1 <= version <= state.head.graph_version:
        raise SnapshotNotFound(
            f"Branch '{branch}' has no graph version {version}; it knows 1 to {state.head.graph_version}.",
            id=f"{branch}@{version}",
        )
    return state.snapshot_at(version, context.log.at_version(version, head=state.head).graph_commit_id)


def _steps_back(context: GraphContext, branch: str, steps: int) -> GraphSnapshot:
    state = context.manifest.load(branch)
    for back, commit in enumerate(context.log.first_parents(state.head)):
        if back == steps:
            return state.snapshot_at(commit.graph_version, commit.graph_commit_id)
    raise SnapshotNotFound(
        f"Branch '{branch}' has only {state.head.graph_version} commits; {steps} steps back is before its first.",
        id=f"{branch}~{steps}",
    )
