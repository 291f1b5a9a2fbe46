"""Cutting text into statements, and the names of views."""

import pytest

from omnigraph.catalog.model import TableKey
from omnigraph.connectors.spark.shell import all_statements, statements_in
from omnigraph.connectors.spark.views import view_names
from omnigraph.errors import InvalidTarget


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("select 1", [], "select 1"),
        ("select 1; select 2;", ["select 1", "select 2"], ""),
        ("select ';' from a; x", ["select ';' from a"], " x"),
        ('select ";", `a;b` from t;', ['select ";", `a;b` from t'], ""),
        ("select 'it''s;', 'a\\';' ;", ["select 'it''s;', 'a\\';'"], ""),
        ("-- one; two\nselect 1;", ["-- one; two\nselect 1"], ""),
        ("/* ; */ select 4 / 2 - 1;", ["/* ; */ select 4 / 2 - 1"], ""),
        (" ; ;\n-- nothing\n;", [], ""),
        ("select 'open; ", [], "select 'open; "),
    ],
)
def test_statements_end_at_semicolons_that_are_no_part_of_them(text: str, whole: list[str], rest: str) -> None:
    assert statements_in(text) == (whole, rest)


def test_the_last_statement_needs_no_semicolon_and_comments_are_none() -> None:
    assert all_statements("select 1; select 2 -- and no more") == ["select 1", "select 2 -- and no more"]
    assert all_statements(" -- nothing\n") == []


def keys(*names: str) -> list[TableKey]:
    return [TableKey(name) for name in names]


def test_views_are_called_like_types_and_by_their_kind_where_two_share_a_name() -> None:
    assert view_names(keys("edge:Knows", "node:Person"), "og") == {
        "node:Person": "og_Person",
        "edge:Knows": "og_Knows",
    }
    assert view_names(keys("node:Ship", "edge:ship", "node:Port"), "") == {
        "node:Port": "Port",
        "node:Ship": "node_Ship",
        "edge:ship": "edge_ship",
    }


def test_names_that_spark_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(InvalidTarget, match="node:Ship, node:ship"):
        view_names(keys("node:Ship", "node:ship"), "og")
    with pytest.raises(InvalidTarget, match="letters, digits and underscores"):
        view_names(keys("node:Ship"), "a.b")
