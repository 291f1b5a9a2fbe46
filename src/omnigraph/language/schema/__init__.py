"""The schema language: parse a `.pg` text into a syntax tree, and print a tree in its canonical spelling."""

from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.printer import format_schema
from omnigraph.language.schema.syntax import SchemaSyntax

__all__ = ["SchemaSyntax", "format_schema", "parse_schema"]
