"""What tasks need on a worker travels with them: the session's own environment is its owner's, and stays as it is."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.engine.spark import arrival

_THREADS = MappingProxyType({"LANCE_CPU_THREADS": "1", "LANCE_IO_THREADS": "4"})
"""A worker is one of as many processes as there are cores: its Lance must not start as many threads again."""


OverBatches: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OverGroups: TypeAlias = Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baggage:
    """What every task of an engine takes along; its values, which may be keys, are in no printed form."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that a worker gets if it has none of that name."""
    path: tuple[str, ...] = ()

    @classmethod
    def of(cls, session: Any, variables: Mapping[str, str], environ: Mapping[str, str]) -> "Baggage":
        """Pack for the workers of a session.

        A Connect server has its own executors, whose environment is its operator's business, and what a client sends
        there is part of a plan: nothing goes there.
        """
        context = getattr(session, "_sc", None)
        if context is None:
            return cls()
        if not context.master.startswith("local"):
            return cls(variables=variables)
        return cls(variables=variables, defaults=_THREADS, path=driver_path(environ))

    def over_batches(self, runner: OverBatches) -> OverBatches:
        """Make a function for `mapInArrow` of a runner."""
        return arrival.over_batches(self._sealed(runner))

    def over_groups(self, runner: OverGroups) -> OverGroups:
        """Make a function for `applyInArrow` of a runner."""
        return arrival.over_groups(self._sealed(runner))

    def _sealed(self, runner: Any) -> arrival.Sealed:
        from pyspark import cloudpickle

        pickle: Any = cloudpickle
        pickle.register_pickle_by_value(sys.modules[arrival.__name__])
        return arrival.sealed(pickle.dumps(runner), dict(self.variables), dict(self.defaults), self.path)


def driver_path(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return where this process finds the package, which may be on its own path only, and what else it was told of."""
    package_root = str(Path(__file__).parents[3])
    return (package_root, *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep)))
