"""Schemas that records are tested with, and a way to parse a few lines."""

import json
from collections.abc import Callable

import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from omnigraph.records.parse import ParsedChunk, parse_chunk

THINGS = """
node Thing {
    key: String @key
    flag: Bool?
    small: I32?
    large: I64?
    natural: U32?
    huge: U64?
    single: F32?
    double: F64?
    day: Date?
    moment: DateTime?
    vec: Vector(2)?
    blob: Blob?
    tags: [String]?
    days: [Date]?
    colour: enum(blue, red)?
    level: I32? @default(7)
}
node Must { key: String @key  size: I32  kind: String @default("plain")  @range(size, 0..9) }
edge Link: Thing -> Thing { weight: I32? }
"""
"""A property of every scalar."""

SAILORS = """
node Sailor {
    name: String @key
    rank: enum(captain, deckhand, mate)
    age: I32?
    tags: [String]?
    bio: String?
    photo: Blob?
    @range(age, 0..120)
    @check(bio, "^[A-Z]")
}
node Ship {
    hull: String @key
    title: String
    tons: F64?
    vec: Vector(2)?
}
node Note { text: String }
node Slot { pier: String  number: U32  @key(pier, number) }
edge Mentors: Sailor -> Sailor { since: Date?  note: String? }
edge ServesOn: Sailor -> Ship @card(0..1) { berth: I32? }
"""

EVERYTHING = """
node Thing {
    text: String?
    kind: enum(blue, green)?
    flag: Bool?
    i32: I32?
    i64: I64?
    u32: U32?
    u64: U64?
    f32: F32?
    f64: F64?
    day: Date?
    moment: DateTime?
    blob: Blob?
    vec: Vector(3)?
    texts: [String]?
    flags: [Bool]?
    i32s: [I32]?
    i64s: [I64]?
    u32s: [U32]?
    u64s: [U64]?
    f32s: [F32]?
    f64s: [F64]?
    days: [Date]?
    moments: [DateTime]?
}
node Strict {
    must: I64
    colour: enum(blue, green) @default(blue)
    size: I32? @default(7)
    since: Date @default("2020-02-29")
    source: String?
    vec: Vector(2) @embed("source")
}
edge Likes: Thing -> Thing { weight: F32?  day: Date }
"""


@pytest.fixture(scope="session")
def sailors() -> Catalog:
    return compile_schema(SAILORS, source="sailors.pg", identity_domain="test")


@pytest.fixture(scope="session")
def everything() -> Catalog:
    return compile_schema(EVERYTHING, source="everything.pg", identity_domain="test")


Parse = Callable[..., ParsedChunk]


@pytest.fixture
def parse() -> Parse:
    """Parse records given as Python values, as JSON text or as bytes, one per line."""

    def parse_records(catalog: Catalog, *records: object, first_line: int = 1, file_index: int = 0) -> ParsedChunk:
        lines = [
            record
            if isinstance(record, bytes)
            else (record if isinstance(record, str) else json.dumps(record)).encode()
            for record in records
        ]
        return parse_chunk(b"\n".join(lines), first_line=first_line, file_index=file_index, catalog=catalog)

    return parse_records
