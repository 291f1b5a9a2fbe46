"""What is wrong with the input of a load: one `Offence` per offence, all of them counted, the first few kept.

Findings travel from workers to the driver, so a `Offences` stays small however many records are bad. A check that
stops at its first offence raises `Rejected`; who knows the place turns it into a finding.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import TableKey

FINDINGS_KEPT = 20
_PRUNE_FACTOR = 8


class Code(StrEnum):
    """Why a load is rejected: the codes of the record checks, then those of the set checks."""

    INVALID_UTF8 = "invalid_utf8"
    INVALID_JSON = "invalid_json"
    DUPLICATE_MEMBER = "duplicate_member"
    NOT_AN_OBJECT = "not_an_object"
    BAD_ENVELOPE = "bad_envelope"
    UNKNOWN_FIELD = "unknown_field"
    RESERVED_FIELD = "reserved_field"
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_PROPERTY = "unknown_property"
    INVALID_ID = "invalid_id"
    ID_MISMATCH = "id_mismatch"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    BAD_VECTOR = "bad_vector"
    BAD_BLOB = "bad_blob"
    EXTERNAL_BLOB_DENIED = "external_blob_denied"
    MISSING_REQUIRED = "missing_required"
    INVALID_ENUM = "invalid_enum"
    RANGE_VIOLATION = "range_violation"
    CHECK_VIOLATION = "check_violation"

    DUPLICATE_ID = "duplicate_id"
    KEY_CONFLICT = "key_conflict"
    UNIQUE_VIOLATION = "unique_violation"
    ORPHAN_EDGE = "orphan_edge"
    CARD_VIOLATION = "card_violation"


SET_CODES = frozenset(
    {Code.DUPLICATE_ID, Code.KEY_CONFLICT, Code.UNIQUE_VIOLATION, Code.ORPHAN_EDGE, Code.CARD_VIOLATION}
)


class Rejected(Exception):
    """A line, an envelope or a value does not pass; `str()` says why."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReferenceTooLong(Rejected):
    """A reference to an external object is longer than any may be."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            Code.BAD_BLOB, f"refers to an external object with {size} bytes; a reference has {limit} at most"
        )
        self.size = size
        self.limit = limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Offence:
    """One offence and its place; an entity that is not in the input has no place but a `row_id`."""

    code: Code
    message: str
    file_index: int | None = None
    line: int | None = None
    table_key: TableKey | None = None
    property: str | None = None
    row_id: str | None = None

    def position(self) -> tuple[float, float, str, str, str]:
        """Order findings by file, line and property; those without a place come last, by id."""
        unplaced = float("inf")
        return (
            unplaced if self.file_index is None else self.file_index,
            unplaced if self.line is None else self.line,
            self.property or "",
            self.row_id or "",
            self.code,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Offences:
    """All offences as counts, and the first of them by position."""

    by_code: Mapping[Code, int] = field(default_factory=dict)
    first: tuple[Offence, ...] = ()
    file_indexes: frozenset[int] = frozenset()
    """The files that hold at least one offence."""

    @property
    def total(self) -> int:
        """How many offences there are."""
        return sum(self.by_code.values())


class OffenceCollector:
    """Counts findings and keeps the first `limit` of them, in memory bounded by `limit`."""

    def __init__(self, *, limit: int = FINDINGS_KEPT) -> None:
        # One is always kept, because the message of the rejection quotes it.
        self.limit = max(limit, 1)
        self._counts: Counter[Code] = Counter()
        self._kept: list[Offence] = []
        self._file_indexes: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, finding: Offence) -> None:
        """Count one finding, and keep it while it is among the first."""
        self._counts[finding.code] += 1
        if finding.file_index is not None:
            self._file_indexes.add(finding.file_index)
        self._keep([finding])

    def count(self, code: Code, offences: int) -> None:
        """Count offences that lie behind `limit` findings already added, so that nobody has to word them."""
        if offences > 0:
            self._counts[code] += offences

    def include(self, findings: Offences) -> None:
        """Take over what another collector found."""
        self._counts.update(findings.by_code)
        self._file_indexes.update(findings.file_indexes)
        self._keep(findings.first)

    def result(self) -> Offences:
        """Return what was found so far."""
        self._prune()
        by_code = {code: self._counts[code] for code in sorted(self._counts)}
        return Offences(by_code=by_code, first=tuple(self._kept), file_indexes=frozenset(self._file_indexes))

    def _keep(self, findings: Iterable[Offence]) -> None:
        self._kept.extend(findings)
        if len(self._kept) > self.limit * _PRUNE_FACTOR:
            self._prune()

    def _prune(self) -> None:
        self._kept = sorted(self._kept, key=Offence.position)[: self.limit]
