"""Both clients have the verbs of a graph, under the same names and with the same options."""

import inspect

import pytest

from omnigraph import AsyncRemoteGraph, Graph, RemoteGraph
from omnigraph.branches.verbs import Branches
from omnigraph.client.remote import RemoteBranches, RemoteChanges
from omnigraph.client.remote_async import AsyncRemoteBranches, AsyncRemoteChanges

ONLY_OF_SERVERS = {"graphs", "graph", "server_health", "query_stored", "mutate_stored", "stored_queries", "close"}
ROUTES_OF_OLDER_CLIENTS = {"ingest"}


def members(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def options(cls: type, name: str) -> list[str]:
    found = inspect.getattr_static(cls, name)
    function = getattr(found, "fget", None) or getattr(found, "__wrapped__", found)
    return list(inspect.signature(function).parameters)


def test_every_verb_of_a_client_is_one_of_a_graph_or_only_a_server_has_it():
    assert members(RemoteGraph) - members(Graph) == ONLY_OF_SERVERS | ROUTES_OF_OLDER_CLIENTS
    assert members(RemoteBranches) <= members(Branches)


@pytest.mark.parametrize(
    ("waiting", "awaited"),
    [
        (RemoteGraph, AsyncRemoteGraph),
        (RemoteBranches, AsyncRemoteBranches),
        (RemoteChanges, AsyncRemoteChanges),
    ],
)
def test_the_awaited_client_has_the_same_verbs_with_the_same_options(waiting, awaited):
    shared = members(waiting) - ROUTES_OF_OLDER_CLIENTS

    # What a client without `await` has from `of_commit`, which gives both the changes and their pages.
    assert members(awaited) - {"commit_page"} == shared
    assert {name: options(awaited, name) for name in shared} == {name: options(waiting, name) for name in shared}


@pytest.mark.parametrize("name", ["query", "mutate", "load", "commits", "commit", "blob"])
def test_options_of_a_client_are_called_as_those_of_a_graph(name):
    here = set(options(Graph, name)) | {"parameters"}

    assert set(options(RemoteGraph, name)) <= here
