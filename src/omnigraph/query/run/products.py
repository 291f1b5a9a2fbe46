"""Rows of variables that nothing connects: every one meets every other, a block of rows at a time.

Two types of a hundred thousand nodes make ten thousand million pairs. What follows leaves few of them, as a rule: a
condition, a limit, the first of an order. So the steps behind a large product run once for each block of it, and only
what they leave is kept.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from omnigraph.base.values import dataclass
from omnigraph.errors import ResourceLimit
from omnigraph.query.access import Ordinals
from omnigraph.query.plan.steps import Scan
from omnigraph.query.run.rows import Rows

BLOCK_ROWS: Final = 1 << 20
BLOCK_VALUES: Final = 1 << 23
"""How many values a block has, however many variables its rows are of."""
DEPTH_MAX: Final = 32
"""How many products may be made in blocks inside of each other: every one of them holds a block."""
ROWS_MAX: Final = 100_000_000
"""How many rows of products are kept: their columns alone take a gigabyte."""


class LargeProduct(Exception):
    """More rows than should be there at once; whoever runs the steps goes through them in blocks."""

    def __init__(self, step: Scan, rows: Rows, nodes: Ordinals) -> None:
        super().__init__("a product of rows that is to be made in blocks")
        self.step = step
        self.rows = rows
        self.nodes = nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of all rows is wanted: their first `enough`, or those that `keep` leaves, block by block and in the end."""

    enough: int | None = None
    keep: Callable[[Rows], Rows] | None = None
    depth: int = 0
    """Inside of how many products in blocks this one is made."""

    @property
    def is_all(self) -> bool:
        """Whether every row is."""
        return self.enough is None and self.keep is None

    def deeper(self) -> "Wanted":
        """Return the same for the steps behind a product that is made in blocks."""
        return replace(self, depth=self.depth + 1)


ALL: Final = Wanted()


def product_of(step: Scan, rows: Rows, nodes: Ordinals) -> Rows:
    """Let every row meet every node; raises `LargeProduct` for more than a block."""
    if rows.count == 1 and rows.weights is None and all(isinstance(column, int) for column in rows.columns.values()):
        return Rows(len(nodes), {**rows.columns, step.variable: nodes})
    if rows.count > 1 and rows.count * len(nodes) > _block_rows(rows):
        raise LargeProduct(step, rows, nodes)
    return _met(step, rows, nodes)


def in_blocks(product: LargeProduct, finish: Callable[[Rows], Rows] | None, wanted: Wanted) -> Rows:
    """Make a product block by block; `finish` runs the steps behind it, None if there are none."""
    step, rows, nodes = product.step, product.rows, product.nodes
    if finish is None and wanted.is_all and rows.count * len(nodes) > ROWS_MAX:
        raise _too_large(product)
    if wanted.depth >= DEPTH_MAX:
        raise _too_deep()
    at_once = max(_block_rows(rows) // len(nodes), 1)
    parts: list[Rows] = []
    count = 0
    for start in range(0, rows.count, at_once):
        block = _met(step, rows.at(np.arange(start, min(start + at_once, rows.count))), nodes)
        block = block if finish is None else finish(block)
        if wanted.keep is not None:
            # The best of all are among the best of what was kept and the best of this block.
            block = wanted.keep(joined([*parts, wanted.keep(block)]))
            parts, count = [], 0
        if block.count:
            parts.append(block)
            count += block.count
        if wanted.enough is not None and count >= wanted.enough:
            break
        if count > ROWS_MAX:
            raise _too_large(product)
    if not parts:
        nothing = _met(step, rows.nothing(), nodes[:0])
        return nothing if finish is None else finish(nothing)
    return joined(parts)


def _block_rows(rows: Rows) -> int:
    """Return how many rows a block has to which another variable comes."""
    return min(BLOCK_ROWS, max(BLOCK_VALUES // (len(rows.columns) + 1), 1))


def _met(step: Scan, rows: Rows, nodes: Ordinals) -> Rows:
    spread = rows.at(np.repeat(np.arange(rows.count), len(nodes)))
    spread.columns[step.variable] = np.tile(nodes, rows.count)
    return spread


def joined(parts: list[Rows]) -> Rows:
    """Put rows with the same variables one below the other."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([part.values(name) for part in parts]) for name in parts[0].columns}
    weights = None
    if any(part.weights is not None for part in parts):
        each = [np.ones(part.count, np.int64) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(each)
    return Rows(sum(part.count for part in parts), {**columns}, weights)


def _too_deep() -> ResourceLimit:
    """Refuse far more rows than anybody can go through, before the blocks of all these products fill the memory."""
    return ResourceLimit(
        f"query: nothing connects its variables, and the rows of more than {DEPTH_MAX} of them go together in more "
        "ways than can be gone through. Connect them by edges or conditions, or ask for fewer at once.",
        resource="query_products",
        limit=DEPTH_MAX,
        actual=DEPTH_MAX + 1,
    )


def _too_large(product: LargeProduct) -> ResourceLimit:
    others = [f"${name}" for name in product.rows.columns if "#" not in name]
    rows_made = product.rows.count * len(product.nodes)
    variables = " and ".join([", ".join(others) or "every row", f"${product.step.variable}"])
    return ResourceLimit(
        f"query: nothing narrows down how {variables} go together: that makes {rows_made:,} rows, of which "
        f"{ROWS_MAX:,} are kept at most. Connect them by an edge or a condition, count them instead of listing them, "
        "or give a limit.",
        resource="query_rows",
        limit=ROWS_MAX,
        actual=rows_made,
    )
