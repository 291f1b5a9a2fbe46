"""Which places outside of a cluster may be named as bases of blobs, when they are declared and when they are served."""

from itertools import pairwise
from urllib.parse import unquote, urlsplit

from omnigraph.cluster.resources import BlobScope, ExternalBlobPolicy

_SCHEMES = ("s3", "https", "http", "file")


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


def problem_of_policy(policy: ExternalBlobPolicy) -> str | None:
    """Say what keeps an applied policy from being served; None if nothing does. No base is shown: it may hold a key."""
    for place, base in enumerate(policy.bases):
        problem = problem_of_base(base.uri)
        if problem is None and base.uri.startswith("file:") and base.scope is not BlobScope.EMBEDDED_ONLY:
            problem = f"is on this machine and needs the scope {BlobScope.EMBEDDED_ONLY}"
        if problem is not None:
            return f"base {place} {problem}"
    if any(longer.startswith(shorter) for shorter, longer in pairwise(sorted(base.uri for base in policy.bases))):
        return "two of its bases overlap"
    return None
