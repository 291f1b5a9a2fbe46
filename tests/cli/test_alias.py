"""`alias`: the address is in the configuration, the values come from the line."""

import pytest

from omnigraph.cli.aliases import call_of_alias
from omnigraph.cli.operator_config import read_operator_config

CONFIG = """
servers: { prod: { url: https://graph.example.org/ } }
defaults: { output: csv }
aliases:
  overdue:
    { server: prod, graph: artworks, query: overdue_loans, args: [before, kind], params: { kind: x, n: 3 }, format: kv }
  literal: { server: "https://other.example.org", query: q }
  file: { server: prod, query: queries/overdue.gq }
  nowhere: { server: nope, query: q }
  addressless: { query: q }
  queryless: { server: prod }
"""


@pytest.fixture
def config(configure):
    return read_operator_config({"OMNIGRAPH_HOME": str(configure(CONFIG).parent)})


def test_a_call_has_the_address_of_the_alias(config):
    call = call_of_alias("overdue", (), {}, form=None, config=config)

    assert (call.url, call.graph, call.query, call.format) == (
        "https://graph.example.org",
        "artworks",
        "overdue_loans",
        "kv",
    )
    assert call.params == {"kind": "x", "n": 3}


@pytest.mark.parametrize(
    ("words", "params", "expected"),
    [
        (("2026-01-31",), {}, {"before": "2026-01-31", "kind": "x", "n": 3}),
        (("29", "y"), {}, {"before": 29, "kind": "y", "n": 3}),
        (('"29"',), {"kind": "z"}, {"before": "29", "kind": "z", "n": 3}),
        (("[1, 2]", "null"), {"before": None}, {"before": None, "kind": None, "n": 3}),
        (("NaN", "{"), {}, {"before": "NaN", "kind": "{", "n": 3}),
    ],
)
def test_params_count_before_values_and_values_before_the_alias(words, params, expected, config):
    assert call_of_alias("overdue", words, params, form=None, config=config).params == expected


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [("overdue", None, "kv"), ("overdue", "json", "json"), ("literal", None, "csv"), ("literal", "table", "table")],
)
def test_the_format_of_the_line_counts_before_that_of_the_alias_and_the_defaults(name, form, expected, config):
    assert call_of_alias(name, (), {}, form=form, config=config).format == expected


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (("unknown",), ["'unknown'", "aliases:", "addressless, file, literal, nowhere, overdue, queryless"]),
        (("overdue", "1", "2", "3"), ["3 values", "before, kind"]),
        (("literal", "1"), ["takes no values"]),
        (("file",), ["queries/overdue.gq", "is a file"]),
        (("nowhere",), ["'nope'", "servers:", "prod"]),
        (("addressless",), ["'addressless'", "lacks `server`"]),
        (("queryless",), ["'queryless'", "lacks `query`"]),
        (("overdue", "--params", "[]"), ["--params"]),
        (("overdue", "--params", "{}", "--params-file", "x.json"), ["--params-file"]),
        (("overdue", "--format", "xml"), ["--format"]),
        ((), ["NAME"]),
    ],
)
def test_what_cannot_be_called_is_refused(line, parts, run, configure):
    configure(CONFIG)

    ran = run("alias", *line)

    assert ran.code == 2
    assert [part for part in parts if part not in ran.err] == []


def test_all_addresses_on_the_line_are_named_at_once_before_the_config_is_read(run, configure):
    configure("operator: [")

    given = ("--as", "a", "--cluster", "c", "--graph", "g", "--profile", "p", "--server", "s", "--store", "t")
    ran = run("alias", "x", *given)

    assert ran.code == 2
    assert "`alias` is a local command" in ran.err
    assert "does not apply (--server, --graph, --store, --cluster, --profile, --as)." in ran.err
    assert "`aliases.<name>`" in ran.err
    assert "does not apply (--uri, --target)." in run("alias", "x", "--target", "t", "--uri", "u").err


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("aliases: { a: { args: before } }", "aliases.a.args"),
        ("aliases: { a: { args: [1] } }", "aliases.a.args"),
        ("aliases: { a: { args: [x, x] } }", "twice"),
        ("aliases: { a: { params: [] } }", "aliases.a.params"),
        ("aliases: { a: { format: xml } }", "aliases.a.format"),
        ("aliases: { a: q }", "aliases.a"),
    ],
)
def test_an_alias_of_the_wrong_shape_is_an_error_of_the_file(text, part, run, configure):
    configure(text)

    ran = run("profile", "list")

    assert ran.code == 2
    assert "operator config" in ran.err
    assert part in ran.err
