"""What checked queries mean: resolved variables, types of expressions, columns, parameters."""

import pyarrow as pa
import pytest

from omnigraph.catalog.model import PropertyType, Scalar
from omnigraph.query.columns import result_schema
from omnigraph.query.typed import (
    Aggregate,
    Condition,
    Constant,
    Delete,
    Fusion,
    Insert,
    NodeReference,
    Now,
    Parameter,
    PropertyRead,
    TextMatch,
    TextScore,
    Travel,
    Update,
    VectorDistance,
)
from support.sailors import check, more_sailors, sailors

SAILORS = sailors()
MORE = more_sailors()


def read(clauses, rest="return { $s.name }", parameters="", catalog=SAILORS):
    return check(f"query q({parameters}) {{ match {{ {clauses} }} {rest} }}", catalog)


def mutation(statements, parameters="", catalog=SAILORS):
    return check(f"query m({parameters}) {{ {statements} }}", catalog).statements


# --- patterns


def test_a_binding_becomes_conditions_and_lists_match_by_membership():
    pattern = read('$s: Sailor { rank: "mate", tags: "nav", id: "x" }').pattern

    assert {name: entity.name for name, entity in pattern.nodes.items()} == {"s": "Sailor"}
    assert [(found.left.property, found.operator, found.right.value) for found in pattern.conditions] == [
        ("rank", "=", "mate"),
        ("tags", "contains", "nav"),
        ("id", "=", "x"),
    ]


def test_binding_a_variable_again_adds_conditions():
    pattern = read('$s: Sailor { rank: "mate" } $s: Sailor { age: 34 }').pattern

    assert list(pattern.nodes) == ["s"]
    assert len(pattern.conditions) == 2


@pytest.mark.parametrize(
    ("clauses", "travel", "types"),
    [
        ("$s servesOn $h", Travel.OUT, {"s": "Sailor", "h": "Ship"}),
        ("$s: Sailor $s servesOn $h", Travel.OUT, {"s": "Sailor", "h": "Ship"}),
        ("$s: Ship $s servesOn $x", Travel.IN, {"s": "Ship", "x": "Sailor"}),
        ("$x: Ship $s servesOn $x", Travel.OUT, {"s": "Sailor", "x": "Ship"}),
        ("$x: Sailor $s servesOn $x", Travel.IN, {"s": "Ship", "x": "Sailor"}),
        ("$s: Sailor $s sERVESoN $h", Travel.OUT, {"s": "Sailor", "h": "Ship"}),
        ("$s <mentors> $x", Travel.BOTH, {"s": "Sailor", "x": "Sailor"}),
        ("$s mentors $s", Travel.OUT, {"s": "Sailor"}),
    ],
)
def test_the_types_of_the_ends_say_which_way_a_traversal_goes(clauses, travel, types):
    pattern = read(clauses, "return { count($s) }").pattern

    assert pattern.traversals[0].travel is travel
    assert {name: entity.name for name, entity in pattern.nodes.items()} == types


def test_hops_are_one_unless_bounds_say_more():
    pattern = read("$s mentors $x $x mentors{2,5} $y").pattern

    assert [(hop.hops_min, hop.hops_max) for hop in pattern.traversals] == [(1, 1), (2, 5)]


def test_an_edge_variable_is_bound_and_an_anonymous_one_is_none():
    pattern = read("$s $m:mentors{1,1} $x $s $_:mentors{1,2} $y").pattern

    assert {name: edge.name for name, edge in pattern.edges.items()} == {"m": "Mentors"}
    assert [hop.edge_variable for hop in pattern.traversals] == ["m", None]


def test_each_anonymous_variable_is_another():
    pattern = read("$s: Sailor $s mentors $_ $s servesOn $_").pattern

    first, second = (hop.right for hop in pattern.traversals)
    assert first != second
    assert [pattern.nodes[name].name for name in (first, second)] == ["Sailor", "Ship"]
    assert not {first, second} & {"_", "s"}


