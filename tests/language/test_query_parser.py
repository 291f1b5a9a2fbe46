"""What the query language accepts and refuses, before any schema is known."""

import pytest

from omnigraph.errors import ParseError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import (
    AccessSyntax,
    AggregateSyntax,
    AliasSyntax,
    BindingSyntax,
    CallSyntax,
    DeleteSyntax,
    FilterSyntax,
    InsertSyntax,
    ListSyntax,
    LiteralSyntax,
    MomentSyntax,
    NegationSyntax,
    NowSyntax,
    NullSyntax,
    TextClauseSyntax,
    TraversalSyntax,
    UpdateSyntax,
    VariableSyntax,
)


def parse(text):
    return parse_queries(text, source="q.gq")


def only(text):
    (query,) = parse(text).queries
    return query


def clauses(text):
    return only(f"match {{ {text} }} return {{ $s }}").body.clauses


def clause(text):
    (found,) = clauses(text)
    return found


def projections(text):
    return [found.expression for found in only(f"match {{ $s: S }} return {{ {text} }}").body.projections]


def refusal(text):
    with pytest.raises(ParseError) as refused:
        parse(text)
    return refused.value


def place(error):
    return error.details["line"], error.details["column"]


# --- files and queries


def test_an_empty_file_holds_no_queries():
    assert parse("").queries == parse(" // nothing\n/* at all */").queries == ()


def test_a_file_holds_any_number_of_queries():
    file = parse("query a() { match { $s: S } return { $s } }\nquery B_2() { delete S where id = 1 }")

    assert [query.name.text for query in file.queries] == ["a", "B_2"]


def test_a_byte_order_mark_is_skipped():
    assert only("\ufeffquery q() { match { $s: S } return { $s } }").name.text == "q"


def test_a_bare_read_is_called_underscore():
    query = only("match { $s: S } return { $s } order { $s.a } limit 3")

    assert (query.name.text, query.is_bare, query.parameters) == ("_", True, ())


def test_a_bare_read_stands_alone():
    error = refusal("match { $s: S } return { $s } query q() { delete S where id = 1 }")

    assert "expected the end of the text" in error.message


def test_annotations_stand_between_parameters_and_body():
    query = only('query q() @instruction("do") @description("is \\"it\\"") { match { $s: S } return { $s } }')

    assert (query.description, query.instruction) == ('is "it"', "do")


@pytest.mark.parametrize("name", ["description", "instruction"])
def test_a_repeated_annotation_is_an_error_that_names_the_query(name):
    error = refusal(f'query twice() @{name}("a") @{name}("b") {{ match {{ $s: S }} return {{ $s }} }}')

    assert "`twice`" in error.message
    assert f"@{name}" in error.message


def test_two_queries_of_one_name_are_an_error_that_names_it():
    one = "query same() { match { $s: S } return { $s } }"

    assert "`same`" in refusal(f"{one}\n{one}").message


def test_every_parameter_type_of_the_grammar():
    query = only("query q($a: String, $b: [I32]?, $c: Vector(3)?, $d: DateTime) { delete S where id = $a }")

    types = [
        (found.type.scalar, found.type.is_list, found.type.dimension, found.type.nullable) for found in query.parameters
    ]
    assert types == [
        ("String", False, None, False),
        ("I32", True, None, True),
        ("Vector", False, 3, True),
        ("DateTime", False, None, False),
    ]


def test_a_parameter_of_an_enum_type_is_refused_with_the_type_to_use():
    assert "`String`" in refusal("query q($a: enum(x, y)) { delete S where id = $a }").message


# --- words are not reserved


@pytest.mark.parametrize(
    "word", ["query", "match", "return", "order", "limit", "as", "contains", "count", "date", "now"]
)
def test_keywords_are_free_as_property_alias_and_parameter_names(word):
    query = only(
        f"query {word}(${word}: String) {{ match {{ $s: S {{ {word}: ${word} }} $s.{word} = 1 }} "
        f"return {{ $s.{word} as {word} }} order {{ {word} desc }} }}"
    )

    assert query.name.text == word
    assert query.body.projections[0].alias.text == word
    assert query.body.orderings[0].expression == AliasSyntax(name=word, span=None)


def test_keywords_are_whole_words_and_know_their_case():
    assert refusal("queryq() { delete S where id = 1 }")
    assert refusal("Query q() { delete S where id = 1 }")
    assert refusal("match { $s: S } return { $s } limit5")


# --- clauses


