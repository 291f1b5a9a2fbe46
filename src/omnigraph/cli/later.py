"""Words of the wider product that this version does not have, so that nobody is sent to the wrong command instead."""

_INSTEAD = {
    "ingest": "Load records with `omnigraph load`.",
    "shell": "",
    "serve": "Address the storage of a graph with --store <uri>.",
    "server": "Address the storage of a graph with --store <uri>.",
    "graphs": "Address the storage of a graph with --store <uri>.",
    "login": "Storage credentials come from the environment.",
    "logout": "Storage credentials come from the environment.",
    "cluster": "Graphs that a cluster has applied can be maintained with --cluster <dir> --graph <id>.",
    "policy": "",
    "queries": "",
    "alias": "",
    "blob": "Read blobs from Python.",
    "mcp": "",
}


def not_in_this_version(word: str) -> str | None:
    """Say that a command of the wider product is missing here and what to use; None for any other word."""
    if word not in _INSTEAD:
        return None
    return " ".join(filter(None, (f"`omnigraph {word}` is not part of this version.", _INSTEAD[word])))
