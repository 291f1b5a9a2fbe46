import pytest

from omnigraph.errors import ParseError
from omnigraph.language.schema import parse_schema
from omnigraph.language.schema.parser import _TERMINAL_WORDS, _schema_parser
from omnigraph.language.schema.syntax import (
    CheckSyntax,
    EdgeSyntax,
    LiteralSyntax,
    MembersSyntax,
    NodeSyntax,
    RangeSyntax,
    WordSyntax,
)


def parse(text):
    return parse_schema(text, source="art.pg")


def only(text):
    (declaration,) = parse(text).declarations
    return declaration


def refusal(text):
    with pytest.raises(ParseError) as refused:
        parse(text)
    return refused.value


def place(error):
    return error.details["line"], error.details["column"]


def names(items):
    return [item.name.text for item in items]


# --- the table of the grammar section


def test_node_without_name_is_refused_at_the_brace_with_a_span():
    error = refusal("node { }")

    assert place(error) == (1, 6)
    assert error.details["span"] == {"start": 5, "end": 6}
    assert error.kind == "parse_error"


def test_node_may_have_no_properties():
    node = only("node Crate {}")

    assert node.name.text == "Crate"
    assert node.properties == node.constraints == ()


def test_edge_needs_no_body():
    edge = only("edge Holds: Crate -> Part")

    assert (edge.from_type.text, edge.to_type.text, edge.properties) == ("Crate", "Part", ())


def test_missing_and_empty_edge_body_are_the_same():
    assert parse("edge Holds: Crate -> Part") == parse("edge Holds: Crate -> Part {}")


def test_comma_between_properties_is_refused():
    assert place(refusal("node Crate { label: String, }")) == (1, 27)


def test_hash_is_not_a_comment():
    error = refusal("node Crate { # note")

    assert place(error) == (1, 14)
    assert "//" in error.message


# --- words


@pytest.mark.parametrize("word", ["interface", "node", "edge", "implements", "enum", "true", "false"])
def test_keywords_are_free_as_property_names(word):
    node = only(f"node A {{ {word}: String @index {word}2: I32 {word}3: Bool @other(1) {word}4: F32 }}")

    assert names(node.properties) == [word, f"{word}2", f"{word}3", f"{word}4"]


@pytest.mark.parametrize("word", ["interface", "node", "edge", "implements", "enum"])
def test_keywords_are_free_right_after_an_annotation(word):
    node = only(f"node A @note {{ first: String @index {word}: I32 @unique(first, {word}) }}")

    assert names(node.properties) == ["first", word]
    assert [member.text for member in node.constraints[0].members] == ["first", word]


def test_implements_is_a_keyword_after_header_annotations():
    node = only('node A @description("x") @other implements I, J { implements: String }')

    assert [name.text for name in node.implements] == ["I", "J"]
    assert names(node.properties) == ["implements"]


@pytest.mark.parametrize("text", ["nodeBoat {}", "interfaceX {}", "edgeE: A -> B", "node A implementsB {}"])
def test_keywords_are_whole_words(text):
    assert refusal(text)


@pytest.mark.parametrize("written", ["Strings", "I320", "Vectors(3)", "enumx(a)", "DateTimes", "string"])
def test_type_words_are_whole_words(written):
    assert place(refusal(f"node A {{ x: {written} }}")) == (1, 13)


def test_enum_values_may_start_with_digits_and_contain_hyphens():
    (declared,) = only("node A { s: enum(in-progress, 2fa, A, node, _) }").properties

    assert [value.text for value in declared.type.enum_values] == ["in-progress", "2fa", "A", "node", "_"]


@pytest.mark.parametrize("name", ["a", "_a", "camelCase", "a1_B"])
def test_property_names_start_small_and_keep_their_case(name):
    assert names(only(f"node A {{ {name}: String }}").properties) == [name]


@pytest.mark.parametrize(("text", "hint"), [("node boat {}", "capital"), ("node A { Name: String }", "small letter")])
def test_wrong_first_letter_gets_a_hint(text, hint):
    assert hint in refusal(text).message


