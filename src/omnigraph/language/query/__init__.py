"""The query language: parse a `.gq` text into a syntax tree, and spell a tree as text again."""

from omnigraph.language.query.parser import parse_queries
from omnigraph.language.query.spelling import spell_queries
from omnigraph.language.query.syntax import QueryFileSyntax

__all__ = ["QueryFileSyntax", "parse_queries", "spell_queries"]
