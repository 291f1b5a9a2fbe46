import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.errors import ParseError


def refusal(text):
    with pytest.raises(ParseError) as refused:
        compile_schema(text, source="art.pg", identity_domain="01JQ0000000000000000000000")
    return refused.value


def accept(text):
    return compile_schema(text, source="art.pg", identity_domain="01JQ0000000000000000000000")


def complaints(text):
    return [found["message"] for found in refusal(text).details["errors"]]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("node A { x: Text }", ["art.pg:1:13:"]),
        ("node A { x: [Blob] }", ["list", "Blob"]),
        ("node A { v: Vector(0) }", ["Vector dimension"]),
        ("node A { s: enum(a, b, a) }", ["duplicate"]),
        ("node A { x: I32 x: I64 }", ["A.x", "duplicate"]),
        ("node A {} node A {}", ["A", "duplicate"]),
        ("node A {} edge E: A -> B", ["E", "B", "target"]),
        ("node A {} edge Go: A -> A edge GO: A -> A", ["Go", "GO", "case"]),
        ("node A { id: String }", ["id", "reserved"]),
        ("node A {} edge E: A -> A { to: String }", ["to", "reserved"]),
        ("node A { k: String? @key }", ["A.k", "nullable"]),
        ("node A { k: [String] @key }", ["@key", "A.k", "list"]),
        ("node A { a: String @key b: String @key }", ["A", "multiple @key"]),
        ("node A { p: Blob @unique(p) }", ["@unique", "A.p", "blob"]),
        ("node A { v: Vector(3) @unique }", ["@unique", "A.v", "vector"]),
        ("node A { n: String @range(n, 0..3) }", ["@range", "A.n", "numeric"]),
        ("node A { n: I32 @range(n, 9..3) }", ["@range", "A.n", "9", "3"]),
        ('node A { n: I32 @check(n, "x") }', ["@check", "A.n", "String"]),
        ('node A { n: String @check(n, "(") }', ["@check", "A.n", "("]),
        ("node A {} edge E: A -> A @card(3..1)", ["3", "1", "cardinality"]),
        ("node A {} edge E: A -> A { x: I32 @range(x, 0..1) }", ["@range", "E"]),
        ("node A @unique { x: String }", ["@unique", "A"]),
        ("node A { t: String @embed(t) }", ["@embed", "A.t", "vector"]),
        ("node A { v: Vector(2) @embed(body) }", ["A.v", "body"]),
        ('node A { t: String v: Vector(2) @embed(t, provider="x") }', ["provider", "model"]),
        ('node A @rename_from("") {}', ["rename_from"]),
        ('node A @description("a") @description("b") {}', ["description", "multiple"]),
        ('node A { x: String @instruction("no") }', ["@instruction", "A.x"]),
        ('node A @description("bad\\q") {}', ["\\q"]),
        ('node A { x: I32 @default("seven") }', ["@default", "A.x", "I32"]),
        ("node A { x: I32 @index(y) }", ["@index", "A", "y"]),
        ("node A { x: [I32] @index(x) }", ["@index", "A.x", "list"]),
        ("node A { userName: String  username: String }", ["userName", "username"]),
    ],
    ids=range(1, 34),
)
def test_checklist_of_schema_errors(text, named):
    error = refusal(text)

    # The excerpt below the complaint would contain most words anyway.
    complaint = error.message.split("\n")[0]
    assert [word for word in named if word not in complaint] == []
    assert len(error.details["errors"]) == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("interface N { n: I32 } node A implements N { n: I64 }", ["A", "n", "I64", "I32", "N"]),
        ("interface P { x: String } interface Q { x: String @index } node A implements P, Q {}", ["A.x"]),
        ("node A implements Ghost {}", ["A", "Ghost"]),
        ("interface N { n: I32? } node A implements N { n: I32 }", ["A.n", "I32?"]),
        ("interface N { n: enum(a, b) } node A implements N { n: enum(a) }", ["A.n", "enum(a, b)", "enum(a)"]),
        ("interface P { x: I32 @default(1) } interface Q { x: I32 @default(2) } node A implements P, Q {}", ["A.x"]),
        ('interface P { x: I32 @description("p") } interface Q { x: I32 } node A implements P, Q {}', ["A.x"]),
        ("interface P { a: String @key } node A implements P { b: String @key }", ["A", "multiple @key"]),
        ("interface P { userName: String } node A implements P { username: String }", ["userName", "username"]),
        ("interface P { v: Vector(2) @embed(body) } node A implements P {}", ["A.v", "body"]),
        ("interface P { x: I32 } interface P { y: I32 }", ["duplicate", "P"]),
        ("interface P { x: I32 x: I32 }", ["duplicate", "P.x"]),
        ("interface P { x: [I32] @index }", ["@index", "P.x", "list"]),
        ("interface P { x: I32 @embed(y) }", ["@embed", "P.x", "vector"]),
        ('interface P { x: I32 @instruction("no") }', ["@instruction", "P.x"]),
        ("interface P { iD: I32 }", ["iD", "reserved"]),
        ("interface P {} node A {} edge E: A -> P", ["E", "P", "target"]),
    ],
)
def test_interface_errors(text, named):
    (complaint,) = complaints(text)

    assert [word for word in named if word not in complaint] == []


