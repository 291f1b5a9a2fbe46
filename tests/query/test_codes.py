"""Every code of a query that does not fit the schema, with the contract's example and the words it must name."""

import re

import pytest

from omnigraph.errors import MixedMutation, QueryTypeError
from omnigraph.query.mistakes import QueryCode
from support.sailors import check, more_sailors, sailors

SAILORS = sailors()
MORE = more_sailors()


def read(clauses: str, rest: str = "return { $s.name }", parameters: str = "") -> str:
    return f"query q({parameters}) {{ match {{ {clauses} }} {rest} }}"


def of_sailor(clause: str) -> str:
    return read(f"$s: Sailor {clause}")


def returned(projections: str, rest: str = "") -> str:
    return read("$s: Sailor", f"return {{ {projections} }} {rest}")


def ship(rest: str) -> str:
    return read("$h: Ship", rest if rest.startswith("return") else f"return {{ $h.title }} {rest}")


def mutation(statements: str, parameters: str = "") -> str:
    return f"query m({parameters}) {{ {statements} }}"


# The table of the contract, row by row, then what its table of codes says beyond the examples.
CONTRACT = [
    ("T1", read("$s: Saylor"), ["Saylor", "did you mean Sailor"]),
    ("T2", read("$s: Sailor { salary: 1 }"), ["Sailor", "salary"]),
    ("T3", read('$s: Sailor { age: "old" }'), ["age", "I32", "String"]),
    ("T3", read('$s: Sailor { rank: "admiral" }'), ["rank", "captain, deckhand, mate"]),
    ("T3", read('$s: Sailor { tags: ["nav"] }'), ["tags", "[String]"]),
    ("T4", of_sailor("$s likes $x"), ["likes"]),
    ("T5", read("$h: Ship  $h mentors $x"), ["$h", "Ship", "Mentors"]),
    ("T6", of_sailor("$s.salary > 1"), ["Sailor", "salary"]),
    ("T6", returned("$z.name"), ["$z"]),
    ("T7", of_sailor('$s.age > "x"'), ["age", "I32", "String"]),
    ("T7", of_sailor("$s.age contains 3"), ["age", "I32"]),
    ("T8", returned("sum($s.name) as n"), ["sum", "String"]),
    ("T9", returned('$s.name, bm25($s.bio, "x"), count($s) as n'), ["bm25"]),
    ("T15", of_sailor("$s mentors{0,2} $x"), ["{0,2}"]),
    ("T15", of_sailor("$s mentors{1,} $x"), ["{1,}"]),
    ("T15", ship("order { nearest($h.vec, [1.0]) } limit 1"), ["vec", "Vector(2)", "1"]),
    ("T22", of_sailor("$s <servesOn> $h"), ["ServesOn", "Sailor", "Ship"]),
    ("T23", of_sailor("$s $m:mentors{1,2} $x"), ["$m"]),
    ("T24", returned("$s.photo"), ["$s", "photo"]),
    ("T24", returned("count($s.photo)"), ["$s", "photo"]),
    ("T10", mutation('insert Saylor { name: "x" }'), ["Saylor"]),
    ("T11", mutation('insert Sailor { name: "x", rank: "mate", pay: 1 }'), ["Sailor", "pay"]),
    ("T12", mutation('insert Sailor { name: "x" }'), ["Sailor", "rank"]),
    ("T12", mutation('insert Mentors { from: "Ana" }'), ["Mentors", "to"]),
    ("T13", mutation('update Sailor set { age: 1, age: 2 } where name = "Bo"'), ["age"]),
    ("T14", read("$s: Sailor { name: $n }"), ["$n"]),
    ("T16", mutation('update Mentors set { note: "x" } where from = "Ana"'), ["Mentors"]),
    ("T17", ship("order { nearest($h.vec, [1.0, 0.0]) }"), ["limit"]),
    ("T18", ship("return { $h.title as t } order { nearest($h.vec, [1.0, 0.0]), t } limit 1"), ["`t`"]),
    ("T19", of_sailor('search($s.age, "x")'), ["search", "I32"]),
    ("T19", of_sailor('fuzzy($s.bio, "x", 1.5)'), ["fuzzy", "F64"]),
    ("T20", returned("bm25($s.bio, 3)"), ["bm25", "I64"]),
    ("T21", ship('order { rrf(bm25($h.title, "a"), bm25($h.title, "b"), 0) } limit 1'), ["k"]),
    ("T25", read("$x: Sailor  $x: Ship"), ["$x", "Sailor", "Ship"]),
    ("T26", read("$s: Sailor", parameters="$s: String"), ["$s"]),
    ("T27", returned('[1, "a"]'), ["I64", "String"]),
    ("T28", returned("$s.name, $s.name"), ["s.name"]),
    ("T29", returned("$s.name", "order { ghost }"), ["ghost"]),
    ("T29", returned("$s.name", "order { $s.tags }"), ["$s.tags", "[String]"]),
    (
        "T30",
        mutation('insert Sailor { name: "x", rank: "mate" } delete Sailor where name = "y"'),
        ["`m`", "two queries"],
    ),
    ("T31", mutation('update Sailor set { name: "X" } where name = "Bo"'), ["Sailor", "name"]),
]
BEYOND = [
    ("T1", read("$s: Mentors"), ["Mentors", "edge type"]),
    ("T1", read("$s: Named"), ["Named", "interface"]),
    ("T1", read("$s: SAILOR"), ["did you mean Sailor"]),
    ("T3", read('$s: Sailor { photo: "x" }'), ["photo", "Blob"]),
    ("T3", read("$s: Ship { vec: [1.0] }"), ["vec", "Vector(2)"]),
    ("T3", read('$s: Log { at: "2026-01-01" }'), ["at", "datetime("]),
    ("T3", read('$s: Log { day: "2026-01-01" }'), ["day", "date("]),
    ("T3", read('$s: Log { day: date("2026-13-01") }'), ["2026-13-01"]),
    ("T3", mutation('insert Sailor { name: "x", rank: null }'), ["Sailor.rank", "required"]),
    ("T3", mutation('insert Mentors { from: null, to: "x" }'), ["Mentors.from"]),
    ("T3", mutation('insert Mentors { from: 3, to: "x" }'), ["Mentors.from", "String", "I64"]),
    ("T3", mutation('insert Sailor { name: "x", rank: "cook" }'), ["rank", "captain, deckhand, mate"]),
    ("T3", mutation('update Sailor set { age: 1.5 } where name = "x"'), ["age", "I32", "F64"]),
    ("T3", mutation('update Sailor set { age: 3000000000 } where name = "x"'), ["age", "I32", "2147483647"]),
    ("T3", mutation('update Sailor set { tags: "nav" } where name = "x"'), ["tags", "[String]"]),
    ("T3", mutation('update Sailor set { tags: [1] } where name = "x"'), ["tags", "[String]", "[I64]"]),
    ("T3", mutation('update Ship set { vec: [1.0] } where hull = "x"'), ["vec", "Vector(2)"]),
    ("T3", mutation('delete Sailor where age = "x"'), ["age", "I32", "String"]),
    ("T3", mutation('delete Sailor where rank = "cook"'), ["captain, deckhand, mate"]),
    ("T5", read("$l: Log $s: Sailor $s servesOn $l"), ["$l", "Log", "ServesOn"]),
    ("T5", read("$s servesOn $s"), ["$s", "ServesOn"]),
    ("T6", of_sailor("$z.age > 1"), ["$z"]),
    ("T6", of_sailor("$p.age > 1").replace("q()", "q($p: String)"), ["$p", "parameter"]),
    ("T6", returned("$_"), ["$_"]),
    ("T6", read("$s.age > 1 $s: Sailor"), ["$s"]),
    ("T6", returned("name"), ["`name`"]),
    ("T6", of_sailor("not { $s mentors $x } $x.age > 1"), ["$x"]),
    ("T6", of_sailor("$s $m:mentors $x $m.ghost = 1"), ["Mentors", "ghost"]),
    ("T7", of_sailor("$s.tags = $s.tags"), ["tags", "[String]"]),
    ("T7", of_sailor("$s.tags contains 3"), ["tags", "I64"]),
    ("T7", of_sailor('$s.tags starts_with "n"'), ["tags"]),
    ("T7", of_sailor("$s.name starts_with 3"), ["name", "I64"]),
    ("T7", of_sailor("$s = $s"), ["$s", "Sailor"]),
    ("T7", of_sailor("$s.age = now()"), ["age", "DateTime"]),
    ("T7", read("$s: Sailor { age: now() }"), ["age", "DateTime"]),
    ("T7", read("$s: Sailor { age: $p }", parameters="$p: String"), ["age", "I32", "String", "$p"]),
    ("T7", read("$s: Sailor { tags: $p }", parameters="$p: [String]"), ["tags", "[String]"]),
    ("T7", read("$h: Ship $h.vec = $h.vec", "return { $h.hull }"), ["vec", "Vector(2)"]),
    ("T7", of_sailor('$s $m:mentors $x $m.since > "2020-01-01"'), ["since", "Date", "String", "date("]),
    ("T7", read('$s: Log $s.at > "2020-01-01"', "return { $s.id }"), ["at", "DateTime", "datetime("]),
    ("T7", read('$s: Log $s.at > date("2020-01-01")', "return { $s.id }"), ["at", "DateTime", "Date"]),
    ("T7", of_sailor('bm25($s.bio, "x") > 1'), ["bm25"]),
    ("T7", of_sailor("count($s) > 1"), ["count"]),
    (
        "T7",
        mutation("update Sailor set { age: $p } where name = $n", "$p: String, $n: String"),
        ["age", "I32", "String"],
    ),
    ("T7", mutation("update Sailor set { bio: now() } where id = $p", "$p: String"), ["bio", "DateTime"]),
    ("T7", mutation('delete Sailor where tags = "nav"'), ["tags", "[String]"]),
    ("T7", mutation("delete Sailor where age = $p", "$p: Bool"), ["age", "Bool"]),
    ("T7", read("$s: Sailor", "return { $s.name } limit $n", "$n: F64"), ["$n", "F64"]),
    ("T8", returned("min($s.tags)"), ["min", "[String]"]),
    ("T8", returned("avg($s)"), ["avg", "Sailor"]),
    ("T8", returned("sum(count($s))"), ["sum"]),
    ("T8", read("$s: Log", "return { max($s.flag) }"), ["max", "Bool"]),
    ("T9", of_sailor("not { $h: Ship }"), ["not"]),
    ("T9", of_sailor("not { $h: Ship not { $s servesOn $h } }"), ["not"]),
    (
        "T9",
        of_sailor("not { $h.title = $t }").replace("q()", "q($t: String)").replace("$h.title", "$h: Ship $h.title"),
        ["not"],
    ),
    ("T9", returned("count($s), 3"), ["3"]),
    ("T9", read("$s: Sailor", "return { count($s), $p }", "$p: I64"), ["$p"]),
    ("T10", mutation('delete SAILOR where id = "x"'), ["SAILOR", "Sailor"]),
    ("T10", mutation('delete MENTORS where id = "x"'), ["MENTORS", "Mentors"]),
    ("T11", mutation('insert Sailor { id: "x", name: "x", rank: "mate" }'), ["Sailor", "id"]),
    ("T11", mutation('update Sailor set { id: "x" } where name = "x"'), ["Sailor", "id"]),
    ("T11", mutation('delete Sailor where photo = "x"'), ["Sailor", "photo"]),
    ("T11", mutation('delete Sailor where from = "x"'), ["Sailor", "from"]),
    ("T11", mutation('delete Mentors where src = "x"'), ["Mentors", "src"]),
    ("T11", mutation('insert Mentors { src: "a", dst: "b" }'), ["Mentors", "src"]),
    ("T12", mutation("insert Mentors {}"), ["from", "to"]),
    ("T12", mutation("insert Log {}"), ["Log", "at"]),
    ("T13", mutation('insert Mentors { from: "a", from: "b", to: "c" }'), ["from"]),
    ("T14", mutation("delete Sailor where name = $n"), ["$n"]),
    (
        "T14",
        mutation("insert Sailor { name: $n, rank: $rnak }", "$n: String, $rank: String"),
        ["$rnak", "did you mean `$rank`"],
    ),
    ("T14", read("$s: Sailor { name: $s }"), ["$s"]),
    ("T14", read("$s: Sailor", "return { $s.name } limit $n"), ["$n"]),
    ("T15", of_sailor("$s mentors{3,2} $x"), ["{3,2}"]),
    ("T15", ship("order { nearest($z.vec, [1.0, 0.0]) } limit 1"), ["$z"]),
    ("T15", ship("order { nearest($h.ghost, [1.0, 0.0]) } limit 1"), ["ghost"]),
    ("T15", ship("order { nearest($h.title, [1.0, 0.0]) } limit 1"), ["title", "String"]),
    ("T15", ship("order { nearest($h.vec, 3) } limit 1"), ["vec", "Vector(2)", "I64"]),
    ("T15", read("$h: Ship", "return { nearest($h.vec, $q) }", "$q: Vector(3)"), ["Vector(2)", "Vector(3)"]),
    ("T15", read("$h: Ship", "return { nearest($h.vec, $q) }", "$q: [F32]"), ["vec", "[F32]"]),
    ("T17", ship("return { nearest($h.vec, [1.0, 0.0]) as d } order { d }"), ["limit"]),
    ("T19", of_sailor("search($s.bio, 3)"), ["search", "I64"]),
    ("T19", of_sailor('search($s.tags, "x")'), ["search", "[String]"]),
    ("T19", of_sailor('search("text", "x")'), ["search"]),
    ("T19", of_sailor('fuzzy($s.bio, "x", "y")'), ["fuzzy", "String"]),
    ("T20", of_sailor('match_text($s.age, "x")'), ["match_text", "I32"]),
    ("T20", returned('bm25($s.tags, "x")'), ["bm25", "[String]"]),
    ("T21", ship('order { rrf(bm25($h.title, "a"), bm25($h.title, "b")) }'), ["limit"]),
    ("T21", ship('return { rrf(bm25($h.title, "a"), bm25($h.title, "b")) as r } order { r }'), ["limit"]),
    ("T21", ship('order { rrf(bm25($h.title, "a"), search($h.title, "b")) } limit 1'), ["search"]),
    ("T21", ship('order { rrf(bm25($h.title, "a"), 3) } limit 1'), ["3"]),
    ("T21", ship('order { rrf(bm25($h.title, "a"), bm25($h.title, "b"), 1.5) } limit 1'), ["F64"]),
    (
        "T21",
        read("$s: Sailor $h: Ship", 'return { rrf(bm25($h.title, "a"), bm25($s.bio, "b")) }'),
        ["$h", "$s"],
    ),
    ("T15", of_sailor("$s $p:shortest mentors $x"), ["shortest mentors", "{1,6}"]),
    ("T15", of_sailor("$s $p:shortest mentors{2,1} $x"), ["{2,1}"]),
    ("T15", of_sailor("$s $p:shortest mentors{1,} $x"), ["{1,}"]),
    ("T22", of_sailor("$s $p:shortest <servesOn>{1,2} $h"), ["ServesOn", "Sailor", "Ship"]),
    ("T4", of_sailor("$s shortest likes{1,2} $x"), ["likes"]),
    ("T23", of_sailor("$s $m:mentors{1,2} $x"), ["$m", "$m:shortest mentors", "$m.hops"]),
    ("T23", of_sailor("$s $x:shortest mentors{1,2} $x"), ["$x"]),
    ("T23", of_sailor("$s $p:shortest mentors{1,2} $x $p mentors $x"), ["$p", "a path"]),
    ("T23", read("$s $p:shortest mentors{1,2} $x", "return { $p }"), ["$p", "a path", "$p.hops"]),
    ("T23", read("$s $p:shortest mentors{1,2} $x", "return { count($p) }"), ["$p"]),
    ("T23", of_sailor('$s $p:shortest mentors{1,2} $x search($p.hops, "x")'), ["$p"]),
    ("T26", read("$s $p:shortest mentors{1,2} $x", parameters="$p: I32"), ["$p"]),
    ("T6", read("$s $p:shortest mentors{1,2} $x", "return { $p.since }"), ["Mentors", "since", "hops"]),
    ("T7", of_sailor('$s $p:shortest mentors{1,2} $x $p.hops = "one"'), ["$p.hops", "I64", "String"]),
    ("T23", of_sailor("$s $s:mentors $x"), ["$s"]),
    ("T23", of_sailor("$s $x:mentors $x"), ["$x"]),
    ("T23", of_sailor("$s $m:mentors $x $x $m:mentors $y"), ["$m"]),
    ("T23", of_sailor("$s $m:mentors $x $m mentors $x"), ["$m"]),
    ("T23", of_sailor("$s $m:mentors $x $m: Sailor"), ["$m"]),
    ("T23", read("$s $m:mentors $x", "return { $m }"), ["$m"]),
    ("T23", read("$s $m:mentors $x", "return { count($m) }"), ["$m"]),
    ("T23", read("$s $m:mentors $x", "return { $m.id }"), ["$m", "id"]),
    ("T23", read("$s $m:mentors $x", "return { $m.src }"), ["$m", "src"]),
    ("T23", of_sailor('$s $m:mentors $x search($m.note, "x")'), ["$m"]),
    ("T23", read("$s $m:mentors $x", "return { nearest($m.note, [1.0]) }"), ["$m"]),
    ("T23", of_sailor("$s $m:mentors $x search($s.bio, $m.note)"), ["$m"]),
    ("T24", of_sailor('$s.photo = "x"'), ["photo"]),
    ("T24", returned("$s.name", "order { $s.photo }"), ["photo"]),
    ("T24", read("$s $m:filed $l", "return { $m.scan }"), ["scan"]),
    ("T24", read("$s: Sailor", "return { $p }", "$p: Blob"), ["$p"]),
    ("T24", read("$s: Sailor { name: $p }", parameters="$p: Blob"), ["$p"]),
    ("T25", read("$x servesOn $h  $h: Sailor"), ["$h", "Ship", "Sailor"]),
    ("T26", read("$s: Sailor", parameters="$__p: String"), ["$__p"]),
    ("T26", read("$s: Sailor", parameters="$p: String, $p: I32"), ["$p"]),
    ("T26", read("$s: Sailor", parameters="$p: Text"), ["$p", "Text"]),
    ("T26", read("$s: Sailor", parameters="$p: string"), ["$p", "did you mean String"]),
    ("T26", read("$s: Sailor", parameters="$p: Vector(0)"), ["$p", "dimension"]),
    ("T26", read("$s: Sailor", parameters="$p: [Blob]"), ["$p", "Blob"]),
    ("T26", read("$s: Sailor", parameters="$_: String"), ["$_"]),
    ("T26", of_sailor("$s mentors $p").replace("q()", "q($p: String)"), ["$p"]),
    ("T26", of_sailor("$s $p:mentors $x").replace("q()", "q($p: String)"), ["$p"]),
    ("T27", returned("[[1]]"), ["list"]),
    ("T27", returned('[date("2020-01-01"), datetime("2020-01-01")]'), ["Date", "DateTime"]),
    ("T27", mutation('update Sailor set { tags: ["a", 1] } where name = "x"'), ["String", "I64"]),
    ("T28", returned("$s.name as a, $s.age as a"), ["`a`"]),
    ("T28", returned("1, 2"), ["literal"]),
    ("T29", ship("order { $h.vec }"), ["Vector(2)"]),
    ("T29", returned("$s", "order { $s }"), ["Sailor"]),
    ("T29", returned("$s as n", "order { n }"), ["Sailor"]),
    ("T29", returned("$s.tags as t", "order { t }"), ["[String]"]),
    ("T29", returned("$s.name", "order { 3 }"), ["3"]),
    ("T29", returned("$s.name", "order { count($s) }"), ["count($s)"]),
    ("T29", returned("$s.rank, count($s) as n", "order { $s.name }"), ["$s.name"]),
    ("T29", returned("$s, count($s) as n", "order { $s.name }"), ["$s.name"]),
    ("T29", returned("$s.rank, count($s) as n", "order { sum($s.age) }"), ["sum($s.age)"]),
    ("T29", returned("$s.rank, count($s) as n", 'order { bm25($s.bio, "x") }'), ["bm25"]),
    ("T29", ship("return { nearest($h.vec, [1.0, 0.0]) as d } order { d desc } limit 1"), ["nearest"]),
    ("T30", mutation('delete Sailor where name = "y" update Sailor set { age: 1 } where name = "x"'), ["branch"]),
]


