"""Small random graphs and reads that fit their schema: nulls, parallel edges, self-loops, types without rows."""

import io
import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from omnigraph.catalog.arrow import table_schema
from omnigraph.catalog.compile import compile_schema
from omnigraph.catalog.model import Catalog
from support.naive_query import NaiveGraph

SCHEMA = """\
node Person {
    name: String @key
    rank: enum(low, mid, top)?
    age: I32?
    big: I64?
    huge: U64?
    score: F64?
    ratio: F32?
    is_old: Bool?
    born: Date?
    seen: DateTime?
    note: String?
    tags: [String]?
    years: [I32]?
}
node Place { title: String  size: I32? }
node Ghost { key: String @key  age: I32? }
edge Knows: Person -> Person { since: Date?  weight: F64?  word: String? }
edge LivesIn: Person -> Place { years: I32? }
edge Near: Place -> Place
edge Haunts: Ghost -> Place { nights: I32? }
"""

_WORDS = ["", "a", "ab", "b", "B", "é", "%", "zz"]
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "enum": st.sampled_from(["low", "mid", "top"]),
    "I32": st.sampled_from([-1, 0, 1, 2, 34, 2**31 - 1]),
    "I64": st.sampled_from([-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1]),
    "U64": st.sampled_from([0, 1, 2**53 + 1, 2**63, 2**64 - 1]),
    "F64": st.sampled_from([-1.5, -0.0, 0.0, 0.5, 1.0, 2.0, 9007199254740992.0, 1e300]),
    "F32": st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0, 0.10000000149011612]),
    "Bool": st.booleans(),
    "Date": st.sampled_from([-1, 0, 18_000, 19_000]),
    "DateTime": st.sampled_from([-1, 0, 1_500_000_000_000, 1_500_000_000_001]),
    "String": st.sampled_from(_WORDS),
    "[String]": st.lists(st.sampled_from(_WORDS), max_size=3),
    "[I32]": st.lists(st.sampled_from([-1, 0, 2]), max_size=3),
}
PROPERTIES = {
    "Person": {
        "rank": "enum", "age": "I32", "big": "I64", "huge": "U64", "score": "F64", "ratio": "F32", "is_old": "Bool",
        "born": "Date", "seen": "DateTime", "note": "String", "tags": "[String]", "years": "[I32]",
    },
    "Place": {"title": "String", "size": "I32"},
    "Ghost": {"age": "I32"},
    "Knows": {"since": "Date", "weight": "F64", "word": "String"},
    "LivesIn": {"years": "I32"},
    "Near": {},
    "Haunts": {"nights": "I32"},
    "Path": {"hops": "I64"},
}  # fmt: skip
REQUIRED = {("Place", "title")}
KEYS = {"Person": "name", "Ghost": "key"}
EDGES = {
    "Knows": ("Person", "Person"),
    "LivesIn": ("Person", "Place"),
    "Near": ("Place", "Place"),
    "Haunts": ("Ghost", "Place"),
}
_IDS = {"Person": ["p0", "p1", "P2", "é3", "p4"], "Place": ["x0", "x1", "x2"], "Ghost": ["g0"]}
_NUMBERS = ("I32", "I64", "U64", "F64", "F32")


def catalog() -> Catalog:
    return compile_schema(SCHEMA, source="world.pg", identity_domain="world")


@st.composite
def graphs(draw: st.DrawFn) -> NaiveGraph:
    """A graph with few entities; ghosts rarely exist."""
    graph = NaiveGraph(nodes={}, edges={})
    for type_name, ids in _IDS.items():
        count = draw(st.integers(0, len(ids)))
        graph.nodes[type_name] = {node_id: _node(draw, type_name, node_id) for node_id in ids[:count]}
    for type_name, (source, target) in EDGES.items():
        sources, targets = graph.ids(source), graph.ids(target)
        ends = st.tuples(st.sampled_from(sources), st.sampled_from(targets)) if sources and targets else None
        pairs = draw(st.lists(ends, max_size=8)) if ends is not None else []
        graph.edges[type_name] = {
            f"{type_name[0]}{9 - place}": {"src": pair[0], "dst": pair[1], **_properties(draw, type_name)}
            for place, pair in enumerate(pairs)
        }
    return graph


def _node(draw: st.DrawFn, type_name: str, node_id: str) -> dict[str, Any]:
    key = {KEYS[type_name]: node_id} if type_name in KEYS else {}
    return {**key, **_properties(draw, type_name)}


def _properties(draw: st.DrawFn, type_name: str) -> dict[str, Any]:
    found = {}
    for name, kind in PROPERTIES[type_name].items():
        values = _VALUES[kind]
        found[name] = draw(values if (type_name, name) in REQUIRED else st.none() | values)
    return found


def merged(first: NaiveGraph, second: NaiveGraph) -> NaiveGraph:
    """The entities of both graphs; of those that both have, the second's."""
    return NaiveGraph(
        nodes={name: {**rows, **second.nodes[name]} for name, rows in first.nodes.items()},
        edges={name: {**rows, **second.edges[name]} for name, rows in first.edges.items()},
    )


