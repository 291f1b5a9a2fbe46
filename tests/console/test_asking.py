"""What the Query page decides without a browser: colours, mistakes, fields, cells, charts, pictures, the command."""

import json
import shlex

import pytest

from omnigraph.catalog.compile import compile_schema
from omnigraph.client.values import StoredParameterInfo
from omnigraph.console.asking.asked import QueryAddress, asked_of
from omnigraph.console.asking.cells import grid_options
from omnigraph.console.asking.charts import ChartChoice, chart_option, choose_chart
from omnigraph.console.asking.cli_line import cli_line
from omnigraph.console.asking.drawn_rows import drawn_option
from omnigraph.console.asking.fields import given_texts, given_values, stored_field
from omnigraph.console.asking.highlighting import highlighted
from omnigraph.console.asking.looking import look_at, underlined
from omnigraph.console.asking.pictures import found_graph
from omnigraph.drawing.picture import NodeKey, PictureEdge
from omnigraph.drawing.signs import signs_of
from omnigraph.errors import ParamError
from support.console_graphs import EXAMPLE

CATALOG = compile_schema((EXAMPLE / "harbor.pg").read_text("utf-8"), source="harbor.pg", identity_domain="test")
COMMIT = "01J9ZK3V6Q0T8M7R5N2B4C6D8E"


def classes(text):
    return {text[mark["from"] : mark["to"]]: mark["class"].removeprefix("og-gq-") for mark in highlighted(text)}


def test_words_are_coloured_by_what_they_are_in_their_place():
    found = classes(
        'match { $a: Sailor { name: "Ana", age: 4.5 } } // é\nreturn { $a.limit, count($a) as n } limit 3 #'
    )

    assert found == {
        "match": "keyword",
        "$a": "variable",
        "Sailor": "type",
        '"Ana"': "string",
        "4.5": "number",
        "// é": "comment",
        "return": "keyword",
        "count": "keyword",
        "as": "keyword",
        "limit": "keyword",
        "3": "number",
        "#": "bad",
    }
    assert [mark["class"] for mark in highlighted("return { $a.limit }")] == ["og-gq-keyword", "og-gq-variable"]
    assert highlighted("x" * 30_000) == []


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("match { $a: Sailr } return { $a.name }", "Sailr"),
        ("/* é😀 */ match { $a: Sailor } return { $a.nme }", "nme"),
        ("match { $a: Sailor } return {  ", "{"),
        ("match { $a: Sailor } retrun { $a.name }", "retrun"),
    ],
)
def test_a_mistake_is_underlined_where_it_is(text, under):
    looked = look_at(text, None, CATALOG)

    marks = underlined(text, looked.problems)
    assert [text[mark["from"] : mark["to"]] for mark in marks] == [under]
    assert str(looked.problems[0]).startswith("Line 1, column ")
    assert looked.read is None


def test_a_text_says_what_it_needs():
    text = (
        "query one($name: String, $old: Bool?) { match { $a: Sailor { name: $name } } return { $a } }\n"
        'query two($tags: [String]) { insert Sailor { name: "x", rank: "mate", tags: $tags } }'
    )

    first, second = look_at(text, None, CATALOG), look_at(text, "two", CATALOG)

    assert (first.names, first.chosen, first.is_mutation) == (("one", "two"), "one", False)
    assert (second.chosen, second.is_mutation, second.problems) == ("two", True, ())
    assert [(field.name, field.type_text, field.is_yes_or_no) for field in first.fields] == [
        ("name", "String", False),
        ("old", "Bool?", True),
    ]
    assert first.read is not None
    assert look_at("  \n", None, CATALOG).names == ()
    assert look_at("match { $a: Nobody } return { $a }", None, None).problems == ()


def test_fields_give_values_of_their_types_and_nothing_where_nothing_was_typed():
    looked = look_at(
        "query q($name: String, $nick: String?, $age: I32, $tags: [String]?) "
        "{ match { $a: Sailor { name: $name } } return { $a.name } }",
        None,
        CATALOG,
    )
    stored = [
        stored_field(StoredParameterInfo(name="day", kind="date", nullable=False)),
        stored_field(StoredParameterInfo(name="n", kind="int", nullable=True)),
        stored_field(StoredParameterInfo(name="tags", kind="list", nullable=True, item_kind="string")),
    ]

    assert given_values(looked.fields, {"age": "3", "tags": '["a"]'}) == {"name": "", "age": 3, "tags": ["a"]}
    assert given_texts(looked.fields, {"name": "x", "other": "y"}) == {"name": "x"}
    assert given_values(stored, {"day": "2024-01-01", "n": "7"}) == {"day": "2024-01-01", "n": 7}
    with pytest.raises(ParamError, match="`\\$age` got 'three'"):
        given_values(looked.fields, {"age": "three"})


def test_the_command_is_quoted_for_a_shell():
    line = cli_line(
        "'/tmp/my art.omni'",
        text='match { $a: Sailor { name: "it\'s" } }\nreturn { $a }',
        name=None,
        texts_by_parameter={"name": "a b", "n": "3"},
        at="review",
        is_mutation=False,
    )
    stored = cli_line(
        "--server prod --graph g", text=None, name="by", texts_by_parameter={}, at=COMMIT, is_mutation=False
    )

    assert shlex.split(line)[:5] == [
        "omnigraph",
        "query",
        "/tmp/my art.omni",
        "-e",
        'match { $a: Sailor { name: "it\'s" } }\nreturn { $a }',
    ]
    assert shlex.split(line)[5:] == ["--param", "name=a b", "--param", "n=3", "--branch", "review"]
    assert stored == f"omnigraph query by --server prod --graph g --snapshot {COMMIT}"
    assert (
        cli_line("g", text="x", name=None, texts_by_parameter={}, at="main", is_mutation=True)
        == "omnigraph mutate g -e x"
    )


