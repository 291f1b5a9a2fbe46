"""Looking at whole query files, and whatever is thrown at the checker."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import MixedMutation, ParseError, QueryTypeError
from omnigraph.language.query import parse_queries, spell_queries
from omnigraph.query.check import check_query
from omnigraph.query.columns import result_schema
from omnigraph.query.lint import NO_PARAMETERS, lint_queries
from support.query_trees import files
from support.sailors import more_sailors, sailors

SAILORS = sailors()
MORE = more_sailors()
SET_PROFILE = """
query set_profile($n: String, $a: I32?, $t: [String]?, $p: Blob?) {
    update Sailor set { age: $a, tags: $t, photo: $p } where name = $n
}
"""


def lint(text, catalog=SAILORS):
    return lint_queries(text, catalog, source="q.gq")


def operation(text, catalog=SAILORS):
    (result,) = lint(text, catalog).results
    return result.operation


def uses(found):
    return [f"{use.kind}:{use.type_name}" for use in found]


def test_a_syntax_error_is_one_finding_and_there_are_no_results():
    report = lint("query fine() { match { $s: Sailor } return { $s } }\nquery broken() { mach }")

    assert report.results == ()
    assert [(finding.severity, finding.code) for finding in report.findings] == [("error", "Q000")]
    assert "q.gq:2:18" in report.findings[0].message
    assert (report.errors, report.is_ok) == (1, False)


def test_an_uncovered_property_is_a_warning():
    report = lint(SET_PROFILE)

    assert [(found.code, found.property, found.query_names) for found in report.findings] == [
        ("L201", "bio", ("set_profile",))
    ]
    assert report.findings[0].message == "Sailor.bio exists in schema but no update query sets it"
    assert (report.errors, report.warnings, report.is_ok) == (0, 1, True)


def test_coverage_is_of_all_valid_updates_of_a_type_together():
    both = lint(SET_PROFILE + 'query b($n: String) { update Sailor set { bio: "x" } where name = $n }')
    invalid = lint(SET_PROFILE + "query b($n: String) { update Sailor set { bio: 3 } where name = $n }")
    inserts = lint('query i($n: String) { insert Sailor { name: $n, rank: "mate" } }')

    assert both.findings == ()
    assert [found.query_names for found in invalid.findings] == [("set_profile",)]
    assert inserts.findings == ()


def test_embedded_and_key_properties_need_no_update():
    report = lint("query b($n: String) { update Log set { flag: true } where id = $n }", MORE)

    assert [found.property for found in report.findings] == [
        "big",
        "days",
        "label",
        "scores",
        "single",
        "small",
        "text",
    ]


def test_a_mutation_without_parameters_is_warned_about():
    report = lint(
        'query gone() { delete Sailor where name = "Ana" } query all() { match { $s: Sailor } return { $s } }'
    )

    assert [result.warnings for result in report.results] == [(NO_PARAMETERS,), ()]
    assert report.warnings == 1


def test_a_query_that_does_not_fit_has_an_error_and_no_operation():
    report = lint(
        "query bad() { match { $s: Saylor } return { $s } } query good() { match { $s: Sailor } return { $s } }"
    )

    assert [result.operation is None for result in report.results] == [True, False]
    assert report.results[0].error.startswith("T1: ")
    assert report.errors == 1


def test_what_a_read_reads():
    found = operation("match { $s: Sailor $s mentors $x not { $x servesOn $_ } } return { $s.name }")

    assert uses(found.reads) == ["node:Sailor", "node:Ship", "edge:Mentors", "edge:ServesOn"]
    assert found.writes == ()


def test_what_mutations_read_and_write():
    insert = operation('query i() { insert ServesOn { from: "a", to: "b" } }')
    delete = operation('query d() { delete Sailor where name = "a" }')
    update = operation('query u() { update Sailor set { age: 1 } where name = "a" }')
    edge = operation('query e() { delete Mentors where from = "a" }')

    assert (uses(insert.reads), uses(insert.writes)) == (
        ["node:Sailor", "node:Ship", "edge:ServesOn"],
        ["edge:ServesOn"],
    )
    assert uses(delete.reads) == uses(delete.writes) == ["node:Sailor", "edge:Mentors", "edge:ServesOn"]
    assert uses(update.reads) == uses(update.writes) == ["node:Sailor"]
    assert uses(edge.reads) == uses(edge.writes) == ["edge:Mentors"]


def test_columns_are_described_in_the_words_of_clients():
    found = operation(
        "match { $s: Log $x: Sailor $x servesOn $h } return { $s.flag, $s.small, $s.big, $s.single, $s.day, "
        "$s.at, $s.made, $s.scores, $x, $x.rank, $h.vec }",
        MORE,
    )

    assert [(column.kind, column.item_kind, column.vector_dim, column.nullable) for column in found.result] == [
        ("bool", None, None, True),
        ("int", None, None, True),
        ("bigint", None, None, True),
        ("float", None, None, True),
        ("date", None, None, False),
        ("datetime", None, None, False),
        ("vector", None, 3, True),
        ("list", "float", None, True),
        ("object", None, None, False),
        ("string", None, None, False),
        ("vector", None, 2, True),
    ]


@settings(max_examples=30)
@given(files)
def test_any_query_is_checked_or_refused_with_a_code(file):
    parsed = parse_queries(spell_queries(file), source="any.gq")

    for query in parsed.queries:
        try:
            check_query(query, MORE, source=parsed.source)
        except (QueryTypeError, MixedMutation) as error:
            refused = error
        else:
            continue
        assert refused.message.startswith(f"{refused.details['code']}: ")


@pytest.mark.parametrize("depth", [40, 49])
def test_deep_queries_are_checked(depth):
    text = "match { $s: Sailor " + "not { $s.age = 1 " * depth + "}" * depth + " } return { $s }"
    if depth > 45:
        text = "match { $s: Sailor } return { " + "count(" * (depth - 1) + "$s" + ")" * (depth - 1) + " }"

    report = lint(text)

    assert len(report.results) == 1


VARIABLES = ["$s", "$x", "$h", "$m", "$p", "$_", "$z"]
OPERANDS = [
    *VARIABLES,
    *("$s.age", "$s.name", "$s.tags", "$s.photo", "$h.vec", "$h.title", "$m.since", "$m.id", "$x.id", "$z.a", "$p.a"),
    *('"Ana"', "3", "1.5", "true", "[1.0, 0.0]", "[]", '["a"]', "now()", 'date("2020-01-01")', 'date("x")', "alias"),
    *('search($s.bio, "x")', "bm25($h.title, $p)", "nearest($h.vec, [1.0, 0.0])", "nearest($s.name, $p)"),
    *('rrf(nearest($h.vec, $p), bm25($h.title, "x"))', "count($s)", "sum($s.age)", "min($h.vec)", "max(count($s))"),
]
operands = st.sampled_from(OPERANDS)
variables = st.sampled_from(VARIABLES)
operators = st.sampled_from([">=", "!=", "=", "contains", "starts_with"])
some_clauses = st.recursive(
    st.builds(
        "{}: {}".format, variables, st.sampled_from(["Sailor", "Ship", "Mentors", "Ghost", 'Sailor { tags: "a" }'])
    )
    | st.builds(
        "{} {}{} {}".format,
        variables,
        st.sampled_from(["mentors", "<mentors>", "servesOn", "$m:mentors", "likes"]),
        st.sampled_from(["", "{1,2}", "{0,1}", "{1,}"]),
        variables,
    )
    | st.builds("{} {} {}".format, operands, operators, operands)
    | st.sampled_from(['search($s.bio, "x")', "fuzzy($h.title, $p, 1)"]),
    lambda inner: st.lists(inner, min_size=1, max_size=2).map(lambda found: f"not {{ {' '.join(found)} }}"),
    max_leaves=3,
)
some_reads = st.builds(
    "query q($p: {}) {{ match {{ $s: Sailor $s servesOn $h {} }} return {{ {} }} {} }}".format,
    st.sampled_from(["String", "I64?", "[String]", "Vector(2)", "Blob", "Ghost"]),
    st.lists(some_clauses, max_size=3).map(" ".join),
    st.lists(operands, min_size=1, max_size=3).map(", ".join),
    st.sampled_from(["", "limit 3", "limit $p", "order { $s.age } limit 1"])
    | operands.filter(lambda key: "nearest" not in key).map("order {{ {} desc }} limit 2".format)
    | st.tuples(operands, operands).map(lambda keys: f"order {{ {keys[0]}, {keys[1]} }}"),
)


@given(some_reads)
def test_any_read_of_known_names_is_checked_or_refused_with_a_code(text):
    """Names that exist, in places where they fit or do not: what fits also has an Arrow schema."""
    try:
        file = parse_queries(text, source="any.gq")
    except ParseError:
        return

    try:
        checked = check_query(file.queries[0], SAILORS, source=file.source)
    except QueryTypeError as error:
        refused = error
    else:
        assert result_schema(checked).names == [column.name for column in checked.columns]
        return
    assert refused.message.startswith(f"{refused.details['code']}: ")