# --- comments, whitespace, encoding


def test_comments_may_stand_between_any_two_tokens():
    plain = "node A @x(1, b=2) implements I { s: enum(a, b)? @key @unique(s) @range(s, 1..2) }"
    tokens = plain.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").replace("..", " .. ").split()
    spaced = " // one\n /* two * / ** */ ".join(tokens)

    assert parse(spaced) == parse(plain)


def test_at_sign_and_name_are_two_tokens():
    spaced = "edge E: A -> B @ card (0..) @ /* x */ note { x: I32 @ /* x */ unique // y\n (x) }"

    assert parse(spaced) == parse("edge E: A -> B @card(0..) @note { x: I32 @unique(x) }")


def test_block_comments_do_not_nest():
    assert refusal("/* a /* b */ c */ node A {}")


@pytest.mark.parametrize("text", ["node A {} /* no end", "/*", "node A { /* }", "/* node { } node { }"])
def test_unclosed_comment_is_named_and_hides_the_rest(text):
    error = refusal(text)

    assert len(error.details["errors"]) == 1
    assert "comment is not closed" in error.message
    assert error.details["column"] == text.index("/*") + 1


def test_unclosed_string_is_named():
    error = refusal('node A @description("no end) {}')

    assert "string is not closed" in error.message
    assert error.details["column"] == 21


def test_long_rules_of_slashes_are_read_in_linear_time():
    node = only("node A { x: String @key " + "/" * 5_000 + "\n}")

    assert names(node.properties[0].annotations) == ["key"]


def test_byte_order_mark_counts_in_bytes_but_not_in_columns():
    error = refusal("\ufeffnode { }")

    assert place(error) == (1, 6)
    assert error.details["span"] == {"start": 8, "end": 9}


def test_spans_are_bytes_and_columns_are_characters():
    error = refusal('node A @description("äöü") % {}')

    assert error.details["column"] == 28
    assert error.details["span"] == {"start": 30, "end": 31}


def test_lines_and_columns_count_from_one_over_crlf():
    error = refusal("node A {}\r\n\r\n  node {}")

    assert place(error) == (3, 8)
    assert error.details["span"] == {"start": 20, "end": 21}


def test_half_a_surrogate_pair_is_refused():
    assert "surrogate" in refusal('node A @description("\ud800") {}').message


@pytest.mark.parametrize("text", ["", "  \n", "// nothing", "\ufeff"])
def test_text_without_declarations_is_an_empty_schema(text):
    assert parse(text).declarations == ()


# --- literals


def test_strings_know_five_escapes_and_raw_newlines():
    node = only('node A @x("\\" \\\\ \\n \\r \\t \n é") {}')

    assert node.annotations[0].value == LiteralSyntax(value='" \\ \n \r \t \n é', span=None)


@pytest.mark.parametrize("escape", ["\\q", "\\u", "\\/", "\\é"])
def test_unknown_escape_is_named_where_it_stands(escape):
    error = refusal(f'node A @x("ok {escape}") {{}}')

    assert escape in error.message
    assert error.details["column"] == 15
    assert error.details["span"]["end"] - error.details["span"]["start"] == len(escape.encode())


def test_all_unknown_escapes_are_reported():
    error = refusal('node A @x("\\q \\z") {}\nnode B { p: String @check(p, "\\d") }')

    assert [found["line"] for found in error.details["errors"]] == [1, 1, 2]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12),
        ("-12", -12),
        ("007", 7),
        ("1.50", 1.5),
        ("-0.25", -0.25),
        ("true", True),
        ("false", False),
        ('"a"', "a"),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_literal_values(written, value):
    read = only(f"node A @x({written}) {{}}").annotations[0].value

    assert isinstance(read, LiteralSyntax)
    assert read.value == value
    assert type(read.value) is type(value)


@pytest.mark.parametrize("written", ["word", "camelCase", "Upper", "in-progress", "truth", "true-ish", "_x"])
def test_bare_words_are_annotation_values(written):
    assert only(f"node A @x({written}) {{}}").annotations[0].value == WordSyntax(text=written, span=None)


