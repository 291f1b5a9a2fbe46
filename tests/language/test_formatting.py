"""The canonical layout of schema and query files."""

import re

import pytest
from hypothesis import given, settings

from omnigraph.errors import ParseError
from omnigraph.language.layout import WIDTH_MAX
from omnigraph.language.query.formatting import format_queries
from omnigraph.language.schema import format_schema, parse_schema
from omnigraph.language.schema.formatting import format_schema_source
from support.schema_trees import schemas

QUERY = """\
// What the fleet asks.

/* by hand */
query q( $name:String,$n :I64? )@description("finds") { match { // here
$s: Sailor{name:$name , tags : "nav"}
 // about the walk
 $s $m : < mentors > $x   $s mentors{ 1 , 2 } $y // trailing
 $x.age>30


 not { $x servesOn $_ } not { $x servesOn $h not { $h.title contains "Sea" /* why */ } } }
 return { $x.name $x.age as age, count( $s ), [1.0,2.0] } order { age desc , $x.name // the name
 } limit 10 }
query m() { insert Sailor { name:"x" rank : "mate", } update Sailor set{age:null}where name="x" insert Note {} } // end
// last
"""
FORMATTED = """\
// What the fleet asks.

/* by hand */
query q($name: String, $n: I64?) @description("finds") {
    match {  // here
        $s: Sailor { name: $name, tags: "nav" }
        // about the walk
        $s $m:<mentors> $x
        $s mentors{1,2} $y  // trailing
        $x.age > 30

        not { $x servesOn $_ }
        not {
            $x servesOn $h
            not {
                $h.title contains "Sea"  /* why */
            }
        }
    }
    return { $x.name, $x.age as age, count($s), [1.0, 2.0] }
    order {
        age desc,
        $x.name  // the name
    }
    limit 10
}

query m() {
    insert Sailor { name: "x", rank: "mate" }
    update Sailor set { age: null } where name = "x"
    insert Note {}
}  // end

// last
"""
SCHEMA = """\
// The fleet.
interface I{a:String // hello
}
node A @description ( "x" ) implements I , J { b : enum(in-progress,2fa) ? @index
 // why
 @range( c ,  .. 10 ) c:I32 @default( -5 ) v: Vector( 3 )@embed(b, model = "m")

 @unique(b , c) } // after
edge E:A->A @card(0 .. ) edge F : A->A { x:[String]? y:F64@default(-1.5) @range ( y , -2.5..3 ) }
node B {}
"""
FORMATTED_SCHEMA = """\
// The fleet.
interface I {
    a: String  // hello
}

node A @description("x") implements I, J {
    b: enum(in-progress, 2fa)? @index
    // why
    @range(c, ..10)
    c: I32 @default(-5)
    v: Vector(3) @embed(b, model="m")

    @unique(b, c)
}  // after

edge E: A -> A @card(0..)

edge F: A -> A {
    x: [String]?
    y: F64 @default(-1.5)
    @range(y, -2.5..3)
}

node B {}
"""


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [(format_queries, QUERY, FORMATTED), (format_schema_source, SCHEMA, FORMATTED_SCHEMA)],
)
def test_a_file_in_its_canonical_form(form, text, expected):
    assert form(text, source="x") == expected
    assert form(expected, source="x") == expected


@pytest.mark.parametrize("form", [format_queries, format_schema_source])
@pytest.mark.parametrize(
    ("text", "expected"), [("", ""), ("\n\n", ""), ("// only\n", "// only\n"), ("\ufeff//x", "//x\n")]
)
def test_files_without_declarations(form, text, expected):
    assert form(text, source="x") == expected


@pytest.mark.parametrize(("form", "text"), [(format_queries, "query q {"), (format_schema_source, "node a {}")])
def test_what_does_not_parse_is_not_formatted(form, text):
    with pytest.raises(ParseError):
        form(text, source="x")


def test_a_bare_read_needs_no_query_around_it():
    assert format_queries("match {$s:Sailor} return{$s}limit 3", source="x") == (
        "match {\n    $s: Sailor\n}\nreturn { $s }\nlimit 3\n"
    )


def test_what_is_too_long_is_broken():
    names = ", ".join(f"$s.property_{number}" for number in range(9))
    text = f'query q() @description("{"long " * 16}") {{ match {{ $s: Sailor }} return {{ {names} }} }}'

    formatted = format_queries(text, source="x")

    lines = formatted.splitlines()
    assert lines[:3] == ["query q()", f'    @description("{"long " * 16}")', "{"]
    assert lines[7:9] == ["        $s.property_0,", "        $s.property_1,"]
    assert max(map(len, lines)) <= WIDTH_MAX
    assert format_queries(formatted, source="x") == formatted


def test_line_ends_of_other_systems_become_line_feeds():
    assert format_queries("// a\r\nmatch {\r\n$s: S }\r\nreturn { $s }\r\n", source="x") == (
        "// a\nmatch {\n    $s: S\n}\nreturn { $s }\n"
    )


def test_strings_stay_as_they_are_written():
    text = 'match {\n    $s.a = "x\n  y\\n\t"\n}\nreturn { $s }\n'

    assert format_queries(text, source="x") == text


@settings(max_examples=25)  # a generated parser reads each schema four times
@given(schemas)
def test_formatting_a_schema_keeps_its_meaning_and_is_done_once(schema):
    formatted = format_schema_source(format_schema(schema), source="x")

    assert parse_schema(formatted, source="x") == schema
    assert format_schema_source(formatted, source="x") == formatted


@pytest.mark.parametrize("blank", ["  ", "\t", " \t ", "\n"])
def test_formatting_does_not_depend_on_the_layout_before(blank):
    words = re.sub(r"//.*", "", FORMATTED_SCHEMA).split()

    assert format_schema_source(blank.join(words), source="x") == format_schema_source(" ".join(words), source="x")
