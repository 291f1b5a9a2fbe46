"""What would be run now: a text of the editor, or a stored query."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from omnigraph.base.values import dataclass
from omnigraph.console.asking.fields import FormField, stored_field
from omnigraph.console.asking.looking import LookedAt

if TYPE_CHECKING:
    from omnigraph.client.values import StoredQueryInfo
    from omnigraph.console.sources.protocol import GraphSource
    from omnigraph.graphs.result import Result
    from omnigraph.query.mutate.run import MutationResult
    from omnigraph.query.plan.explain import Explanation
    from omnigraph.query.typed import CheckedRead

Values = Mapping[str, object]


class Runnable(Protocol):
    """A query and how it is run, wherever it comes from."""

    @property
    def title(self) -> str:
        """What it is called, for people."""

    @property
    def is_mutation(self) -> bool:
        """Whether it changes the graph."""

    @property
    def fields(self) -> tuple[FormField, ...]:
        """Its parameters."""

    @property
    def text(self) -> str | None:
        """Its text; None where it is run by its name alone."""

    @property
    def name(self) -> str | None:
        """Which query of the text it is; None where there is only one."""

    @property
    def read(self) -> "CheckedRead | None":
        """Its meaning, where that is known here."""

    async def run(self, source: "GraphSource", values: Values, *, at: str) -> "Result | MutationResult":
        """Run it."""
        ...

    async def explain(self, source: "GraphSource", values: Values, *, at: str) -> "Explanation | None":
        """Run it and say what each step did; None where that cannot be asked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuestion:
    """A query of the editor."""

    text: str
    looked: LookedAt

    @property
    def title(self) -> str:
        """What it is called, for people."""
        return self.looked.chosen or "this query"

    @property
    def is_mutation(self) -> bool:
        """Whether it changes the graph."""
        return self.looked.is_mutation

    @property
    def fields(self) -> tuple[FormField, ...]:
        """Its parameters."""
        return self.looked.fields

    @property
    def name(self) -> str | None:
        """Which query of the text it is."""
        return self.looked.chosen if len(self.looked.names) > 1 else None

    @property
    def read(self) -> "CheckedRead | None":
        """Its meaning."""
        return self.looked.read

    async def run(self, source: "GraphSource", values: Values, *, at: str) -> "Result | MutationResult":
        """Run it."""
        if self.is_mutation:
            return await source.mutate(self.text, self.name, params=values, branch=at)
        return await source.query(self.text, self.name, params=values, at=at)

    async def explain(self, source: "GraphSource", values: Values, *, at: str) -> "Explanation | None":
        """Run it and say what each step did."""
        return await source.explain(self.text, self.name, params=values, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuestion:
    """A query that is kept for the graph; `looked` is what its text says, where that is told."""

    query: "StoredQueryInfo"
    text: str | None
    looked: LookedAt | None

    @property
    def title(self) -> str:
        """What it is called."""
        return self.query.name

    @property
    def is_mutation(self) -> bool:
        """Whether it changes the graph."""
        return self.query.is_mutation

    @property
    def fields(self) -> tuple[FormField, ...]:
        """Its parameters."""
        return tuple(map(stored_field, self.query.parameters))

    @property
    def name(self) -> str | None:
        """Its name."""
        return self.query.name

    @property
    def read(self) -> "CheckedRead | None":
        """Its meaning, where its text is told."""
        return None if self.looked is None else self.looked.read

    async def run(self, source: "GraphSource", values: Values, *, at: str) -> "Result | MutationResult":
        """Run it."""
        return await source.run_stored(self.query, values, at=at)

    async def explain(self, source: "GraphSource", values: Values, *, at: str) -> "Explanation | None":
        """Run it and say what each step did, where its text is told."""
        if self.text is None:
            return None
        return await source.explain(self.text, self.name, params=values, at=at)
