"""Which state of a graph is asked, and how answers look: `--branch`, `--snapshot`, `--format`."""

from typing import TypedDict

import click

from omnigraph import errors
from omnigraph.cli.params import CallbackT
from omnigraph.cli.query_view import FORMATS

_MAIN = "main"


def state_options(function: CallbackT) -> CallbackT:
    """Take the state that is asked and the form of the answers."""
    options = (
        click.option("--branch", metavar="BRANCH", help="The branch; default main."),
        click.option(
            "--snapshot", metavar="ADDRESS", help="An older state: a commit id, branch@N, branch@TIME or branch~N."
        ),
        click.option("--format", "form", type=click.Choice(FORMATS), help="How to show the rows; default table."),
    )
    for option in reversed(options):
        function = option(function)
    return function


class ChosenState(TypedDict):
    """Which state is asked, under the names that Python takes."""

    branch: str | None
    snapshot: str | None


def chosen_state(branch: str, snapshot: str | None) -> ChosenState:
    """Return the branch, or the snapshot that takes its place."""
    return {"branch": branch if snapshot is None else None, "snapshot": snapshot}


def chosen_branch(branch: str | None, snapshot: str | None) -> str:
    """Return the branch that is asked, `main` by default; a snapshot beside a branch is refused."""
    if branch is not None and snapshot is not None:
        raise errors.Usage("--branch and --snapshot both say which state is meant; give one of them.", flag="--branch")
    branch = _MAIN if branch is None else branch.strip()
    if not branch:
        raise errors.InvalidName("--branch is empty; give it a branch name or leave it out.", name="")
    if snapshot is not None and not snapshot.strip():
        raise errors.Usage("--snapshot is empty; give it an address or leave it out.", flag="--snapshot")
    return branch