def test_a_negation_is_a_pattern_that_knows_what_it_uses_from_outside():
    pattern = read('$s: Sailor not { $s servesOn $h not { $h.title contains "Sea" } }').pattern

    (outer,) = pattern.negations
    (inner,) = outer.negations
    assert (set(outer.nodes), outer.outer) == ({"h"}, {"s"})
    assert (set(inner.nodes), inner.outer) == (set(), {"h"})


def test_the_examples_of_negation_check():
    for clause in (
        "not { $s servesOn $_ }",
        "not { $s mentors $x  $x.age < 30 }",
        "not { $s mentors{2,2} $x }",
        "not { $s <mentors> $_ }",
        "not { $s.age = $s.age }",
        'not { search($s.bio, "navigation") }',
        "not { $s: Sailor { age: 3 } }",
    ):
        assert read(f"$s: Sailor {clause}").pattern.negations[0].outer == {"s"}


def test_what_is_invisible_outside_can_be_bound_again():
    pattern = read("$s: Sailor not { $s mentors $x } $x: Ship").pattern

    assert pattern.nodes["x"].name == "Ship"


def test_filters_compare_any_two_sides():
    pattern = read(
        '$s: Sailor $s mentors $x $s.age > $x.age "the ice age" contains $s.bio $s.age = 34.5 $p = $s.name '
        '["Ana", "Bo"] contains $s.name [] contains $s.name search($s.bio, $p) = true $s.id != $x.id',
        parameters="$p: String?",
    ).pattern

    assert len(pattern.conditions) == 8
    first = pattern.conditions[0]
    assert isinstance(first, Condition)
    assert (first.left.variable, first.right.variable) == ("s", "x")
    assert pattern.conditions[3].left == Parameter(name="p", type=PropertyType(scalar=Scalar.STRING, nullable=True))


def test_text_clauses_are_conditions():
    search, fuzzy, every = read(
        '$h: Ship search($h.title, "stars") fuzzy($h.title, "Nothern", 0) match_text($h.title, $q)',
        "return { $h }",
        "$q: String",
    ).pattern.conditions

    assert isinstance(search, TextMatch)
    assert (search.function, search.field.property, search.edits) == ("search", "title", None)
    assert (fuzzy.function, fuzzy.edits.value) == ("fuzzy", 0)
    assert isinstance(every.query, Parameter)
    (default,) = read('$h: Ship fuzzy($h.title, "x")', "return { $h }").pattern.conditions
    assert default.edits.value == 2


# --- values


def test_literals_are_what_columns_store():
    conditions = read(
        '$s: Log $s.day = date("1970-01-02") $s.at > datetime("1970-01-01T00:00:01Z") $s.big = 18446744073709551615 '
        "$s.scores contains 1",
        "return { $s.id }",
        catalog=MORE,
    ).pattern.conditions

    assert [found.right.value for found in conditions] == [1, 1000, 2**64 - 1, 1]
    assert conditions[2].right.type.scalar is Scalar.U64


def test_a_list_of_numbers_takes_the_widest_type():
    query = read("$s: Sailor", "return { [1, 2.5] as a, [1, 18446744073709551615] as b, [] as c, [true] as d }")

    types = [str(column.expression.type) for column in query.columns]
    assert types == ["[F64]", "[U64]", "[String]", "[Bool]"]


def test_values_that_fit():
    for clause, parameters in (
        ('{ name: "Ana" }', ""),
        ("{ age: 34 }", ""),
        ("{ age: 34.5 }", ""),
        ("{ age: 99999999999 }", ""),
        ("{ age: $p }", "$p: F64"),
        ("{ rank: $p }", "$p: String"),
        ("{ tags: $p }", "$p: String?"),
    ):
        assert read(f"$s: Sailor {clause}", parameters=parameters)
    assert read("$s: Ship { vec: [1.0, 0.0] }", "return { $s.hull }")
    assert read("$s: Ship { vec: $v }", "return { $s.hull }", "$v: Vector(2)")
    assert read("$s: Log { at: now() }", "return { $s.id }", catalog=MORE)


# --- columns


