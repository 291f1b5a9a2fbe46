"""What an engine can do. An engine never commits, locks or publishes: it returns values to its caller."""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

Relations = Mapping[str, pa.Table | pa.RecordBatchReader]
"""Named Arrow relations that a statement may refer to."""


class Engine(Protocol):
    """Runs relational steps over Arrow relations."""

    @property
    def name(self) -> str:
        """What users call this engine."""
        ...

    def sql(self, relations: Relations, statement: str) -> pa.Table:
        """Run one statement; every relation it names must be given. Results are small: violations, counts, matches."""
        ...
