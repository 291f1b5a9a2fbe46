"""The claim on a root that is being made a graph: it keeps two inits apart, and tells who was at it when one broke.

A claim is made by create-if-absent and broken by compare-and-swap, so of several who try one wins. What an
interrupted init left is looked at before the claim and cleared only under it.
"""

import json
import os
import socket
from dataclasses import asdict
from typing import Final

from omnigraph.base import clock, ids, processes
from omnigraph.base.values import dataclass
from omnigraph.errors import InitClaimed, NotConfirmed
from omnigraph.manifest.commits import Commit
from omnigraph.manifest.log import CommitLog
from omnigraph.manifest.schemas import SchemaStore
from omnigraph.manifest.snapshot import SchemaRef
from omnigraph.storage.objects import ObjectChanged, ObjectExists, Token
from omnigraph.storage.store import GraphStore

CLAIM: Final = "__init_claim.json"
_CLAIM_AGE_SECONDS_MIN = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class InitClaim:
    """Who is creating a graph here; `ulid` is the id of the genesis commit."""

    ulid: str
    host: str
    pid: int
    pid_scope: str | None
    started_at: int

    @classmethod
    def of_this_process(cls) -> "InitClaim":
        """Make a new claim; nothing is written yet."""
        return cls(
            ulid=ids.new_ulid(),
            host=socket.gethostname(),
            pid=os.getpid(),
            pid_scope=processes.pid_scope(),
            started_at=clock.now_us(),
        )

    @property
    def is_provably_dead(self) -> bool:
        """Whether the claiming process ran on this host and is gone."""
        return processes.is_provably_dead(host=self.host, pid=self.pid, scope=self.pid_scope)

    @property
    def age_seconds(self) -> float:
        """How long ago the claim was made, by the local clock."""
        return (clock.now_us() - self.started_at) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingClaim:
    """A claim as it is stored, and the token that names exactly it."""

    claim: InitClaim
    token: Token


def read_claim(store: GraphStore) -> StandingClaim | None:
    """Return the claim at this root, if there is one."""
    stored = store.objects.read(CLAIM)
    if stored is None:
        return None
    return StandingClaim(claim=InitClaim(**json.loads(stored.content)), token=stored.token)


def refuse_unless_breakable(store: GraphStore, claim: InitClaim, *, force: bool, has_consent: bool) -> None:
    """Raise unless `--force` may break this claim: its holder is gone, or it is old and the operator consents."""
    if force and claim.is_provably_dead:
        return
    if not force or store.root.is_local or claim.age_seconds < _CLAIM_AGE_SECONDS_MIN:
        raise _claimed(store, claim)
    if not has_consent:
        raise NotConfirmed(
            f"{store.uri} is not local: refusing destructive `init --force` over the claim of another process without "
            "consent (--yes)",
            command="init",
            target=store.uri,
        )


def take_claim(store: GraphStore, *, over: StandingClaim | None) -> InitClaim:
    """Claim the root, over exactly the claim `over` if there is one; raise `InitClaimed` when somebody was faster."""
    claim = InitClaim.of_this_process()
    content = json.dumps(asdict(claim)).encode()
    try:
        if over is None:
            store.objects.create(CLAIM, content)
        else:
            store.objects.replace(CLAIM, content, over.token)
    except (ObjectExists, ObjectChanged):
        standing = read_claim(store)
        raise _claimed(store, standing.claim if standing else None) from None
    return claim


def release_claim(store: GraphStore) -> None:
    """Give the root free; a missing claim is fine."""
    store.objects.delete(CLAIM)


def complete_birth(store: GraphStore, genesis: Commit, reference: SchemaRef) -> None:
    """Write what follows the birth: readable copies, the log entry, and the end of the claim. Harmless to repeat."""
    SchemaStore(store.objects).write_copies(reference)
    CommitLog(store.tables).add(genesis)
    release_claim(store)


def _claimed(store: GraphStore, claim: InitClaim | None) -> InitClaimed:
    who = f"process {claim.pid} on {claim.host}, {claim.age_seconds:.0f} s ago" if claim else "another process"
    return InitClaimed(
        f"{store.uri} is being initialized by {who}. Wait for it; if it is dead, run init with --force.",
        uri=store.uri,
        holder=who,
    )