@pytest.mark.parametrize("written", ["1.", ".5", "1e5", "1.5e3", "+1", "2fa", "--1", "", "a b", "[1]"])
def test_other_spellings_are_not_annotation_values(written):
    assert refusal(f"node A @x({written}) {{}}")


@pytest.mark.parametrize("digits", ["18446744073709551616", "-9223372036854775809", "9" * 10_000])
def test_numbers_beyond_64_bits_are_refused(digits):
    assert "too large" in refusal(f"node A @x({digits}) {{}}").message


def test_float_beyond_its_range_is_refused():
    assert "too large" in refusal(f"node A @x({'9' * 400}.0) {{}}").message


# --- annotations and constraints


def test_parenthesis_makes_a_constraint_of_an_annotation():
    node = only("node A { email: String @unique(email) }")

    assert node.properties[0].annotations == ()
    assert isinstance(node.constraints[0], MembersSyntax)


def test_parenthesis_may_be_lines_away():
    node = only("node A { email: String @unique // why\n\n /* here */ (email) }")

    assert [rule.kind for rule in node.constraints] == ["unique"]


def test_constraint_takes_names_not_strings():
    error = refusal('node A { email: String @unique("x") }')

    assert place(error) == (1, 32)


def test_bare_key_is_an_annotation():
    node = only("node A { email: String @key @index name: String @unique }")

    assert [names(declared.annotations) for declared in node.properties] == [["key", "index"], ["unique"]]
    assert node.constraints == ()


def test_names_that_start_like_constraints_are_annotations():
    node = only("node A { x: I32 @keys(1) @indexed(y) @checked }")

    assert names(node.properties[0].annotations) == ["keys", "indexed", "checked"]


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [("0..3", 0, 3), ("-1..", -1, None), ("..2.5", None, 2.5), ("0.5..1.5", 0.5, 1.5), ("-2.0..-1", -2.0, -1)],
)
def test_range_bounds(written, low, high):
    (rule,) = only(f"node A {{ n: F64 @range(n, {written}) }}").constraints

    assert isinstance(rule, RangeSyntax)
    assert (rule.low, rule.high) == (low, high)


@pytest.mark.parametrize("written", ["..", "1", "1...2", "a..b", '"1".."2"'])
def test_range_needs_at_least_one_number_and_two_dots(written):
    assert refusal(f"node A {{ n: F64 @range(n, {written}) }}")


def test_check_takes_one_property_and_a_pattern():
    (rule,) = only('node A { n: String @check(n, "^[a-z]+$") }').constraints

    assert isinstance(rule, CheckSyntax)
    assert rule.pattern == "^[a-z]+$"


@pytest.mark.parametrize("text", ["interface K { @key(a) }", "interface K { a: String @key(a) }"])
def test_interface_holds_no_constraints(text):
    assert refusal(text).details["column"] == text.index("@") + 1


def test_interface_has_no_annotations():
    assert refusal("interface K @note {}").details["column"] == 13


def test_annotation_without_property_is_refused():
    assert refusal("node A { @note x: I32 }").details["column"] == 10


def test_annotation_takes_one_value_and_keywords():
    (annotation,) = only('node A @x(body, model="m", size=3) {}').annotations

    assert annotation.value == WordSyntax(text="body", span=None)
    assert [(argument.name.text, argument.value.value) for argument in annotation.arguments] == [
        ("model", "m"),
        ("size", 3),
    ]


@pytest.mark.parametrize("written", ["1, 2", 'model="m"', "1, model=word", "1,", ""])
def test_other_argument_lists_are_refused(written):
    assert refusal(f"node A @x({written}) {{}}")


def test_repeated_keyword_is_refused():
    assert "`size`" in refusal("node A @x(1, size=2, size=3) {}").message


@pytest.mark.parametrize("header", ["@card(0..1) @note", "@note @card(0..1)", '@note @card(0..1) @description("x")'])
def test_card_may_stand_anywhere_in_an_edge_header(header):
    edge = only(f"edge E: A -> B {header} {{ x: I32 }}")

    assert isinstance(edge, EdgeSyntax)
    assert (edge.card.low, edge.card.high) == (0, 1)
    assert "card" not in names(edge.annotations)


