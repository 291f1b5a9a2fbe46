"""The one place where health spells commands: exact, and quoted so that a shell reads them as they are meant."""

import shlex

from omnigraph.base.values import dataclass
from omnigraph.manifest.commits import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The commands for one graph."""

    uri: str

    def look_again(self) -> str:
        """See whether what was restored by hand is in order."""
        return _spell("health", self.uri)

    def verify(self, branch: str | None) -> str:
        """See everything that is lost, and what is left."""
        return _spell("verify", self.uri, *_on(branch))

    def optimize(self, branch: str | None) -> str:
        """Merge fragments and build indexes."""
        return _spell("optimize", self.uri, *_on(branch))

    def optimize_all_branches(self) -> str:
        """Merge fragments and build indexes everywhere."""
        return _spell("optimize", self.uri, "--all-branches")

    def repair(self, branch: str | None) -> str:
        """Look at drift; repairing itself needs the consent of whoever has seen it."""
        return _spell("repair", self.uri, *_on(branch))

    def recover(self) -> str:
        """Settle interrupted writes."""
        return _spell("recover", self.uri)

    def embed(self, type_name: str | None, branch: str | None) -> str:
        """Fill missing vectors of one type, or of all of them."""
        chosen = ("--type", type_name) if type_name is not None else ()
        return _spell("embed", self.uri, *chosen, *_on(branch))

    def export(self, table_key: str, branch: str | None) -> str:
        """Write out the rows of one table, for somebody to correct."""
        return _spell("export", self.uri, "--type", table_key, *_on(branch))

    def preview_cleanup(self) -> str:
        """Show what can be removed and what keeps it from being told."""
        return _spell("cleanup", self.uri)

    def cleanup(self) -> str:
        """Remove old versions."""
        return _spell("cleanup", self.uri, "--confirm")

    def merge(self, branch: str, *, into: str = MAIN_BRANCH, deletes: bool = False) -> str:
        """Bring what is on a branch to where it came from."""
        target = () if into == MAIN_BRANCH else ("--into", into)
        return _spell(
            "branch", "merge", "--store", self.uri, branch, *target, *(("--delete-branch",) if deletes else ())
        )

    def delete(self, branch: str) -> str:
        """Delete a branch with everything that is only on it."""
        return _spell("branch", "delete", "--store", self.uri, branch)


def _on(branch: str | None) -> tuple[str, ...]:
    return () if branch in {None, MAIN_BRANCH} else ("--branch", str(branch))


def _spell(*words: str) -> str:
    return shlex.join(("omnigraph", *words))
