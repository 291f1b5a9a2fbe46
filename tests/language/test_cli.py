"""`fmt`: schema and query files in their canonical form."""

import stat
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("workplace")

MESSY = "query q(){match{$s:Sailor}// who\nreturn{$s}}"
NEAT = "query q() {\n    match {\n        $s: Sailor\n    }  // who\n    return { $s }\n}\n"
MESSY_SCHEMA = "node Sailor{name:String@key}"
NEAT_SCHEMA = "node Sailor {\n    name: String @key\n}\n"


@pytest.fixture
def messy(workplace):
    workplace.joinpath("a.gq").write_text(MESSY)
    workplace.joinpath("b.pg").write_text(MESSY_SCHEMA)
    workplace.joinpath("neat.gq").write_text(NEAT)
    return workplace


def test_files_are_written_in_their_canonical_form(messy, run):
    ran = run("fmt", "a.gq", "b.pg", "neat.gq")

    assert ran.code == 0
    assert ran.out.splitlines() == ["formatted a.gq", "formatted b.pg", "2 of 3 files changed"]
    assert messy.joinpath("a.gq").read_text() == NEAT
    assert messy.joinpath("b.pg").read_text() == NEAT_SCHEMA
    assert sorted(path.name for path in messy.iterdir()) == ["a.gq", "b.pg", "neat.gq"]


def test_a_second_run_changes_nothing(messy, run):
    run("fmt", ".")
    before = messy.joinpath("a.gq").stat()

    ran = run("fmt", ".", "--json")

    assert ran.document == {"check": False, "changed": [], "unchanged": ["a.gq", "b.pg", "neat.gq"]}
    assert messy.joinpath("a.gq").stat().st_mtime_ns == before.st_mtime_ns


def test_check_writes_nothing_and_says_what_would_change(messy, run):
    ran = run("fmt", "--check", ".")

    assert ran.code == 1
    assert ran.out.splitlines() == ["would change a.gq", "would change b.pg", "2 of 3 files would change"]
    assert messy.joinpath("a.gq").read_text() == MESSY
    assert run("fmt", "--check", "neat.gq").code == 0


def test_nothing_is_written_when_one_file_does_not_parse(messy, run):
    messy.joinpath("broken.gq").write_text("query q {")

    ran = run("fmt", ".", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "parse_error"
    assert messy.joinpath("a.gq").read_text() == MESSY


def test_a_directory_is_searched_without_hidden_places(messy, run):
    for folder in ("deep/er", ".hidden", "__pycache__"):
        messy.joinpath(folder).mkdir(parents=True)
        messy.joinpath(folder, "s.pg").write_text(MESSY_SCHEMA)

    ran = run("fmt", ".", "--check", "--json")

    assert ran.document["changed"] == ["a.gq", "b.pg", "deep/er/s.pg"]


def test_the_schema_that_a_graph_keeps_is_left_alone(workplace, run):
    """A copy that differs from what was accepted blocks every later change of the schema."""
    workplace.joinpath("mine.pg").write_text(MESSY_SCHEMA)
    assert run("init", "--schema", "mine.pg", "graph").code == 0
    kept = workplace / "graph" / "_schema.pg"

    assert run("fmt", ".", "--json").document["changed"] == ["mine.pg"]
    assert run("fmt", "graph").code == 2
    refused = run("fmt", "graph/_schema.pg")
    assert (refused.code, "belongs to a graph" in refused.err) == (2, True)
    assert kept.read_text() == MESSY_SCHEMA


def test_links_and_permissions_stay(messy, run):
    messy.joinpath("a.gq").chmod(0o640)
    messy.joinpath("link.gq").symlink_to("a.gq")

    run("fmt", "link.gq")

    assert messy.joinpath("link.gq").is_symlink()
    assert messy.joinpath("a.gq").read_text() == NEAT
    assert stat.S_IMODE(messy.joinpath("a.gq").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "expected"), [(MESSY, NEAT), (MESSY_SCHEMA, NEAT_SCHEMA), ("// x", "// x\n"), ("", "")]
)
def test_standard_input_goes_to_standard_output(text, expected, run_process):
    ran = run_process("fmt", "-", stdin=text)

    assert (ran.code, ran.out, ran.err) == (0, expected, "")
    assert run_process("fmt", "-", "--check", stdin=expected).code == 0
    assert run_process("fmt", "-", "--check", stdin=f"{expected} ").code == (1 if expected else 0) or not expected


def test_standard_input_that_is_no_text(program):
    done = subprocess.run([program, "fmt", "-"], input=b"\xff", capture_output=True, check=False)

    assert done.returncode == 1
    assert b"not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("fmt",), ["FILE"]),
        (("fmt", "notes.txt"), ["notes.txt", ".pg", ".gq"]),
        (("fmt", "-", "a.gq"), ["standard input"]),
        (("fmt", "-", "--json"), ["--json"]),
    ],
)
def test_lines_that_cannot_be_followed(line, words, messy, run):
    ran = run(*line)

    assert ran.code == 2
    assert [word for word in words if word not in ran.err] == []


def test_formatting_queries_loads_no_parser_generator(messy):
    script = (
        "import sys; from omnigraph.cli.main import main; code = main(['fmt', 'a.gq']); "
        "print(code, [name for name in ('lark', 'lance', 'pyarrow', 'duckdb') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "0 []"
