"""Following `@rename_from` hints: which accepted name a declared name continues.

Equal names match first. A hint speaks only for a declaration whose own name is new, so a hint that has been applied
can stay in the source.
"""

from collections.abc import Callable, Collection, Mapping

from omnigraph.base.values import dataclass
from omnigraph.catalog.migration.codes import ChangeCode, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedHint:
    """A `@rename_from` that had no effect; `str()` is the sentence for people."""

    entity: str
    hint: str
    reason: str

    def __str__(self) -> str:
        return f'@rename_from("{self.hint}") on {self.entity} is ignored: {self.reason}'


class Hints:
    """Follows the hints of one schema, and remembers which were not needed and which lead nowhere."""

    def __init__(self) -> None:
        self.unused: list[UnusedHint] = []
        self._failures: list[tuple[str, str]] = []

    def match(
        self,
        hint_by_name: Mapping[str, str | None],
        accepted: Collection[str],
        *,
        entity: Callable[[str], str],
        absence: Callable[[str], str],
    ) -> dict[str, str]:
        """Return the accepted name of every declared name that continues one.

        `entity` spells a declared name for messages; `absence` says why a hinted name is not in `accepted`.
        """
        accepted_name = {name: name for name in hint_by_name if name in accepted}
        taken_by = dict(accepted_name)
        for name, hint in hint_by_name.items():
            if hint is None:
                continue
            if name in accepted:
                reason = f"the accepted schema has {entity(name)} already"
                self.unused.append(UnusedHint(entity=entity(name), hint=hint, reason=reason))
            elif hint not in accepted:
                self.fail(entity(name), hint, absence(hint))
            elif hint in taken_by:
                self.fail(entity(name), hint, f"{hint} already continues as {entity(taken_by[hint])}")
            else:
                accepted_name[name] = hint
                taken_by[hint] = name
        return accepted_name

    def fail(self, entity: str, hint: str, reason: str) -> None:
        """Note a hint that cannot be followed."""
        self._failures.append((entity, f'@rename_from("{hint}") on {entity} cannot be followed: {reason}'))

    def raise_if_any_failed(self) -> None:
        """Raise one `UnsupportedSchemaChange` with all failures, in the order in which they were found."""
        if self._failures:
            entity, _ = self._failures[0]
            reasons = (reason for _, reason in self._failures)
            raise refusal(reasons, code=ChangeCode.HINT_UNRESOLVED, entity=entity)