def tables(graph: NaiveGraph, world: Catalog) -> dict[str, pa.Table]:
    """The rows of a graph as Arrow tables by table key."""
    found = {}
    for entity in world.entity_types():
        rows = (graph.nodes if entity.kind == "node" else graph.edges).get(entity.name, {})
        listed = [{"id": entity_id, **row} for entity_id, row in rows.items()]
        found[entity.table_key] = pa.Table.from_pylist(listed, schema=table_schema(entity))
    return found


def records(graph: NaiveGraph) -> io.BytesIO:
    """The rows of a graph as load reads them."""
    lines = []
    for type_name, nodes in graph.nodes.items():
        lines += [{"type": type_name, "data": {"id": node_id, **row}} for node_id, row in nodes.items()]
    for type_name, edges in graph.edges.items():
        for edge_id, row in edges.items():
            data = {"id": edge_id, **{name: value for name, value in row.items() if name not in ("src", "dst")}}
            lines.append({"edge": type_name, "from": row["src"], "to": row["dst"], "data": data})
    return io.BytesIO("".join(f"{json.dumps(line)}\n" for line in lines).encode())


class Reads:
    """Draws the text of one read; variables are known with their types as they come up."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.nodes: dict[str, str] = {}
        self.edges: dict[str, str] = {}
        self._names = iter("abcdefghijklmnop")

    def text(self) -> str:
        clauses = [self.binding()]
        clauses += [self.clause(depth=0) for _ in range(self.draw(st.integers(0, 3)))]
        return f"match {{ {' '.join(clauses)} }} {self.ending()}"

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    # --- clauses

    def clause(self, depth: int) -> str:
        kind = self.pick("traversal", "traversal", "filter", "filter", "binding", "negation")
        if kind == "binding" and len(self.nodes) < 3:
            return self.binding()
        if kind == "negation" and depth < 2:
            return self.negation(depth)
        return self.traversal() if kind == "traversal" and len(self.nodes) < 4 else self.filter()

    def binding(self) -> str:
        known = self.pick(None, None, *self.nodes)
        type_name = self.nodes[known] if known else self.pick("Person", "Person", "Place", "Ghost")
        name = known or self.fresh()
        self.nodes[name] = type_name
        matches = ""
        if self.draw(st.booleans()):
            matches = f" {{ {self.inline(type_name)} }}"
        return f"${name}: {type_name}{matches}"

    def inline(self, type_name: str) -> str:
        choices = [*PROPERTIES[type_name], "id", *([KEYS[type_name]] if type_name in KEYS else [])]
        name = self.pick(*choices)
        kind = PROPERTIES[type_name].get(name, "key")
        return f"{name}: {self.literal(kind.strip('[]'), type_name)}"

    def fresh(self) -> str:
        return next(self._names)

    def traversal(self) -> str:
        edge = self.pick("Knows", "Knows", "Knows", "LivesIn", "Near", "Haunts")
        source, target = EDGES[edge]
        is_same = source == target
        left = self.end(source)
        right = self.end(target)
        word = edge[0].lower() + edge[1:]
        is_undirected = is_same and self.pick(True, False, False)
        ends = (right, left) if not is_same and self.pick(True, False) and "$_" not in (left, right) else (left, right)
        edge_word = f"<{word}>" if is_undirected else word
        bounds = self.pick("", "", "{1,1}", "{1,2}", "{2,2}", "{2,3}", "{1,4}")
        bound = ""
        if bounds == "" and PROPERTIES[edge] and self.pick(True, False, False):
            name = self.fresh()
            bound = f"${name}:"
            self.edges[name] = edge
        elif bounds and self.pick(True, False):
            name = self.fresh()
            bound = f"${name}:shortest "
            self.edges[name] = "Path"
        return f"{ends[0]} {bound}{edge_word}{bounds} {ends[1]}"

    def end(self, type_name: str) -> str:
        known = [name for name, found in self.nodes.items() if found == type_name]
        choice = self.pick("known", "known", "new", "any") if known else self.pick("new", "any")
        if choice == "known":
            return f"${self.pick(*known)}"
        if choice == "any":
            return "$_"
        name = self.fresh()
        self.nodes[name] = type_name
        return f"${name}"

    def filter(self) -> str:
        left, kind, owner = self.access()
        if kind.startswith("["):
            return f"{left} contains {self.literal(kind.strip('[]'), owner)}"
        if kind in ("String", "key") and self.pick(True, False):
            return f"{left} {self.pick('contains', 'starts_with')} {self.literal(kind, owner)}"
        operator = self.pick("=", "!=", "<", "<=", ">", ">=")
        others = [found for found in self.accesses() if _is_like(found[1], kind)]
        if others and self.draw(st.booleans()):
            return f"{left} {operator} {self.pick(*others)[0]}"
        sides = (left, self.literal(kind, owner))
        return (
            f"{sides[0]} {operator} {sides[1]}" if self.pick(True, True, False) else f"{sides[1]} {operator} {sides[0]}"
        )

    def negation(self, depth: int) -> str:
        inner = Reads(self.draw)
        inner.nodes, inner.edges = dict(self.nodes), dict(self.edges)
        inner._names = self._names
        clauses = [inner.filter() if self.pick(True, False) else inner.outer_traversal(list(self.nodes))]
        clauses += [inner.clause(depth + 1) for _ in range(self.draw(st.integers(0, 1)))]
        return f"not {{ {' '.join(clauses)} }}"

    def outer_traversal(self, outer: list[str]) -> str:
        name = self.pick(*outer)
        fitting = [(edge, ends) for edge, ends in EDGES.items() if ends[0] == self.nodes[name]]
        if not fitting:
            return self.filter()
        edge, (_, target) = self.pick(*fitting)
        word = edge[0].lower() + edge[1:]
        return f"${name} {word}{self.pick('', '{2,3}', '{1,2}')} {self.end(target)}"

    # --- values

    def accesses(self) -> list[tuple[str, str, str]]:
        found = []
        for name, type_name in {**self.nodes, **self.edges}.items():
            found += [(f"${name}.{prop}", kind, type_name) for prop, kind in PROPERTIES[type_name].items()]
            if name in self.nodes:
                found.append((f"${name}.id", "key", type_name))
        return found

    def access(self) -> tuple[str, str, str]:
        found: tuple[str, str, str] = self.pick(*self.accesses())
        return found

    def literal(self, kind: str, owner: str) -> str:
        match kind:
            case "key":
                return json.dumps(self.pick(*_IDS.get(owner, ["p0"]), "p", ""), ensure_ascii=False)
            case "enum":
                return json.dumps(self.pick("low", "mid", "top"), ensure_ascii=False)
            case "String":
                return json.dumps(self.pick(*_WORDS), ensure_ascii=False)
            case "Bool":
                return self.pick("true", "false")
            case "Date":
                return self.pick('date("1970-01-01")', 'date("2019-04-14")', 'date("2030-01-01")')
            case "DateTime":
                return self.pick('datetime("1970-01-01T00:00:00Z")', 'datetime("2017-07-14T02:40:00.001Z")', "now()")
        return str(self.pick(-1, 0, 1, 2, 34, 0.5, 34.5, 2**53 + 1, 2**63, 9007199254740993, 0.1))

    # --- what comes out

    def ending(self) -> str:
        if self.pick(True, True, False):
            return self.plain_ending()
        return self.grouped_ending()

    def plain_ending(self) -> str:
        columns = [f"{access} as c{place}" for place, (access, _, _) in enumerate(self.some(self.accesses(), 1, 3))]
        if self.pick(True, False, False):
            columns.append(f"${self.pick(*self.nodes)} as whole")
        keys = [found for found in self.accesses() if not found[1].startswith("[")]
        return f"return {{ {', '.join(columns)} }}{self.order([key[0] for key in keys])}{self.limit()}"

    def grouped_ending(self) -> str:
        keys = self.some(self.accesses(), 0, 2)
        columns = [f"{access} as k{place}" for place, (access, _, _) in enumerate(keys)]
        if self.pick(True, False, False):
            columns.append(f"${self.pick(*self.nodes)} as whole")
        aggregates = [f"count(${self.pick(*self.nodes)}) as n"]
        for place, (access, kind, _) in enumerate(self.some(self.accesses(), 0, 2)):
            functions = ["count"]
            if kind in _NUMBERS:
                functions += ["sum", "avg", "min", "max"]
            elif kind in ("String", "enum", "Date", "DateTime", "key"):
                functions += ["min", "max"]
            aggregates.append(f"{self.pick(*functions)}({access}) as a{place}")
        names = [f"k{place}" for place, key in enumerate(keys) if not key[1].startswith("[")]
        names += [each.rpartition(" ")[2] for each in aggregates]
        return f"return {{ {', '.join([*columns, *aggregates])} }}{self.order(names)}{self.limit()}"

    def some(self, options: list[Any], low: int, high: int) -> list[Any]:
        return self.draw(st.lists(st.sampled_from(options), min_size=low, max_size=high, unique=True))

    def order(self, options: list[str]) -> str:
        keys = self.some(options, 0, 2) if options else []
        directed = [f"{key}{self.pick('', ' asc', ' desc')}" for key in keys]
        return f" order {{ {', '.join(directed)} }}" if directed else ""

    def limit(self) -> str:
        return self.pick("", "", " limit 0", " limit 1", " limit 3")


def _is_like(one: str, other: str) -> bool:
    texts = ("String", "key", "enum")
    return (one in _NUMBERS and other in _NUMBERS) or (one in texts and other in texts) or one == other


@st.composite
def reads(draw: st.DrawFn) -> str:
    """The text of one read without parameters."""
    return Reads(draw).text()
