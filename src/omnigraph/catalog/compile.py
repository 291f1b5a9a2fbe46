"""From schema text to catalog: parse, check, number."""

from omnigraph.base.plain_text import plain_text
from omnigraph.catalog.model import Catalog
from omnigraph.catalog.numbering import number_shape
from omnigraph.catalog.shape import SchemaShape
from omnigraph.catalog.shaping import shape_schema
from omnigraph.errors import InvalidName, InvalidTarget
from omnigraph.language.schema import parse_schema


def compile_schema(text: str, *, source: str, identity_domain: str) -> Catalog:
    """Compile the schema of a new graph: all identities are new and rename hints are ignored.

    `source` is the name that messages show. Raises `ParseError` with every mistake of the text.
    """
    return number_shape(compile_shape(text, source=source), identity_domain=identity_domain)


def compile_shape(text: str, *, source: str) -> SchemaShape:
    """Parse and check a schema without numbering it, as a migration needs it."""
    plain_text(source, what="The name of the schema", refusal=lambda reason: InvalidName(reason, name=ascii(source)))
    if not isinstance(text, str):
        raise InvalidTarget(f"A schema is text, not {type(text).__name__}.")
    return shape_schema(parse_schema(text, source=source))
