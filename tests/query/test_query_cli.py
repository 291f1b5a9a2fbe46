"""`omnigraph query`: its queries and parameters, its formats, its exit codes."""

import json

import pytest

import omnigraph

pytestmark = pytest.mark.usefixtures("workplace")

ALL = "match { $a: Artist } return { $a.name, $a.born } order { $a.name }"
QUERIES = """\
query by_name($name: String) { match { $a: Artist { name: $name } } return { $a.name } }
query few($n: I32) { match { $a: Artist } return { $a.name } order { $a.name } limit $n }
query add($name: String) { insert Artist { name: $name } }
"""


@pytest.fixture
def graph(art, seed_files) -> str:
    seed_files.joinpath("ask.gq").write_text(QUERIES, encoding="utf-8")
    batch = omnigraph.open(art)
    with batch.write() as write:
        write.upsert("Artist", [{"name": 'Quo "te", x', "born": None}])
    return art


def rows_of(run, graph: str, *words: str) -> list[dict[str, object]]:
    ran = run("query", graph, *words, "--json")
    assert ran.code == 0, ran.err
    return ran.document["rows"]


def test_the_document_holds_the_rows_and_the_commit_that_was_read(run, graph):
    head = run("commit", "show", "main", graph, "--json").document["graph_commit_id"]

    document = run("query", graph, "-e", ALL, "--json").document

    assert list(document) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    assert (document["query_name"], document["graph_commit_id"]) == ("_", head)
    assert document["target"] == {"branch": "main", "snapshot": None}
    assert document["columns"] == ["a.name", "a.born"]
    assert document["row_count"] == len(document["rows"]) > 1
    assert run("query", graph, "-e", ALL, "--format", "json").document == document


def test_each_format_says_the_same(run, graph):
    rows = rows_of(run, graph, "-e", ALL)

    lines = [json.loads(line) for line in run("query", graph, "-e", ALL, "--format", "jsonl").out.splitlines()]
    csv = run("query", graph, "-e", ALL, "--format", "csv").out.splitlines()
    table = run("query", graph, "-e", ALL).out.splitlines()
    kv = run("query", graph, "-e", ALL, "--format", "kv").out.splitlines()

    assert lines[0]["kind"] == "metadata"
    assert lines[1:] == rows
    assert csv[0] == "a.name,a.born"
    assert '"Quo ""te"", x",' in csv
    assert table[0] == f"{len(rows)} rows from branch main via _"
    assert [line.split(" | ")[0].strip() for line in table[3:]] == [row["a.name"] for row in rows]
    assert {len(line) for line in table[1:]} == {len(table[1])}
    assert kv[:2] == [table[0], "row 1"]
    assert kv.count("") == len(rows) - 1


def test_no_rows_are_said_to_be_none(run, graph):
    nobody = 'match { $a: Artist { name: "Nobody" } } return { $a.name }'

    for form in ("table", "kv"):
        assert run("query", graph, "-e", nobody, "--format", form).out.splitlines()[1:] == ["(no rows)"]
    assert run("query", graph, "-e", nobody, "--format", "csv").out == "a.name\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--param", "name=Ines"),
        ("--params", '{"name": "Ines"}'),
    ],
)
def test_parameters_come_one_by_one_or_as_an_object(run, graph, words):
    name = rows_of(run, graph, "-e", ALL)[0]["a.name"]
    words = tuple(word.replace("Ines", str(name)) for word in words)

    assert rows_of(run, graph, "--query", "ask.gq", "--name", "by_name", *words) == [{"a.name": name}]


def test_older_states_and_branches_can_be_asked(run, graph):
    count = ("-e", "match { $a: Artist } return { count($a) as n }")
    assert run("branch", "create", "review", graph).code == 0
    opened = omnigraph.open(graph)
    with opened.write(branch="review") as write:
        write.insert("Artist", [{"name": "Zoe"}])
    (now,) = rows_of(run, graph, *count)

    (there,) = rows_of(run, graph, *count, "--branch", "review")
    (before,) = rows_of(run, graph, *count, "--snapshot", "main~1")

    assert there["n"] == now["n"] + 1 == before["n"] + 2
    shown = run("query", graph, *count, "--snapshot", "main~1")
    assert shown.out.splitlines()[0] == "1 row from snapshot main~1 via _"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "needs a query"),
        (("-e", " "), 2, "empty"),
        (("-e", ALL, "--query", "ask.gq"), 2, "one of them"),
        (("-e", ALL, "--branch", "main", "--snapshot", "main~1"), 2, "one of them"),
        (("--query", "ask.gq"), 2, "by_name, few, add"),
        (("--query", "ask.gq", "--name", "by_nam"), 1, "not found"),
        (("--query", "ask.gq", "--name", "add", "--param", "name=x"), 1, "omnigraph mutate"),
        (("--query", "ask.gq", "--name", "by_name"), 1, "$name"),
        (("--query", "ask.gq", "--name", "by_name", "--param", "nam=x"), 1, "$nam"),
        (("--query", "ask.gq", "--name", "few", "--param", "n=-1"), 1, "not negative"),
        (("--query", "ask.gq", "--name", "few", "--params", "[1]"), 2, "JSON object"),
        (("-e", "match { $a: Artis } return { $a.name }"), 1, "T1"),
        (("-e", "match { $a: Artist return"), 1, "<-e>:1"),
        (("-e", ALL, "--branch", "nowhere"), 1, "nowhere"),
    ],
)
def test_what_cannot_be_asked_is_refused(run, graph, words, code, said):
    ran = run("query", graph, *words)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_plan_is_shown_without_running_it_and_with_times_after(run, graph):
    line = ("query", graph, "--query", "ask.gq", "--name", "by_name")

    plan = run(*line, "--explain", "--json").document
    done = run(*line, "--analyze", "--param", "name=Nobody", "--json").document

    assert [step["step"] for step in plan["steps"]] == ["find $a: Artist by name = $name", "return $a.name"]
    assert plan["ms"] is None
    assert [step["rows"] for step in done["steps"]] == [0, 0]
    assert done["row_count"] == 0
    assert done["ms"] > 0
    assert "ms" in run(*line, "--analyze", "--param", "name=Nobody").out


def test_the_old_word_still_works(run, graph):
    ran = run("read", graph, "-e", ALL)

    assert ran.code == 0
    assert "`read` is deprecated" in ran.err


def test_wide_cells_are_cut_or_wrapped_as_configured(run, graph, monkeypatch, tmp_path):
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    for layout, expected in (("truncate", ["abc…"]), ("wrap", ["abcd", "efgh"])):
        config = f"defaults:\n  table_max_column_width: 4\n  table_cell_layout: {layout}\n"
        tmp_path.joinpath("config.yaml").write_text(config, encoding="utf-8")

        ran = run("query", graph, "-e", 'match { $a: Artist } return { "abcdefgh" as wide } limit 1')

        assert [line.rstrip() for line in ran.out.splitlines()[3:]] == expected
