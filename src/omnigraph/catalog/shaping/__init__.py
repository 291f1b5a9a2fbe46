"""From a syntax tree to a checked shape: every rule of the schema language that grammar cannot express."""

from omnigraph.catalog.shaping.schema import shape_schema

__all__ = ["shape_schema"]