def test_a_binding_with_and_without_conditions():
    bare, full = clauses('$s: Sailor $s: Sailor { rank: "mate", age: $a, at: now(), }')

    assert bare == BindingSyntax(variable=full.variable, type_name=full.type_name, matches=(), span=None)
    assert [match.property.text for match in full.matches] == ["rank", "age", "at"]
    assert [type(match.value) for match in full.matches] == [LiteralSyntax, VariableSyntax, NowSyntax]


def test_empty_braces_of_a_binding_are_none():
    assert clause("$s: Sailor {}") == clause("$s: Sailor")


def test_traversals_in_all_spellings():
    plain, undirected, bounded, bound, both = clauses(
        "$a mentors $b $a <mentors> $b $a mentors{1,3} $b $a $m:mentors $b $a $m:<mentors>{1,1} $_"
    )

    assert (plain.left.name, plain.edge.text, plain.right.name, plain.hops) == ("a", "mentors", "b", None)
    assert undirected.is_undirected
    assert (bounded.hops.low, bounded.hops.high) == (1, 3)
    assert bound.edge_variable.name == "m"
    assert (both.edge_variable.name, both.is_undirected, both.hops.low, both.right.name) == ("m", True, 1, "_")


def test_an_open_upper_bound_parses_and_is_left_to_the_checker():
    assert clause("$a mentors{1,} $b").hops.high is None


def test_the_letter_case_behind_the_colon_tells_node_from_edge_bindings():
    traversal, binding = clauses("$a $m:mentors $p $p: Sailor")

    assert isinstance(traversal, TraversalSyntax)
    assert isinstance(binding, BindingSyntax)


def test_shortest_is_a_word_before_an_edge_and_an_edge_before_a_variable():
    path, both, edge, bounded, twice = clauses(
        "$a $p:shortest mentors{1,3} $b $a shortest <mentors>{1,3} $b $a shortest $b $a shortest{1,2} $b "
        "$a $p:shortest shortest{1,2} $b"
    )

    assert (path.is_shortest, path.edge.text, path.edge_variable.name, path.hops.high) == (True, "mentors", "p", 3)
    assert (both.is_shortest, both.is_undirected, both.edge_variable) == (True, True, None)
    assert (edge.is_shortest, edge.edge.text) == (False, "shortest")
    assert (bounded.is_shortest, bounded.edge.text, bounded.hops.high) == (False, "shortest", 2)
    assert (twice.is_shortest, twice.edge.text) == (True, "shortest")


def test_a_bare_variable_before_contains_is_a_traversal():
    assert isinstance(clause("$q contains $m"), TraversalSyntax)
    assert isinstance(clause("$q contains{1,2} $m"), TraversalSyntax)


def test_contains_with_a_value_is_a_filter():
    assert isinstance(clause('$q contains "x"'), FilterSyntax)
    assert isinstance(clause("$q contains $m.name"), FilterSyntax)
    assert isinstance(clause("$q.tags contains $m"), FilterSyntax)
    assert isinstance(clause('$q starts_with "x"'), FilterSyntax)


def test_a_comparison_with_a_name_is_not_an_edge_in_brackets():
    assert isinstance(clause("$a < name"), FilterSyntax)
    assert isinstance(clause("$a <name> $b"), TraversalSyntax)


@pytest.mark.parametrize("operator", [">=", "<=", "!=", ">", "<", "=", "contains", "starts_with"])
def test_every_operator(operator):
    found = clause(f"$s.age {operator} 3")

    assert isinstance(found, FilterSyntax)
    assert found.operator == operator


def test_not_nests():
    outer = clause('not { $s servesOn $h not { $h.title contains "Sea" } }')

    assert isinstance(outer, NegationSyntax)
    assert isinstance(outer.clauses[1], NegationSyntax)


def test_not_is_a_name_where_no_brace_follows():
    assert clause("not = 3").left == AliasSyntax(name="not", span=None)


def test_text_functions_stand_alone_or_are_compared():
    alone, compared = clauses('search($s.bio, "x") fuzzy($s.bio, "x", 1) = true')

    assert isinstance(alone, TextClauseSyntax)
    assert isinstance(compared, FilterSyntax)


def test_a_ranking_function_does_not_stand_alone():
    assert "an operator" in refusal('match { bm25($s.bio, "x") } return { $s }').message


# --- return, order, limit


def test_commas_between_projections_are_optional():
    assert projections("$s.a $s.b, $s.c,") == projections("$s.a, $s.b, $s.c")


