"""Which state of a graph is meant, in all the ways in which a caller may say it."""

from datetime import datetime
from typing import Any

from omnigraph.errors import InvalidTarget
from omnigraph.graphs.context import GraphContext
from omnigraph.manifest.addresses import Located
from omnigraph.manifest.commits import MAIN_BRANCH


def locate(
    context: GraphContext,
    address: str | datetime | None = None,
    *,
    branch: str | None = None,
    commit: str | None = None,
    version: int | None = None,
    at: datetime | str | None = None,
) -> Located:
    """Find the state that an address means, by default the head of `main`.

    `version` and `at` choose on a branch, `commit` names a commit; two ways at once are refused.
    """
    addresses = context.addresses
    if isinstance(address, datetime):
        address, at = None, _the_only("at", at, address)
    if isinstance(address, str) and ":" in address and "@" not in address:  # in no name of a branch
        address, at = None, _the_only("at", at, address)
    chosen = [name for name, value in (("commit", commit), ("version", version), ("at", at)) if value is not None]
    if len(chosen) > 1:
        raise InvalidTarget(f"{' and '.join(chosen)} are different ways to say which state is meant; give one.")
    if not chosen:
        return addresses.resolve(_text("address", _the_only("branch", branch, address) or MAIN_BRANCH))
    if commit is not None:
        if branch is not None or address is not None:
            raise InvalidTarget("A commit names its snapshot by itself; leave out branch, version and time.")
        return addresses.at_commit(_text("commit", commit))
    line = _text("branch", _the_only("branch", branch, address) or MAIN_BRANCH)
    if version is not None:
        if not isinstance(version, int):
            raise InvalidTarget(f"version is a number, such as 7, not {version!r}.")
        return addresses.at_version(line, version)
    return addresses.resolve(f"{line}@{at}") if isinstance(at, str) else addresses.at_moment(line, _moment(at))


def _the_only(name: str, *given: Any) -> Any:
    """Return what was given, as an argument or in the place of the address; both are one too many."""
    found = [value for value in given if value is not None]
    if len(found) > 1:
        raise InvalidTarget(f"{name} is given twice: as {found[0]!r} and as {found[1]!r}.")
    return found[0] if found else None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidTarget(f"{name} is a text such as 'main' or 'main~1', not {value!r}.")
    return value


def _moment(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidTarget(f"at is a datetime with its zone, or the text of one, not {value!r}.")
    return value
