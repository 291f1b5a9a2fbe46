"""What is not there, said so that the next attempt succeeds."""

import shlex
from collections.abc import Iterable

from omnigraph.base.nearest import listed, nearest
from omnigraph.errors import Addressing, BranchNotFound, GraphNotFound
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.storage.store import GraphStore
from omnigraph.storage.whereabouts import Occupant, Whereabouts, blocking_file, enclosing_graph, look_at

_GRAPHS_NAMED_MAX = 5


def no_such_branch(branch: str, known: Iterable[str], *, uri: str, advice: str = "") -> BranchNotFound:
    """Say that a graph has no such branch, which one comes nearest, and which there are."""
    names = [MAIN_BRANCH, *sorted(name for name in known if name != MAIN_BRANCH and not name.startswith("__"))]
    meant = nearest(branch, names)
    hint = f"did you mean '{meant}'? It has" if meant is not None else "it has"
    sentences = (f"Branch '{branch}' was not found in {uri}; {hint} {listed(names)}.", advice)
    return BranchNotFound(" ".join(filter(None, sentences)), branch=branch)


def no_graph_at(store: GraphStore) -> GraphNotFound:
    """Say what is at the address instead of a graph, and what to do about it."""
    return GraphNotFound(_spell(store.uri, look_at(store.root, store.settings)), uri=store.uri)


def refuse_file(store: GraphStore) -> None:
    """Raise for an address that cannot hold a graph because a file is in the way, before anything stumbles over it."""
    if blocking_file(store.root) is not None:
        raise no_graph_at(store)


def refuse_unfit_for_new_graph(store: GraphStore) -> None:
    """Raise for an address where no graph can be made: a file is there, or it lies inside another graph."""
    if (file := blocking_file(store.root)) is not None:
        raise Addressing(f"{file} is a file, and a graph is a directory; name one that is new or empty.")
    if (graph := enclosing_graph(store.root, store.settings)) is not None:
        raise Addressing(f"{store.uri} lies inside the graph {graph}, and graphs do not nest; name a place outside it.")


def _spell(uri: str, found: Whereabouts) -> str:
    quoted = shlex.quote(uri)
    match found.occupant:
        case Occupant.FILE:
            return (
                f"{found.path} is a file, and a graph is a directory; name the graph, and give it a file to read with "
                f"`omnigraph load GRAPH --data {shlex.quote(found.path)}`."
            )
        case Occupant.INSIDE:
            return f"{uri} lies inside the graph {found.path}; address that one."
        case Occupant.REMAINS:
            return (
                f"{uri} holds parts of a graph but no __manifest. Restore that from a backup; only if an init was "
                f"interrupted there and the graph never held anything, clear it with "
                f"`omnigraph init --schema FILE --force {quoted}`."
            )
        case Occupant.DIRECTORY if found.graphs_within:
            named = listed(found.graphs_within[:_GRAPHS_NAMED_MAX])
            return f"{uri} is a directory that holds graphs, not one itself; address one of them, such as {named}."
        case Occupant.DIRECTORY | Occupant.NOTHING:
            # By their last segments: two addresses in one directory are alike whatever they are called.
            beside = {path.rpartition("/")[2]: path for path in found.graphs_beside}
            meant = nearest(uri.rpartition("/")[2], beside)
            hint = f"; did you mean {beside[meant]}?" if meant is not None else "."
            what = "is a directory without a graph" if found.occupant is Occupant.DIRECTORY else ""
            said = f"{uri} {what}" if what else f"There is no graph at {uri}"
            return f"{said}{hint} Create one with `omnigraph init --schema FILE {quoted}`."
