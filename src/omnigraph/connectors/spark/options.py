"""What `.option(…)` may say to the data source, and what users of other table formats say for the same.

Spark hands every option on without a look, so that a misspelled one would be obeyed by nobody: the head would be read
instead of the past, `main` be written instead of a branch. Here every name is known, or refused with the nearest one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial

from omnigraph.base.plain_text import MESSAGE_BYTES_MAX, plain_text
from omnigraph.errors import Usage
from omnigraph.storage.settings import STORAGE_OPTIONS

ADDRESS = ("graph", "type", "branch")
STATE = ("commit", "version", "timestampAsOf", "snapshot")
PINNED = "pinned"
"""A selection that was made already, as `to_spark` writes it; no word for people."""
READ = (*ADDRESS, *STATE, "columns", "where", "partitionBytes", "readChangeFeed", PINNED, *STORAGE_OPTIONS)
CHANGES = (
    *ADDRESS,
    *STORAGE_OPTIONS,
    "readChangeFeed",
    "types",
    "excludeTypes",
    "startingVersion",
    "startingTimestamp",
    "startingCommit",
    "startingCursor",
)
CHANGES_FRAME = (*CHANGES, "endingVersion", "endingTimestamp")
CHANGES_STREAM = (*CHANGES, "maxCommitsPerBatch")
CHANGES_EITHER = (*CHANGES_FRAME, "maxCommitsPerBatch")
"""While columns are asked for, nobody knows whether the rows are read as a frame or as a stream."""
SINK = (
    *ADDRESS,
    *STORAGE_OPTIONS,
    "loadMode",
    "actor",
    "policy",
    "message",
    "maxErrors",
    "newestBy",
    "badRecordsPath",
    "progress",
)
STREAM = (*SINK, "queryId", "batchIdentity")
WRITE = (*STREAM, "batchId")

_MEANINGS = {
    # What `load(path)`, `save(path)` and a table's LOCATION become.
    "path": "graph",
    "location": "graph",
    "versionAsOf": "version",
    "as-of-version": "version",
    "as-of-timestamp": "timestampAsOf",
    "snapshot-id": "snapshot",
    "txnAppId": "queryId",
    "txnVersion": "batchId",
}
"""How Delta and Iceberg call what has another name here."""

_STORAGE_PREFIX = "storage."
"""May stand before the name of a storage option."""

_PINNED_BYTES_MAX = 16 << 20
"""A filter may name many values."""

_SPARKS_OWN = frozenset(
    {"checkpointlocation", "queryname"}
    | {"provider", "owner", "external", "is_managed_location", "table_type", "collation", "transient_lastddltime"}
)
"""What Spark itself leaves among the options of a stream, and of a table of its catalog."""
_SPARKS_COPIES = "option."
"""Before every option of a `CREATE TABLE`, which is there under its own name, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one read or write, by the names that are used here."""

    values: Mapping[str, str] = field(repr=False)
    """Not shown: credentials may be among them."""

    @classmethod
    def of(cls, given: Mapping[str, str], known: tuple[str, ...]) -> "Options":
        """Read options, whose names Spark compares without regard to case; refuse what is unknown or said twice."""
        by_folded = {name.lower(): name for name in known}
        by_folded |= {other.lower(): ours for other, ours in _MEANINGS.items() if ours in known}
        by_folded |= {f"{_STORAGE_PREFIX}{name}": name for name in STORAGE_OPTIONS if name in known}
        values: dict[str, str] = {}
        said_as: dict[str, str] = {}
        for name, value in given.items():
            if name.lower() in _SPARKS_OWN or name.lower().startswith(_SPARKS_COPIES):
                continue
            ours = by_folded.get(name.lower())
            is_shown = ours is not None and ours not in STORAGE_OPTIONS
            plain_text(
                value,
                what=f"The option {name}",
                refusal=partial(Usage, flag=name),
                bytes_max=_PINNED_BYTES_MAX if ours == PINNED else MESSAGE_BYTES_MAX,
                is_shown=is_shown,
            )
            if ours is None:
                raise _unknown(name, [*known, *(other for other, means in _MEANINGS.items() if means in known)])
            if ours in values and values[ours] != value:
                raise Usage(f'The options "{said_as[ours]}" and "{name}" say the same thing differently; give one.')
            values[ours], said_as[ours] = value, name
        return cls(values=values)

    def required(self, name: str) -> str:
        """Return what must be given."""
        value = self.get(name)
        if value is None:
            raise Usage(f'The omnigraph source needs .option("{name}", …).', flag=name)
        return value

    def get(self, name: str) -> str | None:
        """Return an option; an empty one counts as not given."""
        return self.values.get(name) or None

    def number(self, name: str) -> int | None:
        """Return an option that is a whole number."""
        value = self.get(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdecimal()):
            raise Usage(f'The option "{name}" is {value!r}; it is a whole number.', flag=name)
        return int(value)

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """Return an option that is true or false."""
        value = self.get(name)
        if value is None:
            return otherwise
        if value.lower() not in {"true", "false"}:
            raise Usage(f'The option "{name}" is {value!r}; it is true or false.', flag=name)
        return value.lower() == "true"

    def is_given(self, name: str) -> bool:
        """Whether an option is there at all, be it empty."""
        return name in self.values

    @property
    def storage(self) -> dict[str, str]:
        """How to reach the store, as far as the options say it; may hold credentials."""
        return {name: value for name in STORAGE_OPTIONS if (value := self.get(name)) is not None}

    def only_one_of(self, *names: str) -> str | None:
        """Return which of several options is given; refuse two of them."""
        given = [name for name in names if self.get(name) is not None]
        if len(given) > 1:
            raise Usage(f'The options "{given[0]}" and "{given[1]}" name two states; give one of them.')
        return given[0] if given else None


def _unknown(name: str, known: list[str]) -> Usage:
    by_folded = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), list(by_folded), n=1, cutoff=0.6)
    listed = ", ".join(other for other in known if other not in (PINNED, *STORAGE_OPTIONS))
    hint = f'did you mean "{by_folded[near[0]]}"?' if near else f"it takes {listed}."
    return Usage(f'The omnigraph source has no option "{name}"; {hint}', flag=name)
