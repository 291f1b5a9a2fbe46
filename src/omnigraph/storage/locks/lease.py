"""What a lease object says, and for how long."""

import json
from dataclasses import asdict, replace

from omnigraph.base import ids
from omnigraph.base.values import dataclass
from omnigraph.errors import StorageError
from omnigraph.storage.locks.holder import Holder
from omnigraph.storage.tables import StateAddress, TableAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """How long a lease lives without a renewal, how often it gets one, and what must be left before an effect."""

    ttl_seconds: float = 60.0
    renew_seconds: float = 20.0
    margin_seconds: float = 15.0
    undo_grace_seconds: float = 120.0
    """How long after its expiry a lease's former holder may still land one late commit, so that nobody undoes its
    work before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A promise to be alive, good for `ttl_s` seconds after the store wrote it down."""

    lease_id: str
    holder: Holder
    token: int
    """Grows by one at every takeover."""
    ttl_s: float
    renewals: int
    """Makes every renewal a different content: compare-and-swap could not tell two equal ones apart."""
    versions: tuple[StateAddress, ...]
    """What a reader lease protects from cleanup; a lock has none."""

    @classmethod
    def new(
        cls, operation: str, terms: LeaseTerms, *, token: int = 1, versions: tuple[StateAddress, ...] = ()
    ) -> "Lease":
        """Make a lease of this process; nothing is written yet."""
        return cls(
            lease_id=ids.new_ulid(),
            holder=Holder.here(operation),
            token=token,
            ttl_s=terms.ttl_seconds,
            renewals=0,
            versions=versions,
        )

    def to_bytes(self) -> bytes:
        """Spell the lease as JSON."""
        versions = [
            {"location": state.address.location, "ref": state.address.ref, "version": state.version}
            for state in self.versions
        ]
        return json.dumps({**asdict(replace(self, versions=())), "versions": versions}).encode()

    @classmethod
    def from_bytes(cls, content: bytes, *, uri: str) -> "Lease":
        """Read what `to_bytes` wrote; `uri` names the object in the error for anything else."""
        try:
            document = json.loads(content)
            holder = Holder(**document.pop("holder"))
            versions = tuple(_leased(**leased) for leased in document.pop("versions"))
            return cls(holder=holder, versions=versions, **document)
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            # Not knowing what it says, nobody may take it over: a lease that cannot be read is held.
            raise StorageError(
                f"{uri} is not a lease that this program can read. Delete it if no process works on the graph.",
                storage_kind="permanent",
                uri=uri,
            ) from exc


def _leased(*, location: str, ref: str | None, version: int) -> StateAddress:
    return StateAddress(address=TableAddress(location, ref), version=version)
