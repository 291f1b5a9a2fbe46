"""What is not there, said so that the next attempt succeeds."""

from collections.abc import Iterable

from omnigraph.base.nearest import listed, nearest
from omnigraph.errors import BranchNotFound
from omnigraph.manifest.commits import MAIN_BRANCH


def no_such_branch(branch: str, known: Iterable[str], *, uri: str, advice: str = "") -> BranchNotFound:
    """Say that a graph has no such branch, which one comes nearest, and which there are."""
    names = [MAIN_BRANCH, *sorted(name for name in known if name != MAIN_BRANCH and not name.startswith("__"))]
    meant = nearest(branch, names)
    hint = f"did you mean '{meant}'? It has" if meant is not None else "it has"
    sentences = (f"Branch '{branch}' was not found in {uri}; {hint} {listed(names)}.", advice)
    return BranchNotFound(" ".join(filter(None, sentences)), branch=branch)