def test_every_expression():
    found = projections(
        'now(), $s, $s.age, "t", -1.5, -7, true, [1, 2], [], date("2026-02-14"), datetime("2026-02-14T10:00:00Z"), '
        'alias, count($s), nearest($s.v, [1.0]), search($s.a, "x"), fuzzy($s.a, "x"), match_text($s.a, "x"), '
        'bm25($s.a, "x"), rrf(nearest($s.v, $q), bm25($s.a, "x"), 60)'
    )

    assert [type(expression) for expression in found] == [
        NowSyntax,
        VariableSyntax,
        AccessSyntax,
        *[LiteralSyntax] * 4,
        ListSyntax,
        ListSyntax,
        MomentSyntax,
        MomentSyntax,
        AliasSyntax,
        AggregateSyntax,
        *[CallSyntax] * 6,
    ]
    assert [expression.value for expression in found[3:7]] == ["t", -1.5, -7, True]


def test_as_without_a_name_behind_it_is_a_name_itself():
    assert projections("$s as, as") == [projections("$s")[0], *projections("as, as")]


@pytest.mark.parametrize("word", ["asc", "desc"])
def test_an_order_has_directions(word):
    query = only(f"match {{ $s: S }} return {{ $s }} order {{ $s.a {word}, $s.b }}")

    assert [key.direction for key in query.body.orderings] == [word, None]


@pytest.mark.parametrize("word", ["asc", "desc"])
def test_nearest_takes_no_direction(word):
    error = refusal(f"match {{ $s: S }} return {{ $s }} order {{ nearest($s.v, [1.0]) {word} }} limit 1")

    assert "smallest distance first" in error.message


def test_an_order_needs_commas():
    assert refusal("match { $s: S } return { $s } order { $s.a $s.b }")


def test_a_limit_is_a_number_or_a_parameter():
    assert only("match { $s: S } return { $s } limit 0").body.limit.value == 0
    assert only("match { $s: S } return { $s } limit $n").body.limit.name == "n"
    assert refusal("match { $s: S } return { $s } limit -1")
    assert refusal("match { $s: S } return { $s } limit 1.5")


# --- literals


@pytest.mark.parametrize(("written", "value"), [(str(-(2**63)), -(2**63)), (str(2**64 - 1), 2**64 - 1), ("-0", 0)])
def test_integers_reach_as_far_as_any_column(written, value):
    assert projections(written)[0].value == value


@pytest.mark.parametrize("written", [str(2**64), str(-(2**63) - 1), "9" * 5000])
def test_larger_integers_are_refused(written):
    assert "too large" in refusal(f"match {{ $s: S }} return {{ {written} }}").message


@pytest.mark.parametrize("written", ["1e5", ".5", "5.", "--1", "+1"])
def test_other_spellings_of_numbers_are_refused(written):
    assert refusal(f"match {{ $s: S }} return {{ count({written}) }}")


def test_strings_have_the_escapes_of_the_schema_language_and_may_hold_line_feeds():
    assert projections('"a\\"\\\\\\n\\r\\t\nb"')[0].value == 'a"\\\n\r\t\nb'
    assert "\\q" in refusal('match { $s: S } return { "\\q" }').message


# --- mutations


def test_the_three_statements():
    insert, update, delete = only(
        'query m($n: String) { insert Sailor { name: $n, age: null rank: "mate", } '
        "update Sailor set { age: 3 } where name = $n delete Mentors where from != now() }"
    ).body.statements

    assert isinstance(insert, InsertSyntax)
    assert [assigned.property.text for assigned in insert.assignments] == ["name", "age", "rank"]
    assert isinstance(insert.assignments[1].value, NullSyntax)
    assert isinstance(update, UpdateSyntax)
    assert (update.predicate.property.text, update.predicate.operator) == ("name", "=")
    assert isinstance(delete, DeleteSyntax)
    assert isinstance(delete.predicate.value, NowSyntax)


def test_an_insert_may_assign_nothing_and_an_update_may_not():
    assert only("query m() { insert Note {} }").body.statements[0].assignments == ()
    assert refusal("query m() { update Note set {} where id = 1 }")


def test_null_never_stands_behind_where():
    assert "null never matches" in refusal("query m() { delete Note where text = null }").message


def test_there_is_no_mutation_wrapper():
    assert refusal("query m() { mutation { insert Note {} } }")


def test_a_predicate_is_one_comparison():
    assert refusal('query m() { delete Note where text contains "x" }')
    assert refusal('query m() { delete Note where text = "x" and id = "y" }')