@pytest.mark.parametrize("name", ["id", "iD", "_rowid", "_ROWID", "_rowaddr", "_rowoffset", "_distance", "_score"])
@pytest.mark.parametrize("owner", ["interface I {{ {0}: I32 }}", "node A {{ {0}: I32 }}"])
def test_reserved_names_are_refused_whatever_their_case(owner, name):
    (complaint,) = complaints(owner.format(name))

    assert name in complaint
    assert "reserved" in complaint


@pytest.mark.parametrize(
    "name", ["_row_created_at_version", "_row_last_updated_at_version", "_tombstone", "src", "dst", "from", "to", "tO"]
)
def test_edges_reserve_their_endpoints_too(name):
    (complaint,) = complaints(f"node A {{}} edge E: A -> A {{ {name}: I32 }}")

    assert f"E.{name}" in complaint
    assert "reserved" in complaint


@pytest.mark.parametrize("name", ["_row_id", "_rowid2", "ident", "from", "to", "src", "dst"])
def test_similar_names_stay_legal_on_nodes(name):
    assert [declared.name for declared in accept(f"node A {{ {name}: I32 }}").nodes[0].properties] == [name]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("node A { v: Vector(2147483648) }", ["Vector dimension", "2147483648", "2147483647"]),
        ("node A { k: Vector(2) @key }", ["@key", "A.k", "vector"]),
        ("node A { k: Blob @index }", ["@index", "A.k", "blob"]),
        ("node A { k: [I32] @unique(k) }", ["@unique", "A.k", "list"]),
        ("node A { k: [I32] @range(k, 0..) }", ["@range", "A.k", "list"]),
        ("node A { k: Date @range(k, 0..) }", ["@range", "A.k", "Date"]),
        ('node A { k: [String] @check(k, "x") }', ["@check", "A.k", "list"]),
        ("node A { k: String @key(k) @key(k) }", ["A", "multiple @key"]),
        ("node A { k: String @key @key(k) }", ["A", "multiple @key"]),
        ("node A { k: String @key(k, k) }", ["@key", "k", "twice"]),
        ("node A { k: String @index @index }", ["@index", "A.k", "multiple"]),
        ("node A { k: String @key(k, gone) }", ["@key", "A", "gone"]),
        ("node A { n: I32 @range(gone, 0..) }", ["@range", "A", "gone"]),
        ('node A { n: String @check(n, "(a)\\\\1") }', ["@check", "A.n", "(a)\\1"]),
        ('node A { n: String @check(n, "(?=a)") }', ["@check", "A.n", "(?=a)"]),
        ("node A { x: I32 @unique(src) }", ["@unique", "A", "src"]),
        ("node A {} edge E: A -> A { x: I32 @key }", ["@key", "E"]),
        ("node A {} edge E: A -> A { x: I32 @key(x) }", ["@key", "E"]),
        ('node A {} edge E: A -> A { x: String @check(x, "a") }', ["@check", "E"]),
        ("node A {} edge E: A -> A { x: String v: Vector(2) @embed(x) }", ["@embed", "E.v"]),
        ("node A {} edge E: A -> A @key", ["@key", "E"]),
        ("node A {} edge E: B -> A", ["E", "B", "source"]),
        ("node A {} edge E: A -> A edge E: A -> A", ["duplicate", "E"]),
        ("node A @key {}", ["@key", "A"]),
        ("node A @index {}", ["@index", "A"]),
        ("node A @embed(x) {}", ["@embed", "A"]),
        ("node A @default(1) {}", ["@default", "A"]),
        ("node A @card {}", ["@card", "A"]),
        ("node A { x: I32 @range }", ["@range", "A.x"]),
        ("node A { x: String @check }", ["@check", "A.x"]),
    ],
)
def test_constraint_errors(text, named):
    (complaint,) = complaints(text)

    assert [word for word in named if word not in complaint] == []


