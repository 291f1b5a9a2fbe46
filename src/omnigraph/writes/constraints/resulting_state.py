"""The state that a write would produce, as named steps of one SQL statement over key columns.

A step is put into the statement when somebody asks for its name, and a relation is read only if a step refers to it.
What the rows are is for loads, merges and stored states to say; how a statement is put together is said here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from omnigraph.catalog.model import EdgeType, EntityType, NodeType
from omnigraph.engine.interface import Produced, Relation

NO_PLACE = "CAST(NULL AS BIGINT) AS position, CAST(NULL AS INT) AS file, CAST(NULL AS BIGINT) AS line"
"""Where a row stands that no input has."""


class ResultingState(ABC):
    """Builds one statement; `stored` describes the key columns that a type has in storage."""

    def __init__(self, stored: Callable[[EntityType], Produced]) -> None:
        self.relations: dict[str, Relation] = {}
        self._stored = stored
        self._steps: dict[str, str] = {}

    def step(self, name: str, text: str) -> str:
        """Give a query a name."""
        self._steps.setdefault(name, text)
        return name

    def statement(self, select: str) -> str:
        """Put the steps in front of a query."""
        steps = ", ".join(f"{name} AS ({text})" for name, text in self._steps.items())
        return f"WITH {steps} {select}" if steps else select

    def stored(self, entity: EntityType) -> str:
        """Name the stored rows of a type."""
        name = f"s{number_of(entity)}"
        if name not in self.relations:
            self.relations[name] = self._stored(entity)
        return name

    @abstractmethod
    def incoming(self, entity: EntityType) -> str:
        """Name the written rows of a type: key columns, `position`, `file` and `line`."""

    @abstractmethod
    def kept(self, entity: EntityType) -> str:
        """Name the stored rows of a type that stay as they are: key columns."""

    @abstractmethod
    def ids_afterwards(self, entity: EntityType) -> str:
        """Name the ids that a type will have; one may occur twice."""

    @abstractmethod
    def lost(self, node: NodeType) -> str:
        """Name the ids that a type has now and will not have afterwards."""

    @abstractmethod
    def touched_sources(self, edge: EdgeType) -> str:
        """Return a query for the sources, as `src`, whose number of edges may change; one may occur twice."""


def number_of(entity: EntityType) -> str:
    """Return what the relations of a type are called by."""
    return f"{entity.kind[0]}{entity.type_id}"