def test_card_may_be_open():
    assert only("edge E: A -> B @card(2..)").card.high is None


def test_second_card_is_refused():
    error = refusal("edge E: A -> B @card(0..1) @note @card(0..1)")

    assert "more than one @card" in error.message
    assert error.details["column"] == 34


@pytest.mark.parametrize("written", ["..1", "-1..2", "1", "0.5..1", "a..b"])
def test_card_takes_whole_numbers(written):
    assert refusal(f"edge E: A -> B @card({written})")


@pytest.mark.parametrize(
    "text",
    [
        "node A { x: enum(a, b,) }",
        "node A { x: enum() }",
        "node A { @key(a,) }",
        "node A { @key() }",
        "node A implements I, {}",
        "enum Color { red }",
        "node A { x: [Vector(3)] }",
        "node A { x: [enum(a)] }",
        "node A { x: [[String]] }",
        "node A { x: [String?] }",
        "node A { x: String?? }",
        "node A { x: Vector(-1) }",
        "node A { x: Vector() }",
        "node A",
        "edge E: A",
        "edge E A -> B",
        "edge e: A -> B {}",
    ],
)
def test_text_outside_of_the_grammar_is_refused(text):
    error = refusal(text)

    assert error.details["span"]["end"] > error.details["span"]["start"]


# --- several mistakes


def test_reading_resumes_at_the_next_declaration():
    error = refusal(
        "node { }\n"
        "node B { node: Text }\n"
        'node C { edge: String @note("node X {") /* node Y { */ }\n'
        "edge D -> E\n"
        "interface F { x: enum(node, edge) @key(x) }\n"
        "node G {"
    )

    assert [(found["line"], found["column"]) for found in error.details["errors"]] == [
        (1, 6),
        (2, 16),
        (4, 8),
        (5, 35),
        (6, 9),
    ]


def test_forgotten_brace_does_not_hide_the_next_declaration():
    error = refusal("node A {\n  x: I32\n\nnode B {\n  y: Text\n}\n")

    assert [found["line"] for found in error.details["errors"]] == [4, 5]
    assert "`}`" in error.details["errors"][0]["message"]


def test_end_of_text_is_reported_after_the_last_token():
    error = refusal("node A {\n  x: I32\n\n// end\n\n")

    assert place(error) == (2, 9)
    assert error.details["span"] == {"start": 17, "end": 18}


def test_message_shows_place_line_and_caret():
    assert refusal("node A {\n\tx: Text\n}").message == (
        "art.pg:2:5: expected `Vector`, `[`, `enum` or a scalar type, found `Text`\n  \tx: Text\n  \t   ^^^^"
    )


def test_message_shows_twenty_problems_and_counts_the_rest():
    error = refusal("node {}\n" * 23)

    assert len(error.details["errors"]) == 23
    assert error.message.count("expected a type name") == 20
    assert error.message.endswith("… and 3 more")


def test_message_shows_a_window_of_an_endless_line():
    padding = "x" * 10_000
    error = refusal(f'node A @n("{padding}") % @n("{padding}") {{}}')
    shown, carets = error.message.split("\n")[1:]

    assert len(shown) < 200
    assert shown[carets.index("^")] == "%"


def test_every_terminal_has_words_for_messages():
    ignored = {"_WHITESPACE", "_LINE_COMMENT", "_BLOCK_COMMENT"}
    terminals = {terminal.name for terminal in _schema_parser().terminals}

    assert terminals - ignored <= _TERMINAL_WORDS.keys() <= terminals | {"$END"}


def test_declarations_keep_their_order_and_spans():
    schema = parse("edge E: A -> A\nnode A { x: I32 }\ninterface I {}")

    assert names(schema.declarations) == ["E", "A", "I"]
    node = schema.declarations[1]
    assert isinstance(node, NodeSyntax)
    span = node.properties[0].type.span
    assert schema.source.text[span.start : span.end] == "I32"
