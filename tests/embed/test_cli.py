"""`embed` as a user types it: over a graph, over files, and what it refuses."""

import json
from pathlib import Path

import pytest

from support.embedding_server import KEY, embedding_server

pytestmark = pytest.mark.usefixtures("workplace")

SCHEMA = "node Doc { slug: String @key  title: String  vec: Vector(4) @embed(title) }\n"
SEED = '{"type":"Doc","data":{"slug":"a","title":"alpha"}}\n{"type":"Doc","data":{"slug":"b","title":"beta"}}\n'
SPEC = {"dimension": 4, "types": {"Doc": {"target": "vec", "fields": ["title"]}}}
MOCK = [-0.5420488, -0.47179943, 0.16090508, 0.67653376]


@pytest.fixture(autouse=True)
def docs(workplace, run) -> str:
    """A graph with two texts and no vector, and the files of the other form."""
    Path("docs.pg").write_text(SCHEMA)
    Path("seed.jsonl").write_text(SEED)
    Path("spec.json").write_text(json.dumps(SPEC))
    assert run("init", "--schema", "docs.pg", "docs.omni").code == 0
    assert run("load", "docs.omni", "--data", "seed.jsonl", "--mode", "append").code == 0
    return "docs.omni"


@pytest.fixture
def mock(monkeypatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")


def vectors(run) -> list[list[float] | None]:
    return [json.loads(line)["data"]["vec"] for line in run("export", "docs.omni").out.splitlines()]


def test_a_graph_is_embedded_once(run, mock):
    ran = run("embed", "docs.omni", "--as", "act-ines", "--json")

    assert ran.code == 0
    assert list(ran.document) == [
        "input",
        "output",
        "records",
        "selected_records",
        "embedded_records",
        "cleaned_records",
        "mode",
        "dimension",
        "model",
        "engine",
        "engine_reason",
        "commit",
    ]
    assert (ran.document["input"], ran.document["embedded_records"]) == ("docs.omni", 2)
    assert (ran.document["commit"]["kind"], ran.document["commit"]["actor_id"]) == ("embed", "act-ines")
    assert ran.err == ""
    assert vectors(run)[0] == MOCK
    again = run("embed", "docs.omni")
    assert again.out == "embedded 0 records (selected 0, cleaned 0)\nnothing changed, so there is no new commit\n"


def test_files_are_embedded_without_a_graph(run, mock):
    ran = run("embed", "--input", "seed.jsonl", "--output", "out.jsonl", "--spec", "spec.json")

    assert (ran.code, ran.out) == (0, "embedded 2 records (selected 2, cleaned 0)\n")
    assert len(json.loads(Path("out.jsonl").read_text().splitlines()[0])["data"]["vec"]) == 4


def test_a_manifest_names_its_files_relative_to_itself(run, mock):
    Path("kit/data").mkdir(parents=True)
    Path("kit/data/seed.jsonl").write_text(SEED)
    Path("kit/seed.yaml").write_text(
        "sources: { raw_seed: data/seed.jsonl }\n"
        "embeddings: { dimension: 4, model: x, types: { Doc: { target: vec, fields: [title] } } }\n"
    )

    ran = run("embed", "--seed", "kit/seed.yaml", "--json")

    assert ran.document["output"] == "kit/build/seed.embedded.jsonl"
    assert ran.document["embedded_records"] == 2
    assert "commit" not in ran.document
    assert "warning: kit/seed.yaml: `model` is ignored" in ran.err
    assert Path("kit/build/seed.embedded.jsonl").read_text().count("vec") == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--input", "seed.jsonl", "--output", "o.jsonl", "--spec", "spec.json", "docs.omni"), "addresses no graph"),
        (("--input", "seed.jsonl", "--store", "docs.omni"), "does not apply"),
        (("--input", "seed.jsonl", "--seed", "s.yaml"), "exclude each other"),
        (("--input", "seed.jsonl", "--spec", "spec.json"), "--output PATH"),
        (("--input", "seed.jsonl", "--output", "o.jsonl"), "--spec FILE"),
        (("docs.omni", "--clean"), "--clean belongs to `embed` over files"),
        (("docs.omni", "--select", "a=b"), "--select belongs to `embed` over files"),
        (
            ("--input", "seed.jsonl", "--output", "o.jsonl", "--spec", "spec.json", "--clean", "--reembed-all"),
            "exclude each other",
        ),
        (("--input", "seed.jsonl", "--output", "o.jsonl", "--spec", "spec.json", "--type", "Ghost"), "Ghost"),
    ],
)
def test_words_that_do_not_go_together_are_refused(run, mock, arguments, reason):
    ran = run("embed", *arguments)

    assert ran.code == 2
    assert reason in ran.err
    assert not Path("o.jsonl").exists()


def test_a_provider_without_a_key_is_exit_1_and_changes_nothing(run):
    ran = run("embed", "docs.omni", "--json")

    assert ran.code == 1
    assert ran.document["kind"] == "embedding_config"
    assert ran.document["embedding_config"] == {"provider": "openai-compatible"}
    assert vectors(run) == [None, None]


def test_a_provider_that_fails_is_exit_8_and_the_key_is_nowhere(run, monkeypatch):
    with embedding_server() as server:
        for name, value in server.environ().items():
            monkeypatch.setenv(name, value)
        server.misbehave(*[{"status": 503, "body": f"overloaded {KEY}"}] * 4)
        ran = run("embed", "docs.omni", "--json", "--debug")
        fixed = run("embed", "docs.omni", "--json")

    assert ran.code == 8
    assert ran.document["embedding_provider"] == {"provider": "openai-compatible", "status": 503}
    assert KEY not in ran.out + ran.err
    assert "overloaded …" in ran.err
    assert (fixed.code, fixed.document["embedded_records"]) == (0, 2)


def test_the_old_spelling_of_reembed_all_works_with_a_warning(run, mock):
    run("embed", "docs.omni")

    ran = run("embed", "docs.omni", "--reembed_all", "--json")

    assert "--reembed-all" in ran.err
    assert ran.document["mode"] == "reembed_all"
