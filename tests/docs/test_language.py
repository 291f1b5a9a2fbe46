"""Every query on the pages of the language runs on their one graph, and prints what the page shows."""

import shlex
from pathlib import Path

import pytest

import omnigraph
from docs.matching import Reading
from docs.pages import LANGUAGE, Block, blocks_of, language_pages
from omnigraph import documents
from omnigraph.cli.query_view import TableStyle, answer_lines
from omnigraph.cli.texts import mutation_text
from omnigraph.errors import OmniError
from omnigraph.graph import Graph
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import MutationSyntax
from omnigraph.query.choosing import written_values


def sailors(uri: str) -> Graph:
    """Make the graph of the pages from the files that their index tells to save."""
    files = {block.file_name: block.text for block in blocks_of(LANGUAGE / "README.md") if block.file_name}
    graph = omnigraph.init(uri, files["sailors.pg"])
    data = Path(uri).with_suffix(".jsonl")
    data.write_text(files["sailors.jsonl"], encoding="utf-8")
    graph.load(str(data), mode="append")
    return graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return sailors(str(tmp_path_factory.mktemp("language") / "sailors.omni"))


def printed(graph: Graph, block: Block) -> str:
    """Run a query as the command does; return what it prints."""
    try:
        (query,) = parse_queries(block.text, source="<-e>").queries
        words = shlex.split(block.file_name or "")
        pairs = [tuple(value.split("=", 1)) for flag, value in zip(words[::2], words[1::2], strict=True) if flag]
        values = written_values(query, pairs)  # type: ignore[arg-type]
        if isinstance(query.body, MutationSyntax):
            return "\n".join(map(str, mutation_text(graph.mutate(block.text, params=values, query_source="<-e>"))))
        result = graph.query(block.text, params=values, query_source="<-e>")
        answer = documents.Answer(result=result, branch="main", snapshot=None)
        return "\n".join(answer_lines(answer, "table", TableStyle()))
    except OmniError as error:
        return f"error: {error.message}"


@pytest.mark.parametrize("page", language_pages(), ids=lambda page: page.stem)
def test_the_queries_of_a_page_print_what_it_shows(page: Path, graph: Graph) -> None:
    reading = Reading({})
    blocks = blocks_of(page)
    # What a page changes is its own business, and the pages after it find the graph as it was.
    before = graph.snapshot().commit_id
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language != "gq":
            continue
        assert following is not None, block.place
        assert following.language == "output", f"{block.place} is followed by no output"
        found = printed(graph, block)
        assert reading.agrees(following.text, found), f"{block.place}\n--- the run printed ---\n{found}"
    after = graph.snapshot()
    assert graph.snapshot(before).table("Sailor").to_arrow().sort_by("id") == after.table("Sailor").to_arrow().sort_by(
        "id"
    )


def test_every_page_but_the_index_has_queries() -> None:
    pages = [page for page in language_pages() if not any(block.language == "gq" for block in blocks_of(page))]

    assert [page.name for page in pages] == ["README.md"]