def test_columns_are_named_as_the_contract_says():
    query = read(
        "$s: Sailor $s servesOn $h",
        "return { $s.name, $s, $p, 3, now() } order { $s.name }",
        "$p: I64",
    )
    aggregates = read("$s: Sailor", "return { $s.rank, count($s), avg($s.age), min($s.name) as first }")
    functions = read(
        "$h: Ship",
        'return { nearest($h.vec, [1, 0]), bm25($h.title, "x"), search($h.title, "x"), fuzzy($h.title, "x"), '
        'match_text($h.title, "x"), rrf(bm25($h.title, "x"), bm25($h.title, "y")) }',
    )

    assert [column.name for column in query.columns] == ["s.name", "s", "p", "literal", "now"]
    assert [column.name for column in aggregates.columns] == ["s.rank", "count(s)", "avg(s.age)", "first"]
    assert [column.name for column in functions.columns] == ["nearest", "bm25", "search", "fuzzy", "match_text", "rrf"]


def test_columns_have_arrow_types():
    query = read(
        "$s: Log",
        "return { $s.id, $s.at, $s.day, $s.small, $s.single, $s.days, $s.made, now(), $p }",
        "$p: [U64]?",
        MORE,
    )

    schema = result_schema(query)

    assert schema.names == ["s.id", "s.at", "s.day", "s.small", "s.single", "s.days", "s.made", "now", "p"]
    assert schema.types == [
        pa.string(),
        pa.timestamp("ms", tz="UTC"),
        pa.date32(),
        pa.uint32(),
        pa.float32(),
        pa.list_(pa.date32()),
        pa.list_(pa.float32(), 3),
        pa.timestamp("ms", tz="UTC"),
        pa.list_(pa.uint64()),
    ]
    assert [field.nullable for field in schema] == [False, False, False, True, True, True, True, False, True]


def test_a_node_is_an_object_of_its_id_and_readable_properties():
    (field,) = result_schema(read("$s: Sailor", "return { $s }"))

    assert [member.name for member in field.type] == ["id", "age", "bio", "name", "rank", "tags"]
    assert not field.nullable


def test_aggregates_have_the_types_of_the_contract():
    query = read(
        "$s: Sailor $s $m:mentors $x",
        "return { count($s), count($s.age), sum($s.age), avg($s.age), min($s.age), max($s.name), min($m.since), "
        "max($s.rank), count($s.tags) }",
    )

    assert [str(column.expression.type.scalar) for column in query.columns] == [
        "I64",
        "I64",
        "F64",
        "F64",
        "I32",
        "String",
        "Date",
        "String",
        "I64",
    ]
    assert query.is_aggregate
    assert all(column.nullable for column in query.columns)


def test_nodes_and_properties_are_group_keys():
    query = read(
        "$s mentors $x",
        "return { $s, $s.tags, count($x) as n } order { n desc }",
    )

    assert [type(column.expression) for column in query.columns] == [NodeReference, PropertyRead, Aggregate]


# --- order and limit


def test_order_keys_are_resolved():
    query = read(
        "$s mentors $x",
        "return { $s.name, count($x) as n } order { n desc, $s.name, count($x) asc } limit 3",
    )

    assert [(key.column, key.descending) for key in query.order] == [(1, True), (0, False), (1, False)]
    assert query.limit == 3


def test_rankings_put_the_best_first():
    text = read("$h: Ship", 'return { $h.title } order { bm25($h.title, "sea"), $h.id }')
    backwards = read("$h: Ship", 'return { bm25($h.title, "sea") as b } order { b asc }')
    vector = read("$h: Ship", "return { $h.title } order { nearest($h.vec, [1.0, 0.0]), $h.title } limit 3")
    fused = read(
        "$h: Ship",
        'return { $h.title } order { rrf(nearest($h.vec, "text"), bm25($h.title, "sea")) } limit $n',
        "$n: U32?",
    )

    assert [key.descending for key in text.order] == [True, False]
    assert isinstance(text.order[0].expression, TextScore)
    assert (backwards.order[0].descending, backwards.order[0].column) == (False, 0)
    assert isinstance(vector.order[0].expression, VectorDistance)
    assert not vector.order[0].expression.embeds
    fusion = fused.order[0].expression
    assert isinstance(fusion, Fusion)
    assert (fusion.first.embeds, fusion.k.value, fusion.variable) == (True, 60, "h")
    assert isinstance(fused.limit, Parameter)