@pytest.mark.parametrize(
    ("annotation", "named"),
    [
        ("@description", ["@description"]),
        ('@description("")', ["@description"]),
        ("@description(5)", ["@description"]),
        ('@description("a", lang="en")', ["@description", "lang"]),
        ("@rename_from", ["rename_from"]),
        ("@rename_from(true)", ["rename_from"]),
        ('@rename_from("a") @rename_from("b")', ["rename_from", "multiple"]),
        ('@rename_from("a", kind="b")', ["rename_from", "kind"]),
    ],
)
@pytest.mark.parametrize(
    "place", ["node A {} {}", "node A {{}} edge E: A -> A {}", "node A {{ x: I32 {} }}", "interface I {{ x: I32 {} }}"]
)
def test_text_annotations_need_one_text(place, annotation, named):
    text = place.format(annotation, "{}")

    (complaint,) = complaints(text)

    assert [word for word in named if word not in complaint] == []


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("v: Vector(2) @embed", ["@embed", "A.v"]),
        ('v: Vector(2) @embed("")', ["@embed", "A.v"]),
        ("v: Vector(2) @embed(5)", ["@embed", "A.v"]),
        ("v: Vector(2) @embed(n)", ["@embed", "A.v", "n", "I32"]),
        ("v: Vector(2) @embed(l)", ["@embed", "A.v", "l", "[String]"]),
        ("v: Vector(2) @embed(e)", ["@embed", "A.v", "e", "enum(a)"]),
        ('v: Vector(2) @embed(t, model="")', ["@embed", "A.v", "model"]),
        ("v: Vector(2) @embed(t, model=5)", ["@embed", "A.v", "model"]),
        ("v: Vector(2) @embed(t) @embed(t)", ["@embed", "A.v", "multiple"]),
    ],
)
def test_embed_errors(written, named):
    (complaint,) = complaints(f"node A {{ t: String n: I32 l: [String] e: enum(a) {written} }}")

    assert [word for word in named if word not in complaint] == []


@pytest.mark.parametrize(
    "written",
    [
        "x: I32 @default",
        "x: I32 @default(1.5)",
        "x: I32 @default(true)",
        "x: I32 @default(2147483648)",
        "x: U32 @default(-1)",
        "x: I32 @default(word)",
        "x: I32 @default(null)",
        "x: I32? @default(null)",
        "x: String @default(word)",
        "x: String @default(5)",
        "x: Bool @default(1)",
        'x: Bool @default("true")',
        'x: Date @default("2031-02-30")',
        "x: Date @default(22475.0)",
        'x: DateTime @default("06:30")',
        "x: enum(a, b) @default(c)",
        'x: enum(a, b) @default("A")',
        f"x: F32 @default(1{'0' * 39}.0)",
        "x: [I32] @default(1)",
        "x: Vector(2) @default(1)",
        'x: Blob @default("base64:")',
        'x: String @key @default("a")',
        'x: String @default("a") @key(x)',
        "x: I32 @default(9) @range(x, 0..8)",
        "x: I32 @default(-1) @range(x, 0..)",
        "x: F32 @default(0.1) @range(x, ..0.1)",
        'x: String @default("abc") @check(x, "^b")',
        "x: I32 @default(1) @default(1)",
        "x: I32 @default(1, note=2)",
    ],
)
def test_defaults_that_no_write_could_store_are_refused(written):
    (complaint,) = complaints(f"node A {{ {written} }}")

    assert "@default" in complaint
    assert "A.x" in complaint


def test_injected_default_on_a_key_of_the_node_is_refused():
    (complaint,) = complaints('interface I { x: String @default("a") } node A implements I { @key(x) }')

    assert "@default" in complaint
    assert "A.x" in complaint


def test_all_mistakes_come_at_once_in_the_order_of_the_text():
    error = refusal(
        "edge E: A -> Ghost { src: I32 }\n"
        "node A { k: String? @key x: Vector(0) x: I32 }\n"
        "interface I { id: String }\n"
        "node A implements Nothing {}"
    )

    assert [(found["line"], found["column"]) for found in error.details["errors"]] == [
        (1, 14),
        (1, 22),
        (2, 21),
        (2, 29),
        (2, 39),
        (3, 15),
        (4, 6),
        (4, 19),
    ]
    assert (error.details["line"], error.details["column"]) == (1, 14)
    assert error.details["source"] == "art.pg"


def test_one_mistake_is_reported_once_however_many_nodes_inherit_it():
    assert len(complaints("interface I { x: [I32] @index } node A implements I {} node B implements I {}")) == 1


def test_unknown_annotations_never_fail():
    catalog = accept('node A @x @x @y(word, b=1, a="z") { p: I32 @null(1.0) } edge E: A -> A @z(true) { q: I32 @w }')

    assert [annotation.name for annotation in catalog.nodes[0].annotations] == ["x", "x", "y"]
    assert catalog.nodes[0].annotations[2].kwargs == (("a", "z"), ("b", 1))
