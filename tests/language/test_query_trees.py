"""Laws of the query language: printing and parsing undo each other, formatting changes layout only."""

import random
import re
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import ParseError
from omnigraph.language.query import parse_queries, spell_queries
from omnigraph.language.query.formatting import format_queries
from omnigraph.language.query.tokens import read_tokens_and_comments
from support.query_trees import files

CONTRACT = """
query mentors_of($name: String, $n: I64?) @description("who \\"mentors\\" whom") {
    match {
        $s: Sailor { name: $name, tags: "nav" }
        $s $m:<mentors> $x  // one row per edge
        $x mentors{1,3} $y
        $y.age >= 30
        search($y.bio, "ice")
        not { $y servesOn $h  not { $h.title contains "Sea" } }
    }
    return { $s.name, $m.since as since, count($y) as n, [1.0, -2.5] as v, date("2026-02-14") as d, now() }
    order { n desc, rrf(nearest($h.vec, [1.0, 0.0]), bm25($h.title, "sea"), 60) }
    limit $n
}
query change($r: String) {
  insert Sailor { name: "Fi", rank: $r, age: null } update Sailor set { age: 1 } where id = $r
}
query gone() { delete Mentors where from = "Ana" }
"""


@settings(max_examples=30)
@given(files)
def test_parsing_undoes_printing(file):
    parsed = parse_queries(spell_queries(file), source="printed.gq")

    assert parsed == file
    # 1, 1.0 and true are equal in Python, and three things in a query.
    assert repr(parsed.queries) == repr(file.queries)


@settings(max_examples=30)
@given(files)
def test_formatting_keeps_the_meaning_and_is_done_once(file):
    formatted = format_queries(spell_queries(file), source="printed.gq")

    assert parse_queries(formatted, source="formatted.gq") == file
    assert format_queries(formatted, source="formatted.gq") == formatted


@settings(max_examples=30)
@given(files, st.integers(0, 2**32))
def test_comments_survive_wherever_they_stand(file, seed):
    text, count = commented(spell_queries(file), random.Random(seed))

    formatted = format_queries(text, source="commented.gq")

    assert sorted(set(re.findall(r"note\d+", formatted))) == sorted(f"note{number}" for number in range(count))
    assert parse_queries(formatted, source="formatted.gq") == file
    assert format_queries(formatted, source="formatted.gq") == formatted


def commented(text: str, chance: random.Random) -> tuple[str, int]:
    """Put comments of both kinds between some tokens, on lines of their own and behind others."""
    pieces, count, end = [], 0, 0
    for _, _, start, token_end in read_tokens_and_comments(text)[:-1]:
        pieces.append(text[end:start])
        if chance.random() < 0.2:
            before, after = chance.choice([("/*", "*/ "), ("//", "\n"), ("\n//", "\n"), ("\n\n/*", "*/\n\n\n")])
            pieces.append(f" {before} note{count} {after}")
            count += 1
        pieces.append(text[start:token_end])
        end = token_end
    return "".join((*pieces, text[end:])), count


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "replace")))
def test_any_text_is_parsed_or_refused(text):
    parse_or_refuse(text)


@given(st.lists(st.sampled_from(re.findall(r'"[^"]*"|[\w$]+|\S', CONTRACT)), max_size=40).map(" ".join))
def test_any_mixture_of_tokens_is_parsed_or_refused(text):
    parse_or_refuse(f"query q() {{ {text}")


@given(st.data())
def test_any_damage_to_a_query_is_parsed_or_refused(data):
    text = CONTRACT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.text(max_size=4)) + text[end:]
    parse_or_refuse(text)


def parse_or_refuse(text):
    try:
        file = parse_queries(text, source="any.gq")
    except ParseError as error:
        refused = error
    else:
        assert parse_queries(spell_queries(file), source="again.gq") == file
        return
    assert refused.details["span"]["end"] > refused.details["span"]["start"]
    assert refused.details["errors"]


def test_reading_takes_time_in_proportion_to_the_text():
    """Counts steps of the interpreter, not seconds: ten times the text may take ten times the steps, not a hundred."""
    for unclosed in ('"', "/*", '"\\" ', "/* * ", "$s.a = 1 ", "not { $s.a = 1 } ", "[1,", "query q("):
        small, large = (steps_of(f"match {{ {unclosed * count}") for count in (50, 500))
        assert large < small * 25, unclosed


def steps_of(text: str) -> int:
    steps = 0

    def count(*_):
        nonlocal steps
        steps += 1
        return count

    sys.settrace(count)
    try:
        parse_queries(text, source="long.gq")
    except ParseError:
        pass
    finally:
        sys.settrace(None)
    return steps