def test_the_alias_of_nearest_orders_like_it():
    query = read(
        "$h: Ship", "return { nearest($h.vec, $q) as d, $h.title } order { d, $h.title } limit 1", "$q: Vector(2)"
    )

    assert isinstance(query.order[0].expression, VectorDistance)
    assert not query.order[0].descending


# --- mutations


def test_statements_are_typed():
    (insert,) = mutation('insert Sailor { name: $n, rank: "mate", tags: [], photo: "base64:" }', "$n: String")
    (update,) = mutation('update Sailor set { age: null, tags: ["a"] } where name = "Bo"')
    (delete,) = mutation("delete Mentors where from = $f", "$f: String")

    assert isinstance(insert, Insert)
    assert [assigned.property for assigned in insert.assignments] == ["name", "rank", "tags", "photo"]
    assert insert.assignments[2].value == Constant(value=(), type=PropertyType(scalar=Scalar.STRING, is_list=True))
    assert isinstance(update, Update)
    assert update.assignments[0].value is None
    assert (update.predicate.property, update.predicate.value.value) == ("name", "Bo")
    assert isinstance(delete, Delete)
    assert (delete.entity.name, delete.predicate.property) == ("Mentors", "from")


def test_an_insert_may_leave_out_what_has_a_default_or_is_pending():
    (insert,) = mutation("insert Log { at: now() }", catalog=MORE)
    (pending,) = mutation("insert Log { at: now(), made: null }", catalog=MORE)

    assert isinstance(insert.assignments[0].value, Now)
    assert pending.assignments[1].value is None


def test_a_node_type_wins_over_an_edge_type_of_the_same_name():
    (insert,) = mutation("insert Twin { n: 1 }", catalog=MORE)

    assert insert.entity.kind == "node"


def test_edges_are_found_by_id_and_ends():
    for name in ("id", "from", "to", "note"):
        assert mutation(f'delete Mentors where {name} != "x"')


def test_values_that_can_be_stored():
    for assigned, parameters in (
        ("tons: 3", ""),
        ("tons: $p", "$p: I64"),
        ("vec: [1, 2]", ""),
        ("vec: $p", "$p: Vector(2)?"),
        ("vec: null", ""),
    ):
        assert mutation(f'update Ship set {{ {assigned} }} where hull = "x"', parameters)
    for assigned, parameters in (
        ("photo: $p", "$p: String"),
        ("photo: $p", "$p: Blob"),
        ("rank: $p", "$p: String"),
        ("tags: $p", "$p: [String]"),
        ("age: $p", "$p: F64"),
    ):
        assert mutation(f'update Sailor set {{ {assigned} }} where name = "x"', parameters)
    assert mutation(
        'insert Log { at: datetime("2026-02-14"), scores: [1, 2.5], days: [date("2026-02-14")], small: 4294967295 }',
        catalog=MORE,
    )


def test_the_mutations_of_the_contract_check():
    for statements in (
        'insert Sailor { name: "Fi", rank: "mate" }',
        'insert Sailor { name: "Bo", rank: "captain" }',
        "update Sailor set { age: 35 } where age = 34",
        'update Sailor set { age: null } where name = "Bo"',
        'update Sailor set { age: 9 } where name = "Zed"',
        'delete Sailor where name = "Ana"',
        'delete Mentors where from = "Ana"',
        'delete Sailor where age = 34 delete Sailor where rank = "mate"',
        'insert ServesOn { from: "Ana", to: "S2" }',
        'insert Mentors { from: "Ed", to: "Gil" } insert Sailor { name: "Gil", rank: "mate" }',
    ):
        assert mutation(statements)
    assert mutation('insert Sailor { name: "H", rank: $r }', "$r: String")