def test_cells_are_texts_and_numbers_that_a_browser_keeps():
    options = grid_options(("a.b", "n"), [("<b>", 2**60), (True, 1), (None, None), ({"id": "x"}, 2), ("y" * 5_000, 3)])

    cells = [row["c0"] for row in options["rowData"]]
    assert cells[:4] == ["<b>", "true", None, '{"id":"x"}']
    assert len(cells[4]) == 1_001
    assert options["rowData"][0]["c1"] == str(2**60)
    assert [column["headerName"] for column in options["columnDefs"]] == ["a.b", "n"]
    assert "type" not in options["columnDefs"][0]
    assert options["columnDefs"][1]["type"] == "rightAligned"
    json.dumps(options)


CHARTS = {
    "names make bars": ([("a", 1), ("b", 2.5)], ChartChoice(kind="bar", along=0, heights=(1,))),
    "moments make lines": ([(1, "2024-01-02"), (2, "2024-01-01")], ChartChoice(kind="line", along=1, heights=(0,))),
    "numbers alone make lines": ([(1, 2), (2, None)], ChartChoice(kind="line", along=0, heights=(1,))),
    "one number is counted out": ([(1,), (2,)], ChartChoice(kind="bar", along=None, heights=(0,))),
    "without numbers there is none": ([("a", True), ("b", None)], None),
    "nodes are no names": ([({"id": "x"}, 3)], ChartChoice(kind="bar", along=None, heights=(1,))),
}


@pytest.mark.parametrize(("rows", "choice"), CHARTS.values(), ids=CHARTS)
def test_a_chart_is_chosen_by_the_columns(rows, choice):
    columns = [f"c{place}" for place in range(len(rows[0]))]

    assert choose_chart(columns, rows) == choice
    if choice is not None:
        option = chart_option(choice, columns, rows)
        assert option["tooltip"]["renderMode"] == "richText"
        assert len(option["series"]) == len(choice.heights)
        json.dumps(option)


def test_lines_run_along_time_and_bars_are_as_many_as_can_be_read():
    line = chart_option(
        ChartChoice(kind="line", along=0, heights=(1,)), ("d", "n"), [("2024-02-01", 2), ("2024-01-01", 1)]
    )
    bars = chart_option(ChartChoice(kind="bar", along=0, heights=(1,)), ("a", "n"), [(f"x{n}", n) for n in range(500)])

    assert line["xAxis"]["data"] == ["2024-01-01", "2024-02-01"]
    assert line["series"][0]["data"] == [1, 2]
    assert len(bars["xAxis"]["data"]) == 60


def test_rows_with_nodes_are_a_picture_joined_as_the_pattern_says():
    read = look_at("match { $a: Sailor  $b: Ship  $a servesOn $b } return { $a, $b }", None, CATALOG).read
    rows = [
        ({"id": "1", "name": "Ana"}, {"id": "2", "hull": "H"}),
        ({"id": "3", "name": "Bo"}, {"id": "2", "hull": "H"}),
    ]

    found = found_graph(read, ("a", "b"), rows)
    guessed = found_graph(None, ("a", "n"), [({"id": "1", "name": "Ana"}, 2)])

    assert found is not None
    assert [(node.key.type_name, node.label) for node in found.picture.nodes] == [
        ("Sailor", "Ana"),
        ("Ship", "H"),
        ("Sailor", "Bo"),
    ]
    ship = NodeKey("Ship", "2")
    assert found.picture.edges == (
        PictureEdge(type_name="ServesOn", source=NodeKey("Sailor", "1"), target=ship),
        PictureEdge(type_name="ServesOn", source=NodeKey("Sailor", "3"), target=ship),
    )
    option = drawn_option(found, signs_of(["Sailor", "Ship"]), is_dark=False)
    assert len(option["series"][0]["data"]) == 3
    assert guessed is not None
    assert [(node.key.type_name, node.label) for node in guessed.picture.nodes] == [("a", "Ana")]
    assert found_graph(None, ("n",), [(2,)]) is None
    many = found_graph(None, ("a",), [({"id": str(place)},) for place in range(600)])
    assert many is not None
    assert (len(many.picture.nodes), many.left_out) == (500, 100)


def test_nodes_of_two_types_may_share_an_id():
    read = look_at("match { $a: Sailor  $b: Ship  $a servesOn $b } return { $a, $b }", None, CATALOG).read

    found = found_graph(read, ("a", "b"), [({"id": "1", "name": "Ana"}, {"id": "1", "hull": "H"})])

    assert found is not None
    assert len(found.picture.nodes) == 2


def test_the_address_holds_the_page_and_gives_it_back():
    asked = QueryAddress(text="match {…} & ü", name="q", typed={"name": "a=b"}, view="chart", was_run=True)

    assert asked_of({key: value for key, value in asked.parts().items() if value is not None}) == asked
    assert asked_of({"view": "<x>", "run": "yes"}) == QueryAddress(typed={})
    assert QueryAddress(text="x" * 50_000, was_run=True).parts() == {"view": None}
