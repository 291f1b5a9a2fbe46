"""Embedding load files: what changes, what is copied byte for byte, and what leaves no trace."""

import gzip
import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.base.events import Event, Warned
from omnigraph.errors import EmbeddingProvider, InvalidRecord, Io, Usage
from omnigraph.pipeline.embed.result import EmbedResult
from omnigraph.providers.config import EmbedConfig
from support.embedding_server import embedding_server

MOCK = EmbedConfig.from_environ({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"})
SPEC = {"dimension": 4, "types": {"Doc": {"target": "vec", "fields": ["title"]}}}
EXAMPLE = [
    b'{"type":"Doc","data":{"title":"alpha guide"}}\n',
    b'{ "type": "Doc", "data": {"title": "x", "vec": [1,0,0,0] } }\r\n',
    b'{"edge":"Cites","from":"a","to":"b"}\n',
]


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def embed(lines: list[bytes], **options) -> tuple[EmbedResult, list[bytes]]:
    Path("in.jsonl").write_bytes(b"".join(lines))
    result = omnigraph.embed_files("in.jsonl", "out.jsonl", **{"spec": SPEC, "config": MOCK, **options})
    return result, Path("out.jsonl").read_bytes().splitlines(keepends=True)


def test_the_documented_example_gives_the_documented_vector():
    result, lines = embed(EXAMPLE)

    assert lines[0] == (
        b'{"type":"Doc","data":{"title":"alpha guide","vec":[-0.6872116,0.68429357,0.10875684,0.21829914]}}\n'
    )
    assert lines[1:] == EXAMPLE[1:]
    assert (result.records, result.selected_records, result.embedded_records) == (3, 2, 1)
    assert (result.mode, result.dimension, result.model) == ("fill_missing", 4, "")


def test_a_changed_record_keeps_its_order_and_its_numbers():
    _, lines = embed([b'{"data":{"vec":null,"n":1.50,"big":123456789012345678901,"title":"\\u00e9"},"type":"Doc"}\n'])

    assert lines[0].startswith(b'{"data":{"vec":[')
    assert b'"n":1.50,"big":123456789012345678901,"title":"\xc3\xa9"},"type":"Doc"}' in lines[0]


def test_blank_lines_are_dropped_and_an_empty_vector_counts_as_missing():
    result, lines = embed([b"\n", b'{"type":"Doc","data":{"title":"a","vec":[]}}\n', b"  \n"])

    assert len(lines) == 1
    assert (result.records, result.embedded_records) == (1, 1)


def test_a_second_run_over_the_output_changes_nothing():
    embed(EXAMPLE)
    before = Path("out.jsonl").read_bytes()

    result = omnigraph.embed_files("out.jsonl", "out.jsonl", spec=SPEC, config=MOCK)

    assert result.embedded_records == 0
    assert Path("out.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "mode", "embedded", "selected"),
    [
        ({"reembed_all": True}, "reembed_all", 2, 2),
        ({"select": ["title=x"]}, "reembed_selected", 1, 1),
        ({"select": [" Doc : title = x ", "title=nothing"]}, "reembed_selected", 1, 1),
        ({"types": ["Doc"]}, "fill_missing", 1, 2),
    ],
)
def test_modes_and_selectors_choose_the_records(options, mode, embedded, selected):
    result, lines = embed(EXAMPLE, **options)

    assert (result.mode, result.embedded_records, result.selected_records) == (mode, embedded, selected)
    assert sum(line not in EXAMPLE for line in lines) == embedded


def test_clean_removes_vectors_and_needs_no_provider():
    result, lines = embed(EXAMPLE, clean=True, config=None)

    assert json.loads(lines[1]) == {"type": "Doc", "data": {"title": "x"}}
    assert (result.cleaned_records, result.embedded_records, result.model) == (1, 0, "")
    assert lines[0] == EXAMPLE[0]


def test_the_text_names_the_type_and_every_field_that_says_something():
    spec = {"dimension": 2, "types": {"Doc": {"target": "vec", "fields": ["title", "tags", "n", "ok", "o", "none"]}}}
    record = {"title": "  a ", "tags": ["x", "", None, "y"], "n": 2, "ok": True, "o": {"k": [1]}, "none": None}
    with embedding_server() as server:
        config = EmbedConfig.from_environ(server.environ())

        embed([json.dumps({"type": "Doc", "data": record}).encode() + b"\n"], spec=spec, config=config)

    assert server.texts == ['type: Doc\ntitle: a\ntags: x, y\nn: 2\nok: true\no: {"k":[1]}']


def test_a_broken_line_is_found_before_the_provider_is_asked():
    with embedding_server() as server:
        config = EmbedConfig.from_environ(server.environ())
        with pytest.raises(InvalidRecord) as caught:
            embed([EXAMPLE[0], b"\n", b'{"type":"Doc"}\n', b"{oops\n"], config=config)

    assert [(entry["line"], entry["code"]) for entry in caught.value.details["errors"]] == [
        (3, "bad_envelope"),
        (4, "invalid_json"),
    ]
    assert server.requests == []
    assert not Path("out.jsonl").exists()


def test_a_provider_that_fails_leaves_the_old_output_and_nothing_else():
    Path("out.jsonl").write_text("old\n")
    with embedding_server() as server:
        server.misbehave({"status": 400, "body": "no"})
        with pytest.raises(EmbeddingProvider):
            embed(EXAMPLE, config=EmbedConfig.from_environ(server.environ()))

    assert Path("out.jsonl").read_text() == "old\n"
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_directory_gives_a_directory_with_the_same_names():
    Path("in/b").mkdir(parents=True)
    Path("in/a.jsonl").write_bytes(EXAMPLE[0])
    Path("in/b/c.ndjson.gz").write_bytes(gzip.compress(EXAMPLE[1]))

    for _ in range(2):
        omnigraph.embed_files("in", "out", spec=SPEC, config=MOCK)

    assert b'"vec":[-0.6872116' in Path("out/a.jsonl").read_bytes()
    assert gzip.decompress(Path("out/b/c.ndjson.gz").read_bytes()) == EXAMPLE[1]
    assert sorted(path.name for path in Path().iterdir()) == ["in", "out"]


def test_a_directory_that_holds_something_else_is_not_replaced():
    Path("in").mkdir()
    Path("in/a.jsonl").write_bytes(EXAMPLE[0])
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("ten years of work")

    with pytest.raises(Io, match=r"thesis\.tex"):
        omnigraph.embed_files("in", "out", spec=SPEC, config=MOCK)

    assert Path("out/thesis.tex").exists()


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"dimension": 0, "types": SPEC["types"]}, "dimension"),
        ({"dimension": 4, "types": {}}, "types"),
        ({"dimension": 4, "types": {"Doc": {"target": "", "fields": ["a"]}}}, "Doc.target"),
        ({"dimension": 4, "types": {"Doc": {"target": "v", "fields": []}}}, "Doc.fields"),
    ],
)
def test_a_spec_that_says_too_little_is_refused(spec, named):
    with pytest.raises(Usage, match=named):
        embed(EXAMPLE, spec=spec)


@pytest.mark.parametrize("selector", ["title", "=x", ":title=x", "Ghost:title=x"])
def test_a_selector_that_cannot_be_meant_is_refused(selector):
    with pytest.raises(Usage):
        embed(EXAMPLE, select=[selector])


def test_a_model_in_the_spec_is_ignored_with_a_warning():
    heard: list[Event] = []

    embed(EXAMPLE, spec={**SPEC, "model": "m"}, events=heard.append)

    assert [event.message for event in heard if isinstance(event, Warned)] == [
        "<spec>: `model` is ignored; the provider configuration decides (OMNIGRAPH_EMBED_MODEL)"
    ]
