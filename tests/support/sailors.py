"""The example graph of the query language: its schema, compiled."""

from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from omnigraph.language.query import parse_queries
from omnigraph.query.check import check_query
from omnigraph.query.typed import CheckedQuery

SCHEMA = """\
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    tags: [String]?
    bio: String? @index
    photo: Blob?
}
node Ship {
    hull: String @key
    title: String @index
    tons: F64?
    vec: Vector(2)? @index
}
edge Mentors: Sailor -> Sailor { since: Date?  note: String? }
edge ServesOn: Sailor -> Ship @card(0..1) { berth: I32? }
"""
# What the example graph does not have: other types, several namespaces, defaults, pending vectors.
MORE = """
interface Named { label: String? }
node Log implements Named {
    at: DateTime
    day: Date @default("2020-02-29")
    flag: Bool?
    small: U32?
    big: U64?
    single: F32?
    scores: [F64]?
    days: [Date]?
    text: String?
    made: Vector(3) @embed("text")
    @unique(day)
}
node Twin { n: I32 }
edge Twin: Log -> Log
edge Filed: Sailor -> Log { scan: Blob?  at: DateTime }
"""


def sailors() -> Catalog:
    return compile_schema(SCHEMA, source="sailors.pg", identity_domain="test")


def more_sailors() -> Catalog:
    return compile_schema(SCHEMA + MORE, source="sailors.pg", identity_domain="test")


def check(text: str, catalog: Catalog) -> CheckedQuery:
    """Parse and check a text that holds one query."""
    file = parse_queries(text, source="q.gq")
    (query,) = file.queries
    return check_query(query, catalog, source=file.source)
