"""Addresses of pages: whatever a person looks at is in the address, so that it can be shared and survives a reload."""

from urllib.parse import quote, urlencode

from omnigraph.manifest.commits import MAIN_BRANCH

PAGES = {
    "overview": "Overview",
    "explore": "Explore",
    "query": "Query",
    "history": "History",
    "maintenance": "Maintenance",
}
"""The pages of a graph, in the order of the keys that open them."""


def page_address(graph_id: str, page: str, *, at: str = MAIN_BRANCH, **parts: str | int | None) -> str:
    """Return the address of a page, below the console's own; what is None or empty is left out."""
    given = {"at": at if at != MAIN_BRANCH else None, **parts}
    query = urlencode({name: value for name, value in given.items() if value not in (None, "")}, quote_via=quote)
    return f"/g/{quote(graph_id, safe='')}/{page}" + (f"?{query}" if query else "")
