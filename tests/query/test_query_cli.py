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


def test_a_query_is_named_before_the_graph(run, graph):
    one = run("query", "few", graph, "--query", "ask.gq", "--param", "n=1", "--json")
    stored = run("query", "few", "--store", graph, "--query", "ask.gq", "--param", "n=1", "--json")
    older = run("query", graph, "--name", "few", "--query", "ask.gq", "--param", "n=1", "--json")

    assert (one.code, one.err) == (0, "")
    assert one.document == stored.document == older.document
    assert older.err == "warning: --name is deprecated; use the positional form, `query few`\n"
    twice = run("query", "few", graph, "--name", "few", "--query", "ask.gq")
    assert (twice.code, "named twice" in twice.err) == (2, True)


def test_a_lone_word_is_the_graph_where_it_looks_like_one_or_is_there(run, graph, monkeypatch, seed_files):
    plain = seed_files.joinpath(graph).rename(seed_files / "few")  # called like a query
    line = ("few", "--query", "ask.gq", "--param", "n=1", "--json")

    assert run("query", *line).document["query_selection"]["names"] == ["by_name", "few", "add"]
    assert run("query", *line, "--store", "few").document["query_name"] == "few"
    monkeypatch.setenv("OMNIGRAPH_STORE", str(plain))
    assert run("query", "by_name", "--query", "ask.gq", "--param", "name=x", "--json").document["row_count"] == 0
    absent = run("query", "art-2", "--query", "ask.gq", "--name", "few", "--param", "n=1")
    assert (absent.code, "art-2" in absent.err) == (1, True)


def test_a_graph_before_the_name_of_a_query_is_refused_with_the_right_line(run, graph):
    ran = run("query", graph, "few", "--query", "ask.gq")

    assert ran.code == 2
    assert f"`omnigraph query few {graph}`" in ran.err


@pytest.mark.parametrize("verb", ["query", "mutate"])
def test_a_name_alone_is_a_stored_query_which_storage_has_none_of(run, graph, verb):
    ran = run(verb, "by_name", graph)

    assert (ran.code, ran.out) == (2, "")
    assert [word for word in ("needs a server", "-e", "--query") if word not in ran.err] == []


def test_a_stored_mutation_of_a_server_has_the_actor_of_its_token(run):
    ran = run("mutate", "add", "--server", "https://graph.example.org", "--as", "act-x")

    assert ran.code == 2
    assert "bearer token" in ran.err


@pytest.mark.parametrize("old", ["lint", "check"])
def test_lint_was_a_word_of_query_once(run, graph, old):
    ran = run("query", old, "--query", "ask.gq", graph)

    assert (ran.code, ran.out) == (0, run("lint", "--query", "ask.gq", graph).out)
    assert f"`query {old}` is deprecated; use `omnigraph lint`" in ran.err


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


def test_an_empty_snapshot_is_not_the_head(run, graph):
    ran = run("query", graph, "-e", ALL, "--snapshot", "")

    assert ran.code == 2
    assert "--snapshot is empty" in ran.err


@pytest.mark.parametrize("flag", ["--explain", "--analyze"])
def test_steps_are_not_written_where_rows_belong(run, graph, tmp_path, flag):
    out = tmp_path / "rows.csv"

    ran = run("query", graph, "-e", ALL, "--out", str(out), flag)

    assert ran.code == 2
    assert "--out" in ran.err
    assert not out.exists()


def test_parameters_nested_without_end_are_no_defect_of_ours(run, graph, seed_files):
    deep = "[" * 100_000
    seed_files.joinpath("deep.json").write_text(deep, encoding="utf-8")
    text = "query q($n: [I64]) { match { $a: Artist } return { $a.name } }"

    in_file = run("query", graph, "-e", text, "--params-file", "deep.json")
    in_line = run("query", graph, "-e", text, "--param", f"n={deep}")

    assert (in_file.code, in_line.code) == (2, 1)
    assert "--params-file is not JSON" in in_file.err
    assert "$n" in in_line.err


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_json_keeps_what_other_programs_take_for_the_end_of_a_line(run, graph, separator):
    text = "query q($t: String) { match { $a: Artist } return { $t } limit 1 }"
    words = ("query", graph, "-e", text, "--param", f"t=a{separator}b")

    found = json.loads(run(*words, "--format", "json").out)

    assert found["rows"] == [{"t": f"a{separator}b"}]
    assert run(*words, "--json").document == found


@pytest.mark.parametrize("form", ["table", "kv"])
def test_a_value_neither_leaves_its_line_nor_speaks_to_the_terminal(run, graph, form):
    text = "query q($t: String) { match { $a: Artist } return { $t } limit 1 }"
    ran = run("query", graph, "-e", text, "--param", "t=a\nb\u2028c\x1b[31md", "--format", form)

    assert r"a\nb\u2028c\x1b[31md" in ran.out
    assert "\x1b" not in ran.out