def refusal(text: str, catalog=MORE):
    with pytest.raises((QueryTypeError, MixedMutation)) as refused:
        check(text, catalog)
    return refused.value


@pytest.mark.parametrize(("code", "text", "words"), CONTRACT)
def test_the_examples_of_the_contract(code, text, words):
    error = refusal(text, SAILORS)

    assert error.message.startswith(f"{code}: ")
    assert error.details["code"] == code
    assert [word for word in words if word not in error.message.partition("\n")[0]] == []


@pytest.mark.parametrize(("code", "text", "words"), BEYOND)
def test_what_else_the_codes_stand_for(code, text, words):
    error = refusal(text)

    assert error.message.startswith(f"{code}: "), error.message
    assert [word for word in words if word not in error.message.partition("\n")[0]] == []


def test_every_code_has_a_test():
    assert {code for code, *_ in CONTRACT + BEYOND} == {code.value for code in QueryCode}
    assert {code for code, *_ in CONTRACT} == {code.value for code in QueryCode}


def test_an_error_shows_its_place():
    error = refusal("query q() {\n  match { $s: Saylor }\n  return { $s }\n}", SAILORS)

    assert error.message.splitlines()[1:] == ["  at q.gq:2:15", "    match { $s: Saylor }", "                ^^^^^^"]
    assert error.details == {
        "code": "T1",
        "query": "q",
        "source": "q.gq",
        "line": 2,
        "column": 15,
        "span": {"start": 26, "end": 32},
    }


def test_mixed_mutations_are_a_kind_of_their_own():
    error = refusal(CONTRACT[-2][1], SAILORS)

    assert isinstance(error, MixedMutation)
    assert (error.kind, error.retry.value, error.details["query"]) == ("mixed_mutation", "after_change", "m")


def test_messages_are_sentences_without_loose_ends():
    for _, text, _ in CONTRACT + BEYOND:
        first = refusal(text).message.partition("\n")[0]
        assert not re.search(r"  |None|object at|[;, ]$", first), first
