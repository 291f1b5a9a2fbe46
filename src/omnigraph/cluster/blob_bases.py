"""Which places outside of a cluster may be named as bases of blobs, and which of them a writer may refer to."""

from collections.abc import Collection
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from omnigraph.catalog.blob_bases import REFERENCE_SCHEMES, BlobBases, base_place
from omnigraph.cluster.resources import BlobBase, BlobScope, ExternalBlobPolicy

_SCHEMES = (*REFERENCE_SCHEMES, "https", "http")
"""A policy that names a web server can be served; nothing can be stored that refers to one."""


def problem_of_base(base: str) -> str | None:
    """Say what is wrong with the spelling of a base; None if nothing is."""
    try:
        parts = urlsplit(base)
    except ValueError:
        return "is no URI"
    if parts.scheme not in _SCHEMES:
        return f"must be an absolute URI that starts with {', '.join(f'{name}://' for name in _SCHEMES)}"
    if parts.query or parts.fragment or "?" in base or "#" in base:
        return "must have no query and no fragment"
    if "@" in parts.netloc:
        return "must have no credentials; they come from the environment"
    if ".." in unquote(parts.path).split("/"):
        return "must not lead upwards with `..`"
    if parts.scheme != "file":
        return None if parts.netloc else "names no bucket or host"
    return "names another host, which file:// cannot reach" if parts.netloc not in {"", "localhost"} else None


def problem_of_declared(base: str) -> str | None:
    """Say what is wrong with a base that somebody declares now, whose references must be storable."""
    problem = problem_of_base(base)
    if problem is not None:
        return problem
    if urlsplit(base).scheme not in REFERENCE_SCHEMES:
        return f"must start with {' or '.join(f'{name}://' for name in REFERENCE_SCHEMES)}: others cannot be stored"
    return None if base_place(base) is not None else "has a name that is no plain name"


def overlapping(bases: Collection[BlobBase]) -> tuple[BlobBase, BlobBase] | None:
    """Return two bases of which one lies inside of the other, or is the same; None if there are none."""
    placed = sorted(((place, base) for base in bases if (place := base_place(base.uri))), key=lambda each: each[0])
    for (place, shorter), (other, longer) in pairwise(placed):
        if other == place or other.is_below(place):
            return shorter, longer
    return None


def bases_for(policy: ExternalBlobPolicy | None, scopes: Collection[BlobScope]) -> BlobBases | None:
    """Return what a policy allows to those who may use these scopes; None for nothing, as without a policy."""
    if policy is None:
        return None
    # What cannot be understood allows nothing.
    usable = tuple(base.uri for base in policy.bases if base.scope in scopes and problem_of_base(base.uri) is None)
    return BlobBases(uris=usable) if usable else None


def problem_of_policy(policy: ExternalBlobPolicy) -> str | None:
    """Say what keeps an applied policy from being served; None if nothing does. No base is shown: it may hold a key."""
    for place, base in enumerate(policy.bases):
        problem = problem_of_base(base.uri)
        if problem is None and base.uri.startswith("file:") and base.scope is not BlobScope.EMBEDDED_ONLY:
            problem = f"is on this machine and needs the scope {BlobScope.EMBEDDED_ONLY}"
        if problem is not None:
            return f"base {place} {problem}"
    return None if overlapping(policy.bases) is None else "two of its bases overlap"
