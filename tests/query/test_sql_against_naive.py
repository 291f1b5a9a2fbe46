"""Random reads of random graphs as one SQL statement, on DuckDB, against an evaluator that tries everything."""

from hypothesis import given, settings

from omnigraph.query.sql.answers import answer_over
from omnigraph.query.sql.statement import Asked
from query.test_against_naive import NOW_MS, WORLD, checked, insist_equal
from support import query_worlds
from support.naive_query import Naive, NaiveGraph


@given(graph=query_worlds.graphs(), text=query_worlds.reads())
@settings(max_examples=100, deadline=None)
def test_one_statement_answers_as_trying_everything_does(graph: NaiveGraph, text: str) -> None:
    read = checked(text, WORLD)

    found = answer_over(query_worlds.tables(graph, WORLD), Asked(read=read, parameters={}, now_ms=NOW_MS))

    insist_equal(found, Naive(graph, read, {}, NOW_MS))
