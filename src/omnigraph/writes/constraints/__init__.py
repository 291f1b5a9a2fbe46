"""The rules that a graph must satisfy as a whole: uniqueness, endpoints, cardinality.

Each check is one SQL statement over named relations, judged on the state a write would produce. The same statements
serve load, mutation and merge, on any engine.
"""

from omnigraph.writes.constraints.check import check_deltas

__all__ = ["check_deltas"]
