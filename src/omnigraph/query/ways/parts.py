"""What a plan needs of an image: rows of types, columns, and neighbours in one direction or the other."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from omnigraph.catalog.model import TableKey
from omnigraph.query.access import Direction
from omnigraph.query.plan.reading import names_read
from omnigraph.query.plan.steps import Close, Expand, LookUp, Negate, Plan, Scan, Step, Weigh
from omnigraph.query.typed import ID, Travel, Traversal

ROWS, COLUMN, ADJACENCY = "rows", "column", "adjacency"


class ImagePart(NamedTuple):
    """One structure of an image."""

    kind: str
    table_key: TableKey
    name: str = ""
    """Of a column its name, of an adjacency its direction."""

    @property
    def of(self) -> str:
        """Whether its rows are nodes or edges."""
        return self.table_key.partition(":")[0]


def parts_of(plan: Plan) -> tuple[ImagePart, ...]:
    """Return what a plan reads of an image, each once."""
    columns = (
        ImagePart(COLUMN, key, name)
        for key, names in names_read(plan.read).items()
        for name in sorted(names)
        if not (name == ID and key.startswith("node:"))
    )
    return tuple(dict.fromkeys((*_of_steps(plan.steps), *columns)))


def directions(traversal: Traversal, source: str) -> tuple[Direction, ...]:
    """Return in which directions edges are followed from one end of a traversal."""
    if traversal.travel is Travel.BOTH:
        return Direction.OUT, Direction.IN
    is_out = (traversal.travel is Travel.OUT) == (source == traversal.left)
    return (Direction.OUT,) if is_out else (Direction.IN,)


def _of_steps(steps: Iterable[Step]) -> Iterator[ImagePart]:
    for step in steps:
        if isinstance(step, LookUp | Scan):
            yield ImagePart(ROWS, step.entity.table_key)
        elif isinstance(step, Expand):
            yield from _of_traversal(step.traversal, step.source)
        elif isinstance(step, Close):
            yield from _of_traversal(step.traversal, step.traversal.left)
        elif isinstance(step, Negate | Weigh):
            yield from _of_steps(step.steps)


def _of_traversal(traversal: Traversal, source: str) -> Iterator[ImagePart]:
    edge = traversal.edge
    for name in (edge.from_type, edge.to_type):
        yield ImagePart(ROWS, TableKey(f"node:{name}"))
    yield ImagePart(ROWS, edge.table_key)
    for direction in directions(traversal, source):
        yield ImagePart(ADJACENCY, edge.table_key, direction)
