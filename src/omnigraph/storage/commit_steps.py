"""Large changes in several commits, so that none of them needs memory for more than so many rows.

For every row that the new files of an update bring, Lance looks up in the memory of whoever commits in which version
that row was made: a hundred bytes for each, all at once. So new files hold no more rows than one commit should bring,
and many of them come in steps: the first ones only add files, and the last one also removes what all of them replace.
Nobody reads a state in between, since the graph pins the last one; whoever dies on the way is rolled back.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from omnigraph.base.grouping import fitted

REWRITTEN_ROWS_MAX: Final = 7 << 15
"""How many rows a file holds that replaces rows, and a commit brings: Lance's tables of rows double at 7 times 2^n."""
_STEPS_MAX = 16
"""In every step Lance looks through the row ids of the whole table, so more would take longer than they spare."""

Written = TypeVar("Written")


def in_steps(written: Sequence[Written], rows: Sequence[int]) -> list[tuple[Written, ...]]:
    """Divide new files, of so many rows each, among commits; one that adds no file is a step as well."""
    most = max(REWRITTEN_ROWS_MAX, -(-sum(rows) // _STEPS_MAX))
    groups = fitted(zip(written, rows, strict=True), (lambda pair: pair[1], most))
    return [tuple(file for file, _ in group) for group in groups] or [()]