# --- errors


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("query q() { mach { $s: S } return { $s } }", (1, 13), ["`match`", "did you mean `match`"]),
        ("query q() { match { $s: S } retrun { $s } }", (1, 29), ["`return`", "did you mean `return`"]),
        ("query q() { match { } return { $s } }", (1, 21), ["a clause"]),
        ("query q() { match { $s: S } return { } }", (1, 38), ["an expression"]),
        ("query q() { match { $s: sailor } return { $s } }", (1, 25), ["a type name", "capital letter"]),
        ("query q() { match { $a Knows $b } return { $s } }", (1, 24), ["an edge", "small first letter"]),
        ("query q() { match { $S: S } return { $s } }", (1, 21), ["`$S`", "small letter"]),
        ("query q() { match { $s: S } return { $s.Age } }", (1, 41), ["a property name", "small letter"]),
        ("query q() { match { $a knows } return { $s } }", (1, 30), ["a variable"]),
        ("query q() { match { $a knows{0.5,1} $b } return { $s } }", (1, 30), ["a whole number"]),
        ("query q() { match { $a.x == 3 } return { $s } }", (1, 27), ["an expression", "`=`"]),
        ("query q() { match { $s: S } return { sum $s } }", None, None),
        ("query q() { match { $s: S } return { cuont($s) } }", (1, 38), ["`cuont`", "did you mean `count`"]),
        ("query q() { match { $s: S } # note", (1, 29), ["comments start with `//`"]),
        ("query q() { match { $s: S { a: 'x' } } return { $s } }", (1, 32), ['double quotes `"`']),
        ('query q() { match { $s: S { a: "x } } return { $s } }', (1, 32), ["string is not closed"]),
        ("query q() { /* match", (1, 13), ["comment is not closed"]),
        ("query q() { match { $s: S }", (1, 28), ["`return`", "the end of the text"]),
        ("query q() { match { $s: S } return { $s }", (1, 42), ["`}`", "the end of the text"]),
        ("query q { delete S where id = 1 }", (1, 9), ["`(`"]),
        ("query q($a String) { delete S where id = 1 }", (1, 12), ["`:`"]),
        ("query q(a: String) { delete S where id = 1 }", (1, 9), ["a parameter"]),
        ("query q() { update S where id = 1 }", (1, 22), ["`set`"]),
        ("query q() { upsert S { a: 1 } }", (1, 13), ["did you mean `insert`"]),
        ('query q() @descripton("x") { delete S where id = 1 }', (1, 12), ["did you mean `description`"]),
        ("hello", (1, 1), ["`query`", "`match`"]),
    ],
)
def test_a_syntax_error_names_its_place_and_what_was_expected(text, at, words):
    if at is None:
        assert parse(text)  # two projections: an alias and a variable
        return

    error = refusal(text)

    assert place(error) == at
    assert [word for word in words if word not in error.message] == []
    assert error.details["span"]["end"] > error.details["span"]["start"]
    assert error.details["source"] == "q.gq"


def test_the_caret_stands_under_the_mistake():
    error = refusal("query q() {\n\tmatch { $s: S }\n\tretrun { $s }\n}")

    *_, line, caret = error.message.splitlines()
    assert (line, caret) == ("  \tretrun { $s }", "  \t^^^^^^")


def test_every_query_with_a_mistake_is_reported():
    error = refusal(
        "query a() { mach { $s: S } }\nquery fine() { delete S where id = 1 }\n"
        "query b() { match { $s S } return { $s } }"
    )

    assert [(found["line"], found["column"]) for found in error.details["errors"]] == [(1, 13), (3, 24)]


def test_a_query_that_is_not_closed_does_not_hide_the_next():
    error = refusal("query a() { match { $s: S } return { $s }\nquery b() { match { $s S } return { $s } }")

    assert [found["line"] for found in error.details["errors"]] == [2, 2]


def test_spans_are_bytes():
    error = refusal('match { $s: S { a: "é" } } return { ! }')

    assert error.details["span"] == {"start": 37, "end": 38}
    assert place(error) == (1, 37)


@pytest.mark.parametrize(
    "text",
    [
        "match { " + "not { " * 100_000,
        "match { $s: S } return { " + "count(" * 100_000,
        "match { $s: S } return { " + "[" * 100_000,
        "match { $s: S } return { " + "search(" * 100_000 + "$s" + ")" * 100_000,
    ],
)
def test_nesting_is_bounded(text):
    assert "nested more than 50 levels" in refusal(text).message


def test_nesting_up_to_the_bound_is_read():
    depth = 45
    text = "match { $s: S " + "not { $s.a = 1 " * depth + "}" * depth + " } return { $s }"

    assert parse(text)


def test_a_text_that_is_all_mistakes_is_refused_in_reasonable_time():
    error = refusal("\ud800" * 50_000)

    assert error.message.endswith(" more")
    assert len(error.details["errors"]) == 1000
