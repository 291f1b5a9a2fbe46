"""How well the memory of a process serves its reads, for whoever watches a server."""

from collections.abc import Iterable

from omnigraph.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """One kind of thing that is kept."""

    name: str
    hits: int
    misses: int
    entries: int
    bytes_used: int | None = None
    """None where it is not bytes that are counted."""
    bytes_max: int | None = None


def together(facts: Iterable[CacheFacts]) -> list[CacheFacts]:
    """Return the sums of caches that have the same name; those that count bytes stand alone."""
    found: dict[str, CacheFacts] = {}
    for each in facts:
        same = found.get(each.name)
        found[each.name] = (
            each
            if same is None
            else CacheFacts(
                name=each.name,
                hits=same.hits + each.hits,
                misses=same.misses + each.misses,
                entries=same.entries + each.entries,
            )
        )
    return list(found.values())
