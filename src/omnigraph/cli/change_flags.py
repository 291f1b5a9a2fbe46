"""The flags that all commands about changes share: filters and pages."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar

import click

from omnigraph.base.values import dataclass

if TYPE_CHECKING:  # the result classes live beside code that imports Lance
    from omnigraph.changes.entities import EntityChange
    from omnigraph.changes.paging import ChangePage, PageLimits

CallbackT = TypeVar("CallbackT", bound=Callable[..., None])

FIRST_PAGE = "start"


class Filters(TypedDict):
    """What the filter flags said, under the names that Python takes."""

    kinds: tuple[str, ...]
    types: tuple[str, ...]
    ops: tuple[str, ...]
    exclude_types: tuple[str, ...]


class ServedFilters(TypedDict):
    """The filters that go through a server."""

    kinds: tuple[str, ...]
    types: tuple[str, ...]
    ops: tuple[str, ...]


def served_filters(filters: Filters) -> ServedFilters:
    """Return the filters that a server takes; the others were refused."""
    return {"kinds": filters["kinds"], "types": filters["types"], "ops": filters["ops"]}


def filter_options(function: CallbackT) -> CallbackT:
    """Take `--kind`, `--type`, `--exclude-type` and `--op`, each repeatable."""
    for option in (
        click.option(
            "--op",
            "ops",
            type=click.Choice(("insert", "update", "delete")),
            multiple=True,
            help="Only these operations; repeatable.",
        ),
        click.option(
            "--exclude-type",
            "exclude_types",
            metavar="TYPE",
            multiple=True,
            help="All but this type, such as one whose columns changed; repeatable.",
        ),
        click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this type; repeatable."),
        click.option(
            "--kind", "kinds", type=click.Choice(("node", "edge")), multiple=True, help="Only nodes, or only edges."
        ),
    ):
        function = option(function)
    return function


def page_options(function: CallbackT) -> CallbackT:
    """Take `--limit` and `--page-token`."""
    token = click.option(
        "--page-token",
        metavar="TOKEN",
        help=f"One page only: `{FIRST_PAGE}` for the first, then the next_page_token of the answer before.",
    )
    return limit_option(token(function))


def limit_option(function: CallbackT) -> CallbackT:
    """Take `--limit`."""
    return click.option(
        "--limit", type=click.IntRange(min=1), metavar="N", help="Changes per page; default 1000, at most 8192."
    )(function)


def page_limits(limit: int | None) -> "PageLimits":
    """Turn `--limit` into limits."""
    from omnigraph.changes.paging import PageLimits

    return PageLimits() if limit is None else PageLimits(changes=limit)


class Paged(Protocol):
    """Changes that come in pages, or one after another."""

    def __iter__(self) -> "Iterator[EntityChange]":
        """Yield all of them."""
        ...

    def page(self, *, page_token: str | None = None, limits: "PageLimits | None" = None) -> "ChangePage":
        """Return one page."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChanges:
    """The changes that a run prints, and where the rest begins if it was asked for one page."""

    changes: "list[EntityChange]"
    next_page_token: str | None


def read_pages(paged: Paged, *, limit: int | None, page_token: str | None) -> ShownChanges:
    """Read one page if a token was given, else everything."""
    limits = page_limits(limit)
    if page_token is None:
        return ShownChanges(changes=list(paged), next_page_token=None)
    page = paged.page(page_token=None if page_token == FIRST_PAGE else page_token, limits=limits)
    return ShownChanges(changes=list(page.changes), next_page_token=page.next_page_token)
